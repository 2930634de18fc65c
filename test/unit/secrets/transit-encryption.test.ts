import { createDecipheriv, hkdfSync, createHmac } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { createTransitType } from '../../../src/secrets/transit/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

let transit: BackendHarness
beforeEach(() => {
  transit = new BackendHarness(createTransitType().factory)
})

type Shown = Record<string, unknown>
interface Batch {
  readonly batch_results: readonly Shown[]
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const HELLO = base64('hello')
const CONTEXT = base64('user 7')

const post = async (path: string, body: JsonObject = {}) => dataOf(await transit.write(path, body)) as Shown
const refused = async (path: string, body: JsonObject = {}) => {
  const [code, text] = await refusal(transit.write(path, body))
  expect(code).toBe('invalid-request')
  return text
}
const ciphertextOf = async (name: string, body: JsonObject = {}) =>
  String((await post(`encrypt/${name}`, { plaintext: HELLO, ...body })).ciphertext)
const materialOf = async (name: string, version = '1') => {
  await transit.write(`keys/${name}/config`, { exportable: true })
  const { keys } = dataOf(await transit.read(`export/encryption-key/${name}`)) as { keys: Record<string, string> }
  return Buffer.from(String(keys[version]), 'base64')
}

/** Returns the bytes after `vault:v1:`. */
const bytesOf = (ciphertext: string) => Buffer.from(String(ciphertext.split(':')[2]), 'base64')

it.each(['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305', 'rsa-2048'])(
  'a key of type %s decrypts only its own ciphertexts',
  async (type) => {
    await post('keys/a', { type })
    const first = await post('encrypt/a', { plaintext: HELLO })
    expect(first).toEqual({ ciphertext: expect.stringMatching(/^vault:v1:[A-Za-z0-9+/]+=*$/), key_version: 1 })
    const old = String(first.ciphertext)
    expect(await post('decrypt/a', { ciphertext: old })).toEqual({ plaintext: HELLO })
    expect(await ciphertextOf('a')).not.toBe(old)
    const empty = await post('encrypt/a', { plaintext: '' })
    expect(await post('decrypt/a', { ciphertext: String(empty.ciphertext) })).toEqual({ plaintext: '' })
    const bytes = bytesOf(old)
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(await refused('decrypt/a', { ciphertext: `vault:v1:${changed.toString('base64')}` })).toMatch(
        /message authentication failed$|decryption error$/,
      )
    }
    await post('keys/a/rotate')
    expect(await ciphertextOf('a')).toMatch(/^vault:v2:/)
    expect(await ciphertextOf('a', { key_version: 1 })).toMatch(/^vault:v1:/)
    const rewrapped = await post('rewrap/a', { ciphertext: old })
    expect(rewrapped).toEqual({ ciphertext: expect.stringMatching(/^vault:v2:/), key_version: 2 })
    expect(await post('decrypt/a', { ciphertext: String(rewrapped.ciphertext) })).toEqual({ plaintext: HELLO })
    expect(await post('decrypt/a', { ciphertext: old })).toEqual({ plaintext: HELLO })
    if (type !== 'rsa-2048') return
    expect(await refused('encrypt/a', { plaintext: base64('x'.repeat(191)) })).toMatch(/message too long/)
    expect(await refused('encrypt/a', { plaintext: HELLO, associated_data: base64('x') })).toMatch(
      /non-AEAD cipher suite/,
    )
  },
)

it('a ciphertext consists of a nonce, the AES-256-GCM ciphertext and its tag', async () => {
  await post('keys/a')
  const bytes = bytesOf(await ciphertextOf('a', { associated_data: base64('row 1') }))
  const decipher = createDecipheriv('aes-256-gcm', await materialOf('a'), bytes.subarray(0, 12))
  decipher.setAAD(Buffer.from('row 1'))
  decipher.setAuthTag(bytes.subarray(-16))
  const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
  expect(plain.toString()).toBe('hello')
})

