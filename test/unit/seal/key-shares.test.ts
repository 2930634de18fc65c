import fc from 'fast-check'
import { combine } from 'shamir-secret-sharing'
import { expect, test } from 'vitest'
import { createSeededRandom, createSystemRandom } from '../../../src/base/random.js'
import { findSealConfigProblem } from '../../../src/seal/config.js'
import { combineShares, splitKey } from '../../../src/seal/key-shares.js'

const random = createSystemRandom()
const key = Buffer.from('00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff', 'hex')

test('any shares at the threshold combine to the key, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 9 }).chain((shares) =>
        fc.record({
          shares: fc.constant(shares),
          threshold: fc.integer({ min: 2, max: shares }),
          order: fc.shuffledSubarray([...Array(shares).keys()], { minLength: shares, maxLength: shares }),
          key: fc.uint8Array({ minLength: 32, maxLength: 32 }),
        }),
      ),
      async ({ shares, threshold, order, key: bytes }) => {
        const config = { shares, threshold }
        const made = await splitKey(random, Buffer.from(bytes), config)
        const some = order.slice(0, threshold).flatMap((index) => made[index] ?? [])
        expect(await combineShares(some, config)).toEqual(Buffer.from(bytes))
      },
    ),
    { numRuns: 40, verbose: 1 },
  )
})

test("a share is the key's length and one byte", async () => {
  const shares = await splitKey(random, key, { shares: 5, threshold: 3 })
  expect(shares.map((share) => share.length)).toEqual([33, 33, 33, 33, 33])
})

test('a single share is the key itself', async () => {
  const config = { shares: 1, threshold: 1 }
  expect(await splitKey(random, key, config)).toEqual([key])
  expect(await combineShares([key], config)).toEqual(key)
})

test('fewer shares than the threshold combine to another key', async () => {
  const config = { shares: 3, threshold: 3 }
  const [a, b] = await splitKey(random, key, config)
  expect(await combineShares([a ?? key, b ?? key], config)).not.toEqual(key)
})

test('shares with a repeated index or different lengths are rejected', async () => {
  const config = { shares: 3, threshold: 2 }
  const [a = key, b = key] = await splitKey(random, key, config)
  const twin = Buffer.from(a)
  twin[0] = (twin[0] ?? 0) ^ 1
  expect(await combineShares([a, twin], config)).toBeUndefined()
  expect(await combineShares([a, b.subarray(1)], config)).toBeUndefined()
  expect(await combineShares([], config)).toBeUndefined()
})

test('at most 255 shares are possible, each with its own index', async () => {
  const shares = await splitKey(random, key, { shares: 255, threshold: 2 })
  expect(new Set(shares.map((share) => share.at(-1)))).toEqual(new Set(Array.from({ length: 255 }, (_, at) => at + 1)))
})

test('the same random numbers produce the same shares', async () => {
  const config = { shares: 5, threshold: 3 }
  const split = (seed: number) => splitKey(createSeededRandom(seed), key, config)
  expect(await split(1)).toEqual(await split(1))
  const [first, other] = [await split(1), await split(2)]
  for (const share of first) expect(other).not.toContainEqual(share)
})

test('any set of shares above the threshold combines to the key as well', async () => {
  for (let threshold = 2; threshold <= 6; threshold++) {
    const shares = await splitKey(random, key, { shares: 6, threshold })
    for (let shown = threshold; shown <= 6; shown++) {
      const some = shares.slice(6 - shown).map((share) => new Uint8Array(share))
      expect(Buffer.from(await combine(some)), `${shown} of ${threshold}`).toEqual(key)
    }
  }
})

test.each([
  [0, 0, 'shares must be at least one'],
  [-1, 1, 'shares must be at least one'],
  [1, 0, 'threshold must be at least one'],
  [3, 1, 'threshold must be greater than one for multiple shares'],
  [2, 3, 'threshold cannot be larger than shares'],
  [256, 2, 'shares must be less than 256'],
  [1, 1, undefined],
  [255, 255, undefined],
])('%i shares with a threshold of %i: %s', (shares, threshold, problem) => {
  expect(findSealConfigProblem({ shares, threshold })).toBe(problem)
})
