import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseKeyShare } from '../../../src/seal/key-text.js'

const textOf = (text: string): string => {
  const parsed = parseKeyShare(text)
  return parsed.ok ? parsed.share.toString('hex') : parsed.problem
}

test('a share can be hex or base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 33 }), (bytes) => {
      const share = Buffer.from(bytes)
      expect(textOf(share.toString('hex'))).toBe(share.toString('hex'))
      expect(textOf(share.toString('hex').toUpperCase())).toBe(share.toString('hex'))
    }),
  )
  const share = Buffer.alloc(33, 0xf1)
  expect(textOf(share.toString('base64'))).toBe(share.toString('hex'))
})

test('a base64 text that is also hex is read as base64 if hex gives no possible length', () => {
  const text = 'ab'.repeat(12) // 12 bytes of hex, 18 of base64
  expect(textOf(text)).toBe(Buffer.from(text, 'base64').toString('hex'))
})

test.each([
  ['not a key!', "'key' must be a valid hex or base64 string"],
  ['zz!', "'key' must be a valid hex or base64 string"],
  ['abc', "'key' must be a valid hex or base64 string"],
  [Buffer.alloc(32).toString('base64').replace('=', ''), "'key' must be a valid hex or base64 string"],
  ['00112233', 'invalid key: key is shorter than minimum 16 bytes'],
  [Buffer.alloc(40).toString('base64'), 'invalid key: key is longer than maximum 33 bytes'],
])('%s is rejected as a share', (text, problem) => {
  expect(textOf(text)).toBe(problem)
})
