import { expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { createStaticSeal } from '../../../src/seal/auto-seal.js'

const random = createSeededRandom(2)
const old = { id: 'old', key: random.bytes(32) }
const fresh = { id: 'fresh', key: random.bytes(32) }
const root = random.bytes(32)
const sealOf = (current: typeof old, previous?: typeof old) =>
  createStaticSeal({ type: 'static', current, previous, random })

test('a seal unwraps what it has wrapped', () => {
  const seal = sealOf(old)
  expect(seal.unwrap(seal.wrap(root))).toEqual({ key: root, isCurrent: true })
})

test('the previous seal key still unwraps, and reports that it is not current', () => {
  expect(sealOf(fresh, old).unwrap(sealOf(old).wrap(root))).toEqual({ key: root, isCurrent: false })
})

test('no other seal key unwraps it, even with the same ID', () => {
  const wrapped = sealOf(old).wrap(root)
  expect(sealOf(fresh).unwrap(wrapped)).toBeUndefined()
  expect(sealOf({ id: 'old', key: fresh.key }).unwrap(wrapped)).toBeUndefined()
})

test('a damaged wrapped key cannot be unwrapped', () => {
  const seal = sealOf(old)
  const wrapped = seal.wrap(root)
  for (let index = 0; index < wrapped.length; index++) {
    const damaged = Buffer.from(wrapped)
    damaged[index] = (damaged[index] ?? 0) ^ 1
    expect(seal.unwrap(damaged)).toBeUndefined()
  }
  expect(seal.unwrap(Buffer.alloc(0))).toBeUndefined()
})
