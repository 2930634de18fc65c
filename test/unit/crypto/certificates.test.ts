import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  createAuthority,
  findCommonName,
  issueCertificate,
  parsePemCertificates,
} from '../../../src/crypto/certificates.js'
import { createExchangeKey, deriveSharedKey } from '../../../src/crypto/exchange.js'
import { certificatePem, fromP521Numbers, privateKeyPem, toP521Numbers } from '../../../src/crypto/pem.js'

const NOW_MS = Date.UTC(2026, 0, 1)
const YEAR_MS = 365 * 86_400_000

test('an authority has its name as subject and issuer, a P-521 key, and lasts about 30 years', async () => {
  const { certificate } = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const parsed = new X509Certificate(certificate)
  expect(findCommonName(certificate)).toBe('rep-1')
  expect(parsed.subjectAltName).toBe('DNS:rep-1')
  expect(parsed.ca).toBe(true)
  expect(parsed.publicKey.asymmetricKeyDetails?.namedCurve).toBe('secp521r1')
  expect(Date.parse(parsed.validFrom)).toBeLessThanOrEqual(NOW_MS)
  expect((Date.parse(parsed.validTo) - NOW_MS) / YEAR_MS).toBeCloseTo(30, 0)
})

test('an issued certificate belongs to its authority, not to another one of the same name', async () => {
  const authority = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const twin = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const issued = await issueCertificate(authority, { name: 'client', nowMs: NOW_MS })
  const parsed = new X509Certificate(issued.certificate)
  expect(findCommonName(issued.certificate)).toBe('client')
  expect(parsed.ca).toBe(false)
  expect(parsed.checkIssued(new X509Certificate(authority.certificate))).toBe(true)
  expect(parsed.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true)
  expect(parsed.verify(new X509Certificate(twin.certificate).publicKey)).toBe(false)
})

test('PEM texts equal those of Node', async () => {
  const { certificate, privateKey } = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const key = createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' })
  expect(certificatePem(certificate)).toBe(new X509Certificate(certificate).toString())
  expect(privateKeyPem(privateKey)).toBe(key.export({ format: 'pem', type: 'pkcs8' }))
})

test('an exported private key signs as before', async () => {
  const { privateKey } = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const back = fromP521Numbers(toP521Numbers(privateKey)) ?? Buffer.alloc(0)
  const data = Buffer.from('data')
  const signature = sign('sha512', data, createPrivateKey({ key: back, format: 'der', type: 'pkcs8' }))
  const original = createPublicKey(createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }))
  expect(verify('sha512', data, original, signature)).toBe(true)
  expect(fromP521Numbers({ x: 'AA', y: 'AA', d: 'AA' })).toBeUndefined()
})

test('all certificates of a PEM file are found, and a file without any is rejected', async () => {
  const { certificate } = await createAuthority({ name: 'rep-1', nowMs: NOW_MS })
  const pem = certificatePem(certificate)
  expect(parsePemCertificates(`first\n${pem}second\n${pem}`)).toHaveLength(2)
  expect(parsePemCertificates('nothing')).toBeUndefined()
  expect(parsePemCertificates('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toBeUndefined()
  expect(findCommonName('nothing')).toBeUndefined()
})

test('two sides derive the same key per purpose, and no third party does', () => {
  const [a, b, c] = [createExchangeKey(), createExchangeKey(), createExchangeKey()]
  const shared = deriveSharedKey(a.privateKey, b.publicKey, 'bundle')
  expect(shared).toHaveLength(32)
  expect(deriveSharedKey(b.privateKey, a.publicKey, 'bundle')).toEqual(shared)
  expect(deriveSharedKey(b.privateKey, a.publicKey, 'other')).not.toEqual(shared)
  expect(deriveSharedKey(c.privateKey, a.publicKey, 'bundle')).not.toEqual(shared)
  expect(deriveSharedKey(a.privateKey, Buffer.alloc(31), 'bundle')).toBeUndefined()
  expect(deriveSharedKey(a.privateKey, Buffer.alloc(32), 'bundle')).toBeUndefined()
})
