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
const isLinearizable = (...history: Timed<KvOperation>[]) => findKvViolation(history) === undefined

describe('linearizable histories', () => {
  it('sequential operations, and concurrent ones in any order, are linearizable', () => {
    expect(isLinearizable(at(0, 1, read(0)), at(2, 3, write('a', 1)), at(4, 5, read(1, 'a')))).toBe(true)
    expect(isLinearizable(at(0, 9, write('a', 2)), at(1, 8, write('b', 1)), at(2, 7, read(1, 'b')))).toBe(true)
  })

  it('a write of unknown outcome is linearizable if it takes effect late or never', () => {
    const unknown = at(0, Infinity, write('a'))
    expect(isLinearizable(unknown, at(1, 2, read(0)), at(3, 4, read(1, 'a')))).toBe(true)
    expect(isLinearizable(unknown, at(1, 2, read(0)), at(3, 4, write('b', 1)))).toBe(true)
    expect(isLinearizable(unknown, at(1, 2, write('b', 2)), at(3, 4, read(2, 'b')))).toBe(true)
  })

  it('compare-and-set with one winner is linearizable', () => {
    const lost: KvOperation = { kind: 'conflict', cas: 0 }
    expect(isLinearizable(at(0, 9, write('a', 1, 0)), at(1, 8, lost), at(10, 11, read(1, 'a')))).toBe(true)
  })
})

describe('histories that are not linearizable', () => {
  it('a read that is older than an earlier read is not linearizable', () => {
    expect(isLinearizable(at(0, 1, write('a', 1)), at(2, 3, read(1, 'a')), at(4, 5, read(0)))).toBe(false)
  })

  it('a write of unknown outcome that is read before its call, or again after a later write, is not linearizable', () => {
    expect(isLinearizable(at(0, 1, read(1, 'a')), at(2, Infinity, write('a')))).toBe(false)
    const [unknown, seen] = [at(0, Infinity, write('a')), at(1, 2, read(1, 'a'))]
    expect(isLinearizable(unknown, seen, at(3, 4, write('b', 2)), at(5, 6, read(1, 'a')))).toBe(false)
  })

  it('a lost acknowledged write is not linearizable', () => {
    expect(isLinearizable(at(0, 1, write('a', 1)), at(2, 3, write('b', 1)))).toBe(false)
    expect(isLinearizable(at(0, 1, write('a', 1)), at(2, 3, read(0)))).toBe(false)
  })

  it('a duplicated write is not linearizable', () => {
    expect(isLinearizable(at(0, 1, write('a', 1)), at(2, 3, read(2, 'a')))).toBe(false)
    expect(isLinearizable(at(0, Infinity, write('a')), at(2, 3, write('b', 3)))).toBe(false)
  })

  it('two winners of one compare-and-set, or a conflict without a winner, are not linearizable', () => {
    expect(isLinearizable(at(0, 9, write('a', 1, 0)), at(0, 9, write('b', 1, 0)))).toBe(false)
    expect(isLinearizable(at(0, 9, { kind: 'conflict', cas: 0 }))).toBe(false)
  })

  it('a value that was never written is not linearizable, and the violation shows where the search is stuck', () => {
    const history = [at(0, 1, write('a', 1)), at(2, 3, read(2, 'b'))]
    expect(findKvViolation(history)).toEqual({ order: history.slice(0, 1), stuckAt: history.slice(1) })
  })
})

/**
 * Returns a random history of a correct register: each operation takes effect at a moment between call and response.
 */
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

/** Changes the value of the last read to one that was never written. */
const withWrongRead = (history: Timed<KvOperation>[]): Timed<KvOperation>[] => {
  const index = history.findLastIndex(({ operation }) => operation.kind === 'read')
  const { operation, ...times } = history[index] as Timed<KvOperation>
  if (operation.kind !== 'read') throw new Error('unreachable')
  return history.with(index, { ...times, operation: { ...operation, value: 'never written' } })
}

it('the checker accepts sixty random histories and rejects each of them with a changed value', () => {
  for (let seed = 0; seed < 60; seed++) {
    const history = drawHistory(seed, 120)
    expect(findKvViolation(history), `seed ${seed}`).toBeUndefined()
    expect(findKvViolation(withWrongRead(history)), `seed ${seed}`).toBeDefined()
  }
})

it('the checker handles a history of 30,000 operations and finds a violation at its end', () => {
  const history = drawHistory(1, 30_000)
  expect(findKvViolation(history)).toBeUndefined()
  expect(findKvViolation(withWrongRead(history))?.order.length).toBeGreaterThan(20_000)
})

describe('the view of one client', () => {
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
