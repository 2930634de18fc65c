import { createPrivateKey, createPublicKey } from 'node:crypto'
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { createSigningKey, isJwt, openSigningKey, peekClaims } from '../../../src/crypto/jwt.js'
import { isExpired, readWrappingClaims, wrappingClaims } from '../../../src/crypto/wrapping-claims.js'

const key = openSigningKey(createSigningKey())
const NOW_MS = 1_700_000_000_000
const claims = wrappingClaims({ address: 'http://a:8200', name: 'hvs.x', ttlSeconds: 1800, nowMs: NOW_MS })

test('a wrapping token contains its address, its expiry and the token to unwrap', async () => {
  const text = await key.sign(claims)
  expect(decodeProtectedHeader(text)).toEqual({ alg: 'ES512', typ: 'JWT' })
  expect(await key.verify(text)).toEqual({
    accessor: '',
    addr: 'http://a:8200',
    exp: 1_700_001_800,
    iat: 1_700_000_000,
    jti: 'hvs.x',
    nbf: 1_699_999_995,
    type: 'wrapping',
  })
})

test('a JWT verifies with another library, and a JWT of the other library verifies if it has the same header', async () => {
  const pkcs8 = createSigningKey()
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const own = openSigningKey(pkcs8)
  const { payload } = await compactVerify(await own.sign(claims), createPublicKey(privateKey))
  expect(JSON.parse(Buffer.from(payload).toString())).toEqual(claims)
  const signed = (header: { alg: string; typ?: string }) =>
    new CompactSign(payload).setProtectedHeader(header).sign(privateKey)
  expect(await own.verify(await signed({ alg: 'ES512', typ: 'JWT' }))).toEqual(claims)
  expect(await own.verify(await signed({ alg: 'ES512' }))).toBeUndefined()
})

test('a JWT with any changed character is invalid', async () => {
  const text = await key.sign(claims)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const parts = text.split('.')
  // Every 23rd position, and the end of each part, which contains unused bits.
  const positions = [...text].flatMap((character, index) => (character === '.' ? [] : [index]))
  const ends = parts.map((_, count) => parts.slice(0, count + 1).join('.').length - 1)
  const chosen = positions.filter((index) => index % 23 === 0 || ends.includes(index))
  for (const index of chosen) {
    const others = ends.includes(index) ? [...alphabet] : ['A', 'B']
    for (const other of others.filter((letter) => letter !== text[index])) {
      const changed = text.slice(0, index) + other + text.slice(index + 1)
      expect(await key.verify(changed), `character ${index} as ${other}`).toBeUndefined()
    }
  }
})

test.each(['==', '!!', '==!!', '.', ' ', '\n', 'A'])('a JWT with %j appended to any part is invalid', async (tail) => {
  const text = await key.sign(claims)
  expect(await key.verify(text + tail)).toBeUndefined()
  const [header, payload, signature] = text.split('.')
  expect(await key.verify(`${header}${tail}.${payload}.${signature}`)).toBeUndefined()
  expect(await key.verify(`${header}.${payload}${tail}.${signature}`)).toBeUndefined()
})

test('a JWT is invalid with another key, without a signature, or empty', async () => {
  const text = await key.sign(claims)
  expect(await openSigningKey(createSigningKey()).verify(text)).toBeUndefined()
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  expect(await key.verify(`${none}.${text.split('.')[1]}.AAAA`)).toBeUndefined()
  expect(await key.verify('')).toBeUndefined()
  expect(isJwt('hvs.abc')).toBe(false)
})

test('the claims of a JWT can be read without its key', async () => {
  const text = await key.sign(claims)
  expect(peekClaims(text)).toEqual(claims)
  expect(peekClaims('a.b')).toBeUndefined()
  expect(peekClaims('YQ.YQ.YQ')).toBeUndefined()
})

test('readWrappingClaims accepts only wrapping tokens, which expire at the full second', () => {
  const read = readWrappingClaims(claims)
  expect(read).toEqual({ address: 'http://a:8200', name: 'hvs.x', expiresAt: 1_700_001_800 })
  expect(readWrappingClaims({ ...claims, type: 'login' })).toBeUndefined()
  expect(readWrappingClaims({ ...claims, jti: '' })).toBeUndefined()
  expect(read && isExpired(read, NOW_MS + 1_799_999)).toBe(false)
  expect(read && isExpired(read, NOW_MS + 1_800_000)).toBe(true)
})
