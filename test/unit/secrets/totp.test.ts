import { PNG } from 'pngjs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { totpType } from '../../../src/secrets/totp/backend.js'
import { codeOf, encodeBase32 } from '../../../src/secrets/totp/codes.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

let totp: BackendHarness
beforeEach(() => {
  totp = new BackendHarness(totpType.factory)
})

const write = async (path: string, body: JsonObject) => {
  const response = await totp.write(path, body)
  return response && dataOf(response)
}
const code = async () => (dataOf(await totp.read('code/k')) as { code: string }).code
const GIVEN = { key: 'GEZDGNBVGY3TQOJQ', account_name: 'me', issuer: 'Us' }

describe('codes', () => {
  // The vectors of RFC 6238, appendix B.
  it.each([
    ['SHA1', 20, 59, '94287082'],
    ['SHA256', 32, 1_111_111_109, '68084774'],
    ['SHA512', 64, 20_000_000_000, '47863826'],
  ] as const)(
    'the code of %s with a key of %i bytes at %i is that of RFC 6238',
    (algorithm, length, seconds, expected) => {
      const secret = encodeBase32(Buffer.from('1234567890'.repeat(7)).subarray(0, length))
      const settings = { secret, algorithm, digits: 8, periodSeconds: 30 }
      expect(codeOf(settings, Math.floor(seconds / 30))).toBe(expected)
    },
  )

  it('a code is valid in its period and the next one, and only once', async () => {
    await write('keys/k', GIVEN)
    const first = await code()
    expect(await write('code/k', { code: first })).toEqual({ valid: true })
    const [, text] = await refusal(totp.write('code/k', { code: first }))
    expect(text).toBe('code already used; wait until the next time period')

    await totp.clock.advance(30_000)
    const second = await code()
    await totp.clock.advance(30_000)
    expect(await write('code/k', { code: second })).toEqual({ valid: true })
    const third = await code()
    await totp.clock.advance(60_000)
    expect(await write('code/k', { code: third })).toEqual({ valid: false })
  })

  it('without a skew, a code is valid only in its period', async () => {
    await write('keys/k', { ...GIVEN, skew: 0 })
    const old = await code()
    await totp.clock.advance(30_000)
    expect(await write('code/k', { code: old })).toEqual({ valid: false })
  })
})

describe('keys', () => {
  it('a generated key is returned as a URL and as a square picture of the requested width', async () => {
    const generated = { generate: true, issuer: 'A B', account_name: 'a/b', qr_size: 300, key_size: 32 }
    const made = (await write('keys/k', generated)) as { url: string; barcode: string }
    const { protocol, host, pathname, searchParams } = new URL(made.url)
    expect([protocol, host, pathname]).toEqual(['otpauth:', 'totp', '/A%20B:a/b'])
    expect(searchParams.get('secret')).toMatch(/^[A-Z2-7]{52}$/)
    const { width, height } = PNG.sync.read(Buffer.from(made.barcode, 'base64'))
    expect([width, height]).toEqual([300, 300])
  })

  it('the URL of a generated key defines the same key at another server', async () => {
    const { url } = (await write('keys/k', { generate: true, issuer: 'Us', account_name: 'me' })) as { url: string }
    const other = new BackendHarness(totpType.factory)
    await other.write('keys/k', { url })
    expect(dataOf(await other.read('keys/k'))).toEqual(dataOf(await totp.read('keys/k')))
    expect(dataOf(await other.read('code/k'))).toEqual({ code: await code() })
  })

  it.each<[JsonObject, string]>([
    [{ generate: true, issuer: 'Us', account_name: 'me', qr_size: 10 }, 'the qr_size value must be at least'],
    [{ generate: true, issuer: 'Us', account_name: 'me', qr_size: 5000 }, 'qr_size cannot exceed 1024'],
    [{ generate: true, issuer: 'Us', account_name: 'me', key_size: 5000 }, 'key_size cannot exceed 1024'],
    [{ generate: true, issuer: 'x'.repeat(513), account_name: 'me' }, 'issuer and account_name cannot exceed 512'],
    [{ generate: true, issuer: '\u00e9'.repeat(512), account_name: 'me' }, 'the names are too long for a picture'],
    [{ key: 'A'.repeat(1025) }, 'key cannot exceed 1024'],
    ...['=', 'A', 'AAA', 'JBSWY3DP======', 'JB=WY3DP', 'ı'].map((key): [JsonObject, string] => [
      { key },
      'illegal base32 data',
    ]),
    [{ url: 'otpauth://totp/%E0%A4%A' }, 'an error occurred while parsing url string'],
  ])('the key is rejected and not stored: %.60j', async (body, expected) => {
    const [, text] = await refusal(totp.write('keys/k', body))
    expect(text).toContain(expected)
    expect(await totp.read('keys/k')).toBeUndefined()
  })
})
