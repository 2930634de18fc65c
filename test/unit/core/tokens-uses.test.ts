import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { TokenWorld } from '../../support/token-world.js'

const seed = Date.now() % 2 ** 31
console.info(`tokens-uses: seed ${seed}`)

let world: TokenWorld
beforeEach(async () => {
  world = await TokenWorld.open()
})

/** A request of the pipeline: it is rejected if its use is rejected, and ends the token after its last use. */
const request = async (presented: string): Promise<boolean> => {
  const entry = world.tokens.find(presented)
  const outcome = entry ? await world.tokens.use(entry) : 'spent'
  if (entry && outcome === 'last') await world.tokens.revokeTree(entry)
  return outcome !== 'spent'
}

const makeToken = async (uses: number): Promise<string> =>
  (await world.create({ policies: ['default'], num_uses: uses })).clientToken

describe('limited uses', () => {
  it('every request takes one use, and after the last the token is removed with all its keys', async () => {
    const before = await world.keyCount()
    const token = await makeToken(3)
    expect(await world.tokens.use(world.entry(token))).toBe('more')
    expect(world.entry(token).numUses).toBe(2)
    expect(await world.tokens.use(world.entry(token))).toBe('more')
    expect(await world.tokens.use(world.entry(token))).toBe('last')
    await world.tokens.revokeTree(world.entry(token))
    expect(world.tokens.find(token)).toBeUndefined()
    expect(await world.keyCount()).toBe(before)
  })

  it('the request that takes the last use sees -1, and no concurrent request is accepted', async () => {
    const token = await makeToken(1)
    expect(await world.tokens.use(world.entry(token))).toBe('last')
    expect((await world.lookup(token)).num_uses).toBe(-1)
    expect(await world.tokens.use(world.entry(token))).toBe('spent')
  })

  it('a renewal may take the last use of a token', async () => {
    const token = await makeToken(1)
    const entry = world.entry(token)
    expect(await world.tokens.use(entry)).toBe('last')
    const { auth } = await world.tokens.renew(world.entry(token), {
      incrementSeconds: 600,
      presented: token,
      request: {},
    })
    expect(auth.leaseDurationSeconds).toBe(600)
    expect(await world.tokens.use(world.entry(token))).toBe('spent')
  })

  it('tokens without a limit, and batch tokens, count no uses and write nothing', async () => {
    const batch = await world.create({ policies: ['default'], type: 'batch' })
    const { writes } = world.storage
    expect(await world.tokens.use(world.entry(world.root))).toBe('free')
    expect(await world.tokens.use(world.entry(batch.clientToken))).toBe('free')
    expect(world.storage.writes).toBe(writes)
  })

  it('one of a hundred concurrent requests takes the only use of a token', async () => {
    const token = await makeToken(1)
    const entry = world.entry(token)
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => world.tokens.use(entry)))
    expect(outcomes.filter((outcome) => outcome !== 'spent')).toEqual(['last'])
  })

  it('a revocation between lookup and use of a token rejects the use', async () => {
    const token = await makeToken(2)
    const entry = world.entry(token)
    await world.tokens.revokeTree(entry)
    expect(await world.tokens.use(entry)).toBe('spent')
  })

  it('the sweep removes a token after a crash that followed its last use', async () => {
    const before = await world.keyCount()
    const token = await makeToken(1)
    await world.tokens.use(world.entry(token))
    const restarted = new TokenWorld({ storage: world.storage, clock: world.clock })
    expect(await restarted.tokens.use(restarted.entry(token))).toBe('spent')
    world.clock.advance(120_000)
    await restarted.tokens.sweep()
    expect(await restarted.keyCount()).toBe(before)
  })

  it('in any order, no more requests succeed than the token has uses', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 }),
        async (uses, bursts) => {
          const token = await makeToken(uses)
          let successes = 0
          for (const burst of bursts) {
            const results = await Promise.all(Array.from({ length: burst }, () => request(token)))
            successes += results.filter(Boolean).length
          }
          const asked = bursts.reduce((sum, burst) => sum + burst, 0)
          expect(successes).toBe(Math.min(uses, asked))
          expect(world.tokens.find(token) !== undefined).toBe(asked < uses)
        },
      ),
      { seed, numRuns: 60 },
    )
  })
})
