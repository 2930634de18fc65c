import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { createExchangeKey } from '../../../src/crypto/exchange.js'
import { createCa, issueClientCertificate } from '../../../src/replication/credentials/ca.js'
import {
  type Bundle,
  encodeBundle,
  openBundle,
  parseActivationToken,
  parseBundle,
  parsePublicKey,
  sealBundle,
} from '../../../src/replication/credentials/activation-token.js'

const random = createSeededRandom('activation')
const NOW_MS = Date.UTC(2026, 0, 1)

let bundle: Bundle

beforeAll(async () => {
  const ca = await createCa(random, NOW_MS)
  const client = await issueClientCertificate(ca, random, NOW_MS)
  bundle = {
    kind: 'performance',
    setId: 'set-1',
    secondaryId: 'c',
    caCertificate: Buffer.from(ca.certificate, 'base64'),
    certificate: client.certificate,
    privateKey: client.privateKey,
    primaryClusterAddr: 'https://a:8201',
  }
})

const seal = (publicKey: Buffer): string => sealBundle(bundle, publicKey, random) ?? ''

const open = (token: string, privateKey: Buffer): Bundle | undefined => {
  const parsed = parseActivationToken(token)
  return parsed?.form === 'sealed' ? openBundle(parsed.fields, privateKey) : undefined
}

test('a bundle has the fields of an unwrap response', () => {
  const data = JSON.parse(JSON.stringify(encodeBundle(bundle)))
  expect(data).toMatchObject({
    cluster_id: 'set-1',
    id: 'c',
    mode: 64,
    primary_cluster_addr: 'https://a:8201',
    client_key: { type: 'p521' },
    encrypted_client_key: null,
    nonce: null,
    primary_public_key: null,
  })
  expect(encodeBundle({ ...bundle, kind: 'dr' }).mode).toBe(512)
  const parsed = parseBundle(data)
  expect(parsed?.caCertificate.equals(bundle.caCertificate)).toBe(true)
  expect(parsed?.privateKey.equals(bundle.privateKey)).toBe(true)
})

test.each(['ca_cert', 'client_cert', 'client_key', 'cluster_id', 'id', 'mode', 'primary_cluster_addr'])(
  'a bundle without %s is rejected',
  (name) => {
    const { [name]: _, ...rest } = encodeBundle(bundle)
    expect(parseBundle(rest)).toBeUndefined()
  },
)

test('a sealed token can be decrypted repeatedly with its key, and with no other key', () => {
  const key = createExchangeKey()
  const token = seal(key.publicKey)
  expect(open(token, key.privateKey)).toEqual(bundle)
  expect(open(token, key.privateKey)).toEqual(bundle)
  expect(open(token, createExchangeKey().privateKey)).toBeUndefined()
  expect(token).not.toContain(bundle.privateKey.toString('base64'))
})

test('no field of a sealed token can be replaced', () => {
  const key = createExchangeKey()
  const fields = JSON.parse(Buffer.from(seal(key.publicKey), 'base64').toString()) as Record<string, unknown>
  const other = JSON.parse(Buffer.from(seal(key.publicKey), 'base64').toString()) as Record<string, unknown>
  const changed: Record<string, unknown> = {
    cluster_id: 'set-2',
    id: 'd',
    mode: 512,
    primary_cluster_addr: 'https://evil:8201',
    ca_cert: bundle.certificate.toString('base64'),
    client_cert: bundle.caCertificate.toString('base64'),
    primary_public_key: other.primary_public_key,
    nonce: other.nonce,
    encrypted_client_key: other.encrypted_client_key,
  }
  for (const [name, value] of Object.entries(changed)) {
    const token = Buffer.from(JSON.stringify({ ...fields, [name]: value })).toString('base64')
    expect(open(token, key.privateKey), name).toBeUndefined()
  }
})

test('one changed character invalidates a sealed token', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.info(`seed ${seed}`)
  const key = createExchangeKey()
  const token = seal(key.publicKey)
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/='
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.nat(letters.length - 1), (at, letter) => {
      const next = letters.charAt(letter)
      fc.pre(next !== token.charAt(at))
      const changed = token.slice(0, at) + next + token.slice(at + 1)
      const opened = open(changed, key.privateKey)
      // A changed text that still opens must have the same content, for example an equivalent JSON escape.
      if (opened) expect(opened).toEqual(bundle)
    }),
    { seed, numRuns: 300 },
  )
})

test('a wrapped token contains the address to unwrap it; other texts are rejected', () => {
  const claims = Buffer.from(JSON.stringify({ addr: 'https://a:8200', jti: 'x' })).toString('base64url')
  expect(parseActivationToken(`e30.${claims}.sig`)).toEqual({
    form: 'wrapped',
    jwt: `e30.${claims}.sig`,
    address: 'https://a:8200',
  })
  for (const text of ['', 'hvs.abc', 'a.b.c', '....', 'AAAA', Buffer.from('{}').toString('base64')]) {
    expect(parseActivationToken(text), text).toBeUndefined()
  }
})

test('a public key is 32 bytes in canonical base64', () => {
  const { publicKey } = createExchangeKey()
  expect(parsePublicKey(publicKey.toString('base64'))?.equals(publicKey)).toBe(true)
  for (const text of ['', 'AAAA', `${publicKey.toString('base64')}==`, publicKey.toString('hex'), 'not base64!']) {
    expect(parsePublicKey(text), text).toBeUndefined()
  }
})
