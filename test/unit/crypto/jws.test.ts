import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { CompactSign, exportJWK } from 'jose'
import { expect, test } from 'vitest'
import { JWS_ALGORITHMS, parseJws, parseKeySet, parsePublicKey } from '../../../src/crypto/jws.js'

/** The signatures are made by the package jose. */

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
const KEYS: Record<string, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }> = {
  RS: RSA,
  PS: RSA,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const keyFor = (alg: string) => {
  const found = KEYS[alg] ?? KEYS[alg.slice(0, 2)]
  if (!found) throw new Error(`no key for ${alg}`)
  return found
}

const sign = (alg: string, header: object = {}) =>
  new CompactSign(Buffer.from('{"sub":"me"}')).setProtectedHeader({ ...header, alg }).sign(keyFor(alg).privateKey)

const encode = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

test.each(JWS_ALGORITHMS)('a signature of %s is verified by its key, and by no other key', async (alg) => {
  const { publicKey } = keyFor(alg)
  const jws = parseJws(await sign(alg, { kid: 'k' }))
  expect(jws).toMatchObject({ algorithm: alg, keyId: 'k' })
  expect(String(jws?.payload)).toBe('{"sub":"me"}')
  expect(jws?.isSignedBy([{ key: publicKey }])).toBe(true)
  for (const { publicKey: other } of Object.values(KEYS)) {
    if (other !== publicKey) expect(jws?.isSignedBy([{ key: other }])).toBe(false)
  }
  expect(jws?.isSignedBy([])).toBe(false)
})

test('a changed payload, header or signature is not verified', async () => {
  const [head = '', payload = '', signature = ''] = (await sign('ES256')).split('.')
  const key = { key: keyFor('ES256').publicKey }
  for (const text of [
    `${head}.${encode('{"sub":"you"}')}.${signature}`,
    `${encode({ alg: 'ES256', kid: 'x' })}.${payload}.${signature}`,
    `${head}.${payload}.${encode('x')}`,
  ]) {
    expect(parseJws(text)?.isSignedBy([key])).toBe(false)
  }
})

test('symmetric and missing algorithms, extensions and malformed texts are not parsed', async () => {
  const { publicKey } = RSA
  const signed = `${encode({ alg: 'HS256' })}.${encode('{}')}`
  const mac = createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' }))
    .update(signed)
    .digest('base64url')
  for (const text of [
    `${signed}.${mac}`,
    `${encode({ alg: 'none' })}.${encode('{}')}.${encode('x')}`,
    `${encode({ alg: 'none' })}.${encode('{}')}.`,
    `${encode({})}.${encode('{}')}.${encode('x')}`,
    `${encode('no JSON')}.${encode('{}')}.${encode('x')}`,
    `${encode({ alg: 'ES256', crit: ['b64'], b64: false })}.${encode('{}')}.${encode('x')}`,
    `${encode({ alg: ['ES256'] })}.${encode('{}')}.${encode('x')}`,
    'a.b',
    '',
  ]) {
    expect(parseJws(text), text).toBeUndefined()
  }
})

test('a key set verifies by the ID and the algorithm of its keys, and its unusable keys are skipped', async () => {
  const jwk = await exportJWK(keyFor('ES256').publicKey)
  const set = (...keys: object[]) => parseKeySet(Buffer.from(JSON.stringify({ keys })))
  const verifies = async (header: object, ...keys: object[]) =>
    parseJws(await sign('ES256', header))?.isSignedBy(set(...keys) ?? [])
  expect(await verifies({ kid: 'a' }, { ...jwk, kid: 'a' })).toBe(true)
  expect(await verifies({ kid: 'a' }, { ...jwk, kid: 'b' })).toBe(false)
  expect(await verifies({ kid: 'a' }, jwk)).toBe(true)
  expect(await verifies({}, { ...jwk, kid: 'b' })).toBe(true)
  expect(await verifies({}, { ...jwk, alg: 'ES256', use: 'sig' })).toBe(true)
  expect(await verifies({}, { ...jwk, alg: 'ES384' })).toBe(false)
  expect(await verifies({}, { ...jwk, use: 'enc' })).toBe(false)
  expect(set({ kty: 'oct', k: 'AAAA' }, { kty: 'new' }, { ...jwk, x: 'AAAA' })).toEqual([])
  for (const text of ['no JSON', '{"keys":1}']) expect(parseKeySet(Buffer.from(text))).toBeUndefined()
  expect(parseKeySet(Buffer.from('{}'))).toEqual([])
})

test('a public key is parsed from PEM, and a private key and other texts are not', () => {
  const { publicKey, privateKey } = keyFor('ES256')
  expect(parsePublicKey(publicKey.export({ type: 'spki', format: 'pem' }).toString())).toBeDefined()
  expect(parsePublicKey(RSA.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString())).toBeDefined()
  expect(parsePublicKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toBeUndefined()
  const { publicKey: exchange } = generateKeyPairSync('x25519')
  expect(parsePublicKey(exchange.export({ type: 'spki', format: 'pem' }).toString())).toBeUndefined()
  expect(parsePublicKey('no key')).toBeUndefined()
})