it('decryption requires the associated data of the encryption', async () => {
  await post('keys/a')
  const ciphertext = await ciphertextOf('a', { associated_data: base64('row 1') })
  expect(await post('decrypt/a', { ciphertext, associated_data: base64('row 1') })).toEqual({ plaintext: HELLO })
  expect(await refused('decrypt/a', { ciphertext })).toBe('cipher: message authentication failed')
})

describe('a derived key', () => {
  it('a derived transit key encrypts with a separate key for each context', async () => {
    await post('keys/a', { derived: true })
    const ciphertext = await ciphertextOf('a', { context: CONTEXT })
    expect(await post('decrypt/a', { ciphertext, context: CONTEXT })).toEqual({ plaintext: HELLO })
    expect(await refused('decrypt/a', { ciphertext, context: base64('user 8') })).toBe(
      'cipher: message authentication failed',
    )
    expect(await refused('decrypt/a', { ciphertext })).toMatch(/^missing 'context' for key derivation; /)
    expect(await refused('encrypt/a', { plaintext: HELLO })).toMatch(/^missing 'context' for key derivation; /)
    expect(await refused('encrypt/a', { plaintext: HELLO, context: base64('x'.repeat(1025)) })).toMatch(/1024 bytes/)
    const bytes = bytesOf(ciphertext)
    const key = Buffer.from(hkdfSync('sha256', await materialOf('a'), '', 'user 7', 32))
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16))
    expect(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString()).toBe('hello')
  })

  it('a convergent transit key encrypts equal plaintexts equally, with an HMAC as nonce', async () => {
    await post('keys/a', { derived: true, convergent_encryption: true })
    const ciphertext = await ciphertextOf('a', { context: CONTEXT })
    expect(await ciphertextOf('a', { context: CONTEXT })).toBe(ciphertext)
    expect(await ciphertextOf('a', { context: base64('user 8') })).not.toBe(ciphertext)
    expect(await ciphertextOf('a', { context: CONTEXT, plaintext: base64('bye') })).not.toBe(ciphertext)
    const nonceKey = Buffer.from(hkdfSync('sha256', await materialOf('a'), '', 'user 7', 64)).subarray(32)
    const nonce = createHmac('sha256', nonceKey).update('hello').digest().subarray(0, 12)
    expect(bytesOf(ciphertext).subarray(0, 12)).toEqual(nonce)
    expect(await post('decrypt/a', { ciphertext, context: CONTEXT })).toEqual({ plaintext: HELLO })
  })

  it('a convergent transit key has another nonce for other associated data', async () => {
    await post('keys/a', { derived: true, convergent_encryption: true })
    const nonces = new Set<string>()
    for (const data of ['', 'row 1', 'row 2']) {
      const associated = { context: CONTEXT, associated_data: base64(data) }
      const ciphertext = await ciphertextOf('a', associated)
      expect(await ciphertextOf('a', associated)).toBe(ciphertext)
      expect(await post('decrypt/a', { ciphertext, ...associated })).toEqual({ plaintext: HELLO })
      nonces.add(bytesOf(ciphertext).subarray(0, 12).toString('hex'))
    }
    expect(nonces.size).toBe(3)
  })
})

