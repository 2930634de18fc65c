import { describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { findKvRegression, findKvViolation, type KvOperation } from '../../support/kv-history.js'
import type { Timed } from '../../support/linearizability.js'

const read = (version: number, value?: string): KvOperation => ({ kind: 'read', version, value })
const write = (value: string, version?: number, cas?: number): KvOperation => ({
  kind: 'write',
  value,
  version,
  ...(cas === undefined ? {} : { cas }),
})
const at = (calledMs: number, answeredMs: number, operation: KvOperation) => ({ calledMs, answeredMs, operation })
const isFine = (...history: Timed<KvOperation>[]) => findKvViolation(history) === undefined

describe('an order is found for', () => {
  it('operations one after the other, and at once in any order', () => {
    expect(isFine(at(0, 1, read(0)), at(2, 3, write('a', 1)), at(4, 5, read(1, 'a')))).toBe(true)
    expect(isFine(at(0, 9, write('a', 2)), at(1, 8, write('b', 1)), at(2, 7, read(1, 'b')))).toBe(true)
  })

  it('a write of unknown outcome that was done late, or never', () => {
    const unknown = at(0, Infinity, write('a'))
    expect(isFine(unknown, at(1, 2, read(0)), at(3, 4, read(1, 'a')))).toBe(true)
    expect(isFine(unknown, at(1, 2, read(0)), at(3, 4, write('b', 1)))).toBe(true)
    expect(isFine(unknown, at(1, 2, write('b', 2)), at(3, 4, read(2, 'b')))).toBe(true)
  })

  it('compare-and-set with one winner', () => {
    const lost: KvOperation = { kind: 'conflict', cas: 0 }
    expect(isFine(at(0, 9, write('a', 1, 0)), at(1, 8, lost), at(10, 11, read(1, 'a')))).toBe(true)
  })
})

describe('no order is found for', () => {
  it('a read that is older than one before it', () => {
    expect(isFine(at(0, 1, write('a', 1)), at(2, 3, read(1, 'a')), at(4, 5, read(0)))).toBe(false)
  })

  it('a write of unknown outcome that was read before it was asked for, or is done after it was read', () => {
    expect(isFine(at(0, 1, read(1, 'a')), at(2, Infinity, write('a')))).toBe(false)
    const [unknown, seen] = [at(0, Infinity, write('a')), at(1, 2, read(1, 'a'))]
    expect(isFine(unknown, seen, at(3, 4, write('b', 2)), at(5, 6, read(1, 'a')))).toBe(false)
  })

  it('an acknowledged write that is lost', () => {
    expect(isFine(at(0, 1, write('a', 1)), at(2, 3, write('b', 1)))).toBe(false)
    expect(isFine(at(0, 1, write('a', 1)), at(2, 3, read(0)))).toBe(false)
  })

  it('a write that was done twice', () => {
    expect(isFine(at(0, 1, write('a', 1)), at(2, 3, read(2, 'a')))).toBe(false)
    expect(isFine(at(0, Infinity, write('a')), at(2, 3, write('b', 3)))).toBe(false)
  })

  it('two winners of one compare-and-set, and a refusal without another winner', () => {
    expect(isFine(at(0, 9, write('a', 1, 0)), at(0, 9, write('b', 1, 0)))).toBe(false)
    expect(isFine(at(0, 9, { kind: 'conflict', cas: 0 }))).toBe(false)
  })

  it('a value that nobody wrote, and says where it is stuck', () => {
    const history = [at(0, 1, write('a', 1)), at(2, 3, read(2, 'b'))]
    expect(findKvViolation(history)).toEqual({ order: history.slice(0, 1), stuckAt: history.slice(1) })
  })
})

/** A register as it should be, asked by several clients, with each operation done at a moment between call and answer. */
const drawHistory = (seed: number, length: number): Timed<KvOperation>[] => {
  const random = createSeededRandom(seed)
  const draw = (below: number) => random.bytes(4).readUInt32LE() % below
  const calls = Array.from({ length }, (_, index) => ({ doneMs: index * 10 + draw(10), index }))
  let state = { version: 0, value: undefined as string | undefined }
  return calls.map(({ doneMs, index }) => {
    const calledMs = doneMs - draw(25)
    const answeredMs = doneMs + draw(25)
    const kind = draw(4)
    if (kind === 0) return at(calledMs, answeredMs, read(state.version, state.value))
    const cas = kind === 1 ? Math.max(0, state.version - draw(2)) : undefined
    if (cas !== undefined && cas !== state.version) return at(calledMs, answeredMs, { kind: 'conflict', cas })
    const isDone = kind !== 3 || draw(2) === 0
    if (isDone) state = { version: state.version + 1, value: `v${index}` }
    const isKnown = kind !== 3
    return at(calledMs, isKnown ? answeredMs : Infinity, write(`v${index}`, isKnown ? state.version : undefined, cas))
  })
}

/** The last read shows something that nobody wrote. */
const withWrongRead = (history: Timed<KvOperation>[]): Timed<KvOperation>[] => {
  const index = history.findLastIndex(({ operation }) => operation.kind === 'read')
  const { operation, ...times } = history[index] as Timed<KvOperation>
  if (operation.kind !== 'read') throw new Error('unreachable')
  return history.with(index, { ...times, operation: { ...operation, value: 'nobody wrote this' } })
}

it('agrees with sixty random histories, and with none in which an answer was changed', () => {
  for (let seed = 0; seed < 60; seed++) {
    const history = drawHistory(seed, 120)
    expect(findKvViolation(history), `seed ${seed}`).toBeUndefined()
    expect(findKvViolation(withWrongRead(history)), `seed ${seed}`).toBeDefined()
  }
})

it('comes to the end of a history of tens of thousands of operations, and finds what is wrong at its end', () => {
  const history = drawHistory(1, 30_000)
  expect(findKvViolation(history)).toBeUndefined()
  expect(findKvViolation(withWrongRead(history))?.order.length).toBeGreaterThan(20_000)
})

describe('what one client sees goes on', () => {
  const goesOn = (...operations: KvOperation[]) =>
    findKvRegression(operations.map((operation, turn) => at(turn, turn, operation))) === undefined

  it('the view of one client progresses if versions stay or grow, with writes of others in between', () => {
    expect(goesOn(read(0), write('a', 1), read(1, 'a'), read(3, 'c'), write('d', 4), read(4, 'd'))).toBe(true)
    expect(goesOn(read(2, 'b'), { kind: 'conflict', cas: 1 }, write('x'), read(2, 'b'))).toBe(true)
  })

  it('the view of one client regresses if it reads an older version or writes an existing one', () => {
    expect(goesOn(read(2, 'b'), read(1, 'a'))).toBe(false)
    expect(goesOn(write('a', 1), read(0))).toBe(false)
    expect(goesOn(read(2, 'b'), write('c', 2))).toBe(false)
  })
})
