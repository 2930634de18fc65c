import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import { TokenWorld } from '../../support/token-world.js'

/** A limit for a condition that never becomes true. */
const PATIENCE = { timeout: 60_000 }

let world: TokenWorld
let before: number
beforeEach(async () => {
  world = await TokenWorld.open()
  before = await world.keyCount()
})

const make = async (ttl: string, as?: string): Promise<string> =>
  (await world.create({ policies: ['default'], ttl }, as === undefined ? {} : { as })).clientToken

describe('the end of a token', () => {
  it('a token ends to the millisecond, before any cleanup', async () => {
    const token = await make('10m')
    world.clock.advance(600_000 - 1)
    expect(world.tokens.find(token)).toBeDefined()
    world.clock.advance(1)
    expect(world.tokens.find(token)).toBeUndefined()
  })

  it('the end of a token ends all its descendants, whatever their ttl', async () => {
    const parent = await make('10m')
    const child = await make('5h', parent)
    const grandchild = await make('5h', child)
    world.clock.advance(600_000)
    expect(world.tokens.find(grandchild)).toBeUndefined()
    expect(world.tokens.findByAccessor('')).toBeUndefined()
    await world.tokens.sweep()
    expect(await world.keyCount()).toBe(before)
  })

  it('a root token without a ttl never ends', async () => {
    world.clock.advance(10 * 365 * 86_400_000)
    await world.tokens.sweep()
    expect(world.tokens.find(world.root)).toBeDefined()
  })
})

describe('the sweep', () => {
  it('the sweep starts by itself at the first end, until it is stopped', async () => {
    const stop = new AbortController()
    world.tokens.start(stop.signal)
    await make('10m')
    await make('20m')
    world.clock.advance(0)
    for (let minute = 0; minute < 11; minute++) {
      world.clock.advance(60_000)
      await settled()
    }
    await vi.waitFor(async () => expect((await world.tokens.listAccessors('root')).length).toBe(2), PATIENCE)
    stop.abort()
    world.clock.advance(3_600_000)
    await settled()
    expect((await world.tokens.listAccessors('root')).length).toBe(2)
  })

  it('the sweep after a restart finds tokens that ended meanwhile', async () => {
    await make('10m')
    const restarted = new TokenWorld({ storage: world.storage, clock: world.clock })
    world.clock.advance(3_600_000)
    const stop = new AbortController()
    restarted.tokens.start(stop.signal)
    world.clock.advance(0)
    await vi.waitFor(async () => expect(await restarted.keyCount()).toBe(before), PATIENCE)
    stop.abort()
  })

  it('the sweep keeps a token that was renewed meanwhile', async () => {
    const token = await make('10m')
    world.clock.advance(500_000)
    await world.tokens.renew(world.entry(token), { incrementSeconds: 600, presented: token, request: {} })
    world.clock.advance(200_000)
    await world.tokens.sweep()
    expect(world.tokens.find(token)).toBeDefined()
  })

  it('the sweep removes many tokens at once', async () => {
    await Promise.all(Array.from({ length: 300 }, () => make('1m')))
    const late = await make('2m')
    world.clock.advance(60_000)
    await world.tokens.sweep()
    expect(world.tokens.find(late)).toBeDefined()
    expect((await world.tokens.listAccessors('root')).length).toBe(2)
  })

  it('the sweep continues after a failed write of the storage', async () => {
    const stop = new AbortController()
    await make('1m')
    world.tokens.start(stop.signal)
    world.storage.writeError = new LogicalError('read-only', 'not now')
    world.clock.advance(60_000)
    await settled()
    world.storage.writeError = undefined
    for (let minute = 0; minute < 3; minute++) {
      world.clock.advance(60_000)
      await settled()
    }
    await vi.waitFor(async () => expect(await world.keyCount()).toBe(before), PATIENCE)
    stop.abort()
  })
})

/** Waits for pending work of the memory store, which needs turns of the event loop but no time. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