describe('an encryption with a key that is not there', () => {
  const create = (name: string, body: JsonObject) => transit.write(`encrypt/${name}`, { plaintext: HELLO, ...body })

  it('encrypt creates a missing key with the create capability, and a derived one with a context', async () => {
    await create('a', {})
    await create('b', { context: CONTEXT })
    await create('c', { context: CONTEXT, convergent_encryption: true })
    await create('d', { type: 'chacha20-poly1305' })
    expect(dataOf(await transit.read('keys/a'))).toMatchObject({ derived: false, type: 'aes256-gcm96' })
    expect(dataOf(await transit.read('keys/b'))).toMatchObject({ derived: true, convergent_encryption: false })
    expect(dataOf(await transit.read('keys/c'))).toMatchObject({ derived: true, convergent_encryption: true })
    expect(dataOf(await transit.read('keys/d'))).toMatchObject({ type: 'chacha20-poly1305' })
  })

  it('encrypt creates no key of a type that cannot encrypt or for a mixed batch', async () => {
    expect(await refused('encrypt/a', { plaintext: HELLO, type: 'ecdsa-p256' })).toBe(
      'key type ecdsa-p256 not supported for this operation',
    )
    expect(await refused('encrypt/a', { plaintext: HELLO, convergent_encryption: true })).toMatch(
      /context is required$/,
    )
    const batch_input = [{ plaintext: HELLO, context: CONTEXT }, { plaintext: HELLO }]
    expect(await refused('encrypt/a', { batch_input })).toBe(
      'context should be set either in all the request blocks or in none',
    )
    expect(await transit.read('keys/a')).toBeUndefined()
  })

  it('concurrent encryptions with a missing key create one key', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => create('a', {})))
    for (const response of made) {
      const { ciphertext } = dataOf(response) as Shown
      expect(await post('decrypt/a', { ciphertext: String(ciphertext) })).toEqual({ plaintext: HELLO })
    }
  })
})

describe('a refusal', () => {
  beforeEach(async () => {
    await post('keys/a')
    await post('keys/a/rotate')
    await post('keys/a/config', { min_encryption_version: 2 })
    await post('keys/e', { type: 'ed25519' })
  })

  it.each([
    ['encrypt/a', {}, 'missing plaintext to encrypt'],
    ['encrypt/a', { plaintext: 'h*llo' }, 'illegal base64 data at input byte 1'],
    ['encrypt/a', { plaintext: 'aGVsbG8' }, 'illegal base64 data at input byte 4'],
    ['encrypt/a', { plaintext: HELLO, context: '*' }, 'illegal base64 data at input byte 0'],
    ['encrypt/a', { plaintext: HELLO, nonce: 'AAAA' }, 'provided nonce not allowed for this key'],
    ['encrypt/a', { plaintext: HELLO, key_version: -1 }, 'requested version for encryption is negative'],
    [
      'encrypt/a',
      { plaintext: HELLO, key_version: 3 },
      'requested version for encryption is higher than the latest key version',
    ],
    [
      'encrypt/a',
      { plaintext: HELLO, key_version: 1 },
      'requested version for encryption is less than the minimum encryption key version',
    ],
    ['encrypt/e', { plaintext: HELLO }, 'message encryption not supported for key type ed25519'],
    ['encrypt/a', { batch_input: [] }, 'missing batch input to process'],
    [
      'encrypt/a',
      { batch_input: 'x' },
      'failed to parse batch input: source data must be an array or slice, got string',
    ],
    ['encrypt/a', { batch_input: [7] }, "failed to parse batch input: [0] expected a map, got 'number'"],
    ['decrypt/a', {}, 'missing ciphertext to decrypt'],
    [
      'encrypt/a',
      { batch_input: [{ plaintext: null }] },
      "failed to parse batch input: 1 error(s) decoding:\n\n* '[0].plaintext' missing plaintext to encrypt",
    ],
    ['decrypt/none', { ciphertext: 'x' }, 'encryption key not found'],
    ['decrypt/e', { ciphertext: 'x' }, 'message decryption not supported for key type ed25519'],
    ['decrypt/a', { ciphertext: 'x' }, 'invalid ciphertext: no prefix'],
    ['decrypt/a', { ciphertext: 'vault:v1' }, 'invalid ciphertext: wrong number of fields'],
    ['decrypt/a', { ciphertext: 'vault:vx:AA==' }, 'invalid ciphertext: version number could not be decoded'],
    ['decrypt/a', { ciphertext: 'vault:v3:AA==' }, 'invalid ciphertext: version is too new'],
    ['decrypt/a', { ciphertext: 'vault:v1:*' }, 'invalid ciphertext: could not decode base64'],
    ['decrypt/a', { ciphertext: 'vault:v1:AAAA' }, 'invalid ciphertext length'],
    ['rewrap/none', { ciphertext: 'x' }, 'encryption key not found'],
    ['rewrap/a', {}, 'missing ciphertext to decrypt'],
    ['datakey/plain/a', {}, "Invalid path, must be 'plaintext' or 'wrapped'"],
    ['datakey/wrapped/a', { bits: 100 }, 'invalid bit length'],
    ['datakey/wrapped/none', {}, 'encryption key not found'],
  ] as [string, JsonObject, string][])('%s rejects %j', async (path, body, text) => {
    expect(await refused(path, body)).toBe(text)
  })
})

