import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hmacSha256, hmacSha256Hex, sha256 } from '../../../src/crypto/digest.js'

const theirs = (key: Buffer, data: Buffer | string) => createHmac('sha256', key).update(data).digest()

describe('keyed hashes', () => {
  it('HMAC-SHA-256 matches RFC 4231', () => {
    expect(hmacSha256Hex(Buffer.from('Jefe'), 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('HMAC-SHA-256 equals the platform for keys shorter and longer than a block', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
    fc.assert(
      fc.property(bytes, bytes, (key, data) => {
        expect(hmacSha256(key, data)).toEqual(theirs(key, data))
        expect(hmacSha256Hex(key, data)).toBe(theirs(key, data).toString('hex'))
      }),
    )
  })

  it('HMAC-SHA-256 hashes a string as UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(hmacSha256(Buffer.from('key'), text)).toEqual(theirs(Buffer.from('key'), text))
        expect(sha256(text)).toEqual(createHash('sha256').update(text).digest())
      }),
    )
  })

  it('HMAC-SHA-256 does not change its key', () => {
    const key = Buffer.alloc(100, 7)
    hmacSha256(key, 'data')
    expect(key).toEqual(Buffer.alloc(100, 7))
  })
})