describe('a batch', () => {
  beforeEach(async () => {
    await post('keys/a')
  })

  it('a batch is answered in order with the references of its items', async () => {
    const batch_input = Array.from({ length: 200 }, (_, n) => ({ plaintext: base64(`${n}`), reference: `r${n}` }))
    const encrypted = (await post('encrypt/a', { batch_input })) as unknown as Batch
    expect(encrypted.batch_results).toHaveLength(200)
    expect(encrypted.batch_results[3]).toEqual({
      ciphertext: expect.stringMatching(/^vault:v1:/),
      key_version: 1,
      reference: 'r3',
    })
    const back = encrypted.batch_results.map(({ ciphertext }) => ({ ciphertext: String(ciphertext) }))
    const decrypted = (await post('decrypt/a', { batch_input: back })) as unknown as Batch
    expect(decrypted.batch_results.map(({ plaintext }) => plaintext)).toEqual(
      batch_input.map(({ plaintext }) => plaintext),
    )
    const rewrapped = (await post('rewrap/a', { batch_input: back })) as unknown as Batch
    expect(rewrapped.batch_results).toHaveLength(200)
  })

  it('a partly failed batch is 400 with all results, or the requested status', async () => {
    const batch_input = [{ plaintext: HELLO }, { plaintext: '*' }]
    const response = await transit.write('encrypt/a', { batch_input })
    expect(response?.status).toBe(400)
    expect(dataOf(response)).toEqual({
      batch_results: [
        { ciphertext: expect.any(String), key_version: 1, reference: '' },
        { error: 'illegal base64 data at input byte 0', reference: '' },
      ],
    })
    const asked = { batch_input, partial_failure_response_code: 207 }
    expect((await transit.write('encrypt/a', asked))?.status).toBe(207)
    const odd = await transit.write('encrypt/a', { batch_input, partial_failure_response_code: 700 })
    expect([odd?.status, odd?.warnings?.length]).toEqual([400, 1])
    const none = await transit.write('decrypt/a', { ...asked, batch_input: [{ ciphertext: 'x' }] })
    expect(none?.status).toBe(400)
    expect(dataOf(none)).toEqual({
      batch_results: [{ error: 'invalid ciphertext: no prefix', plaintext: '', reference: '' }],
    })
  })

  it('a batch over 10000 items is rejected', async () => {
    const batch_input = Array.from({ length: 10_001 }, () => ({}))
    expect(await refused('decrypt/a', { batch_input })).toMatch(/more than 10000 items$/)
  })
})

it('a data key is shown with its ciphertext, or only encrypted', async () => {
  await post('keys/a')
  const open = await post('datakey/plaintext/a')
  expect(open).toEqual({ ciphertext: expect.any(String), key_version: 1, plaintext: expect.any(String) })
  expect(Buffer.from(String(open.plaintext), 'base64')).toHaveLength(32)
  expect(await post('decrypt/a', { ciphertext: String(open.ciphertext) })).toEqual({ plaintext: open.plaintext })
  const wrapped = await post('datakey/wrapped/a', { bits: 512 })
  expect(wrapped).toEqual({ ciphertext: expect.any(String), key_version: 1 })
  const { plaintext } = await post('decrypt/a', { ciphertext: String(wrapped.ciphertext) })
  expect(Buffer.from(String(plaintext), 'base64')).toHaveLength(64)
})
