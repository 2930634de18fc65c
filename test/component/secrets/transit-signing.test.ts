import { createHash, createHmac, createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { createTransitType } from '../../../src/secrets/transit/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

let transit: BackendHarness
beforeEach(() => {
  transit = new BackendHarness(createTransitType().factory)
})

type ResponseData = Record<string, unknown>

const MESSAGE = Buffer.from('message')
const input = MESSAGE.toString('base64')
const context = Buffer.from('user 7').toString('base64')

const post = async (path: string, body: JsonObject = {}) => dataOf(await transit.write(path, body)) as ResponseData
const refused = async (path: string, body: JsonObject = {}) => {
  const [code, text] = await refusal(transit.write(path, body))
  expect(code).toBe('invalid-request')
  return text
}
const publicKeyOf = async (name: string, version = '1', query = {}) => {
  const { keys } = dataOf(await transit.read(`keys/${name}`, query)) as { keys: Record<string, { public_key: string }> }
  return String(keys[version]?.public_key)
}
const sign = async (name: string, body: JsonObject = {}) =>
  String((await post(`sign/${name}`, { input, ...body })).signature)
const encodedSignature = (text: string) => text.split(':')[2] ?? ''
const isValid = async (path: string, body: JsonObject) => (await post(path, { input, ...body })).valid

const ed25519Key = (bytes: string) =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes, 'base64').toString('base64url') },
    format: 'jwk',
  })

describe('transit signatures', () => {
  it('the public key in a read verifies an Ed25519 signature', async () => {
    await post('keys/a', { type: 'ed25519' })
    const { signature, ...more } = await post('sign/a', { input })
    expect(more).toEqual({ key_version: 1 })
    const bytes = Buffer.from(encodedSignature(String(signature)), 'base64')
    expect(verify(null, MESSAGE, ed25519Key(await publicKeyOf('a')), bytes)).toBe(true)
    expect(await isValid('verify/a', { signature: String(signature) })).toBe(true)
    const other = { input: Buffer.from('massage').toString('base64'), signature: String(signature) }
    expect(await isValid('verify/a', other)).toBe(false)
  })

  it('a derived Ed25519 key signs with a separate key for each context, and shows it', async () => {
    await post('keys/a', { type: 'ed25519', derived: true })
    const made = await post('sign/a', { input, context })
    expect(made.public_key).toBe(await publicKeyOf('a', '1', { context }))
    expect(await publicKeyOf('a')).toBe('')
    const bytes = Buffer.from(encodedSignature(String(made.signature)), 'base64')
    expect(verify(null, MESSAGE, ed25519Key(String(made.public_key)), bytes)).toBe(true)
    const signature = String(made.signature)
    expect(await isValid('verify/a', { signature, context })).toBe(true)
    expect(await isValid('verify/a', { signature, context: Buffer.from('user 8').toString('base64') })).toBe(false)
    expect(await refused('sign/a', { input })).toMatch(/^missing 'context' for key derivation/)
  })

  it.each([
    ['ecdsa-p256', 'sha2-256', 'sha256'],
    ['ecdsa-p384', 'sha2-384', 'sha384'],
    ['ecdsa-p521', 'sha3-512', 'sha3-512'],
  ])('%s signatures are marshaled as ASN.1 or JWS', async (type, name, hash) => {
    await post('keys/a', { type })
    const key = createPublicKey(await publicKeyOf('a'))
    const plain = await sign('a', { hash_algorithm: name })
    expect(verify(hash, MESSAGE, key, Buffer.from(encodedSignature(plain), 'base64'))).toBe(true)
    const jws = { hash_algorithm: name, marshaling_algorithm: 'jws' }
    const short = await sign('a', jws)
    expect(encodedSignature(short)).toMatch(/^[A-Za-z0-9_-]+$/)
    const bytes = Buffer.from(encodedSignature(short), 'base64url')
    expect(verify(hash, MESSAGE, { key, dsaEncoding: 'ieee-p1363' }, bytes)).toBe(true)
    expect(await isValid(`verify/a/${name}`, { signature: plain })).toBe(true)
    expect(await isValid('verify/a', { signature: short, ...jws })).toBe(true)
    expect(await isValid('verify/a/sha1', { signature: plain })).toBe(false)
  })

  it('an RSA signature is PSS with any or a given salt length, or PKCS 1', async () => {
    await post('keys/a', { type: 'rsa-2048' })
    const key = createPublicKey(await publicKeyOf('a'))
    for (const saltLength of ['auto', 'hash', '20']) {
      const signature = await sign('a', { salt_length: saltLength })
      const salted = { key, padding: 6, saltLength: saltLength === 'auto' ? -2 : saltLength === 'hash' ? -1 : 20 }
      expect(verify('sha256', MESSAGE, salted, Buffer.from(encodedSignature(signature), 'base64'))).toBe(true)
      expect(await isValid('verify/a', { signature, salt_length: saltLength })).toBe(true)
    }
    const pkcs1 = { signature_algorithm: 'pkcs1v15', hash_algorithm: 'sha2-512' }
    const signature = await sign('a', pkcs1)
    expect(verify('sha512', MESSAGE, key, Buffer.from(encodedSignature(signature), 'base64'))).toBe(true)
    expect(await isValid('verify/a', { signature, ...pkcs1 })).toBe(true)
    expect(await isValid('verify/a', { signature })).toBe(false)
  })

  it('a PKCS 1 signature of a hash equals the one of its input', async () => {
    await post('keys/a', { type: 'rsa-2048' })
    const hashes = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-224', 'sha3-256', 'sha3-384', 'sha3-512']
    for (const hash of hashes) {
      const name = hash.replace(/^sha(?=\d{3})/, 'sha2-')
      const pkcs1 = { signature_algorithm: 'pkcs1v15', hash_algorithm: name }
      const signature = await sign('a', pkcs1)
      const hashed = (text: string) => ({
        ...pkcs1,
        prehashed: true,
        input: createHash(hash).update(text).digest('base64'),
      })
      expect(await sign('a', hashed('message')), hash).toBe(signature)
      expect(await isValid('verify/a', { ...hashed('message'), signature }), hash).toBe(true)
      expect(await isValid('verify/a', { ...hashed('massage'), signature }), hash).toBe(false)
    }
  })

  it('sign uses the latest or the requested key version, and verify accepts the allowed versions', async () => {
    await post('keys/a', { type: 'ed25519' })
    const old = await sign('a')
    await post('keys/a/rotate')
    expect(await sign('a')).toMatch(/^vault:v2:/)
    expect(await sign('a', { key_version: 1 })).toBe(old)
    expect(await isValid('verify/a', { signature: old })).toBe(true)
    await post('keys/a/config', { min_decryption_version: 2 })
    expect(await refused('verify/a', { input, signature: old })).toMatch(/too old/)
    expect(await refused('sign/a', { input, key_version: 1 })).toMatch(/too old/)
    await post('keys/a/config', { min_encryption_version: 2 })
    expect(await refused('sign/a', { input, key_version: 1 })).toMatch(/less than the minimum encryption key version$/)
  })

  it('sign and verify reject keys without signing support and invalid signatures', async () => {
    await post('keys/aes')
    await post('keys/ed', { type: 'ed25519' })
    await post('keys/ec', { type: 'ecdsa-p256' })
    await post('keys/rsa', { type: 'rsa-2048' })
    expect(await refused('sign/none', { input })).toBe('signing key not found')
    expect(await refused('verify/none', { input, signature: 'x' })).toBe('signature verification key not found')
    expect(await refused('sign/aes', { input })).toBe('key type aes256-gcm96 does not support signing')
    expect(await refused('verify/aes', { input, signature: 'x' })).toBe(
      'key type aes256-gcm96 does not support verification',
    )
    expect(await refused('sign/ec/md5', { input })).toBe('invalid hash algorithm "md5"')
    expect(await refused('sign/ec', { input, marshaling_algorithm: 'raw' })).toBe('invalid marshaling type "raw"')
    expect(await refused('sign/rsa', { input, signature_algorithm: 'x' })).toMatch(/^unsupported rsa/)
    expect(await refused('sign/rsa/none', { input })).toMatch(/^hash_algorithm=none requires both/)
    expect(await refused('sign/rsa', { input, salt_length: 'much' })).toMatch(/salt length/)
    expect(await refused('sign/rsa', { input, salt_length: '4000' })).toMatch(/cannot sign/)
    expect(await refused('sign/ed', { batch_input: [] })).toBe('missing batch input to process')
    expect(await refused('sign/ed', { input: '*' })).toMatch(/^unable to decode input as base64: /)
    expect(await refused('verify/ed', { input })).toBe("neither a 'signature' nor an 'hmac' were given to verify")
    expect(await refused('verify/ec', { input, signature: 'vault:v1:AAAA' })).toBe('supplied signature is invalid')
    expect(await refused('verify/ed', { batch_input: [{ signature: 'x' }, { hmac: 'y' }] })).toBe(
      "elements of batch_input must all provide 'signature' or all provide 'hmac'",
    )
    expect(await refused('verify/ed', { batch_input: [{ signature: 'x' }, {}] })).toBe(
      "some elements of batch_input are missing 'signature'",
    )
    expect(await refused('verify/ed', { batch_input: [{}] })).toBe("no batch_input elements have 'signature' or 'hmac'")
    expect(await refused('verify/ed', { input, signature: 'x' })).toBe('invalid signature: no prefix')
    expect(await refused('verify/ed', { input, signature: 'vault:v2:AAAA' })).toBe(
      'invalid signature: version is too new',
    )
    expect(await refused('verify/ed', { input, signature: 'vault:v1:*' })).toBe('invalid base64 signature value')
    expect(await isValid('verify/ed', { signature: 'vault:v1:AAAA' })).toBe(false)
  })

  it('a batch of signatures answers 200 and names the error of each item', async () => {
    await post('keys/a', { type: 'ed25519', derived: true })
    const made = await transit.write('sign/a', { batch_input: [{ input, context, reference: 'r' }, { context }] })
    expect(made?.status).toBeUndefined()
    const { batch_results: signed } = dataOf(made) as { batch_results: ResponseData[] }
    expect(signed).toEqual([
      { signature: expect.any(String), key_version: 1, publickey: expect.any(String), reference: 'r' },
      { key_version: 0, error: 'missing input', reference: '' },
    ])
    const signature = String(signed[0]?.signature)
    const judged = await post('verify/a', {
      batch_input: [
        { input, context, signature },
        { input: '', context, signature },
        { input, context, signature: 'x' },
      ],
    })
    expect(judged).toEqual({
      batch_results: [
        { valid: true, reference: '' },
        { valid: false, reference: '' },
        { valid: false, error: 'invalid signature: no prefix', reference: '' },
      ],
    })
  })
})

describe('transit HMAC', () => {
  const exported = async (name: string) => {
    await post(`keys/${name}/config`, { exportable: true })
    const { keys } = dataOf(await transit.read(`export/hmac-key/${name}`)) as { keys: Record<string, string> }
    return Buffer.from(String(keys[1]), 'base64')
  }

  it.each(['aes256-gcm96', 'ed25519'])('hmac and verify work with key type %s', async (type) => {
    await post('keys/a', { type })
    const { hmac } = await post('hmac/a', { input })
    const key = await exported('a')
    expect(hmac).toBe(`vault:v1:${createHmac('sha256', key).update(MESSAGE).digest('base64')}`)
    const long = String((await post('hmac/a/sha2-512', { input })).hmac)
    expect(encodedSignature(long)).toBe(createHmac('sha512', key).update(MESSAGE).digest('base64'))
    expect((await post('hmac/a', { input, algorithm: 'sha2-512' })).hmac).toBe(long)
    expect(await isValid('verify/a', { hmac: String(hmac) })).toBe(true)
    expect(await isValid('verify/a/sha2-512', { hmac: long })).toBe(true)
    expect(await isValid('verify/a', { hmac: long, algorithm: 'sha2-512' })).toBe(true)
    expect(await isValid('verify/a', { hmac: long, hash_algorithm: 'sha2-512' })).toBe(true)
    expect(await isValid('verify/a', { hmac: long })).toBe(false)
  })

  it('hmac fails with its own error texts', async () => {
    await post('keys/a')
    await post('keys/a/rotate')
    const old = String((await post('hmac/a', { input, key_version: 1 })).hmac)
    await post('keys/a/config', { min_decryption_version: 2, min_encryption_version: 2 })
    expect(await refused('hmac/none', { input })).toBe('encryption key not found')
    expect(await refused('hmac/a/md5', { input })).toBe('unsupported algorithm "md5"')
    expect(await refused('hmac/a', {})).toBe('missing input for HMAC')
    expect(await refused('hmac/a', { input, key_version: 1 })).toBe(
      'cannot generate HMAC: version is too old (disallowed by policy)',
    )
    expect(await refused('verify/a', { input, hmac: old })).toBe(
      'cannot verify HMAC: version is too old (disallowed by policy)',
    )
    expect(await refused('verify/a', { input, hmac: 'x' })).toBe('invalid HMAC to verify: no prefix')
    expect(await post('hmac/a', { batch_input: [{ input }, {}, { input: '' }] })).toEqual({
      batch_results: [
        { hmac: expect.stringMatching(/^vault:v2:/), reference: '' },
        { error: 'missing input for HMAC', reference: '' },
        { hmac: expect.stringMatching(/^vault:v2:/), reference: '' },
      ],
    })
  })
})

describe('transit without a key', () => {
  it('transit hash supports algorithms and output formats, and rejects unknown ones', async () => {
    const sum = (hash: string, form: 'hex' | 'base64') => ({ sum: createHash(hash).update(MESSAGE).digest(form) })
    expect(await post('hash', { input })).toEqual(sum('sha256', 'hex'))
    expect(await post('hash/sha3-384', { input, format: 'base64' })).toEqual(sum('sha3-384', 'base64'))
    expect(await post('hash', { input, algorithm: 'sha2-224' })).toEqual(sum('sha224', 'hex'))
    expect(await refused('hash/md5', { input })).toBe('unsupported algorithm md5')
    expect(await refused('hash', { input, format: 'x' })).toMatch(/^unsupported encoding format x;/)
    expect(await refused('hash', { input: '*' })).toMatch(/^unable to decode input as base64: illegal base64/)
    expect(await refused('hash')).toBe('input missing')
  })

  it('transit random returns the requested number of bytes and format', async () => {
    const bytes = async (path: string, body: JsonObject = {}) => String((await post(path, body)).random_bytes)
    expect(Buffer.from(await bytes('random'), 'base64')).toHaveLength(32)
    expect(await bytes('random/5', { format: 'hex' })).toMatch(/^[0-9a-f]{10}$/)
    expect(await bytes('random/platform/5', { format: 'hex' })).toMatch(/^[0-9a-f]{10}$/)
    expect(await bytes('random/platform', { bytes: 6, format: 'hex' })).toMatch(/^[0-9a-f]{12}$/)
    expect(await refused('random/0')).toBe('"bytes" cannot be less than 1')
    expect(await refused('random', { bytes: 131_073 })).toBe('"bytes" should be less than 131072')
    expect(await refused('random/x')).toMatch(/^error parsing url-set byte count/)
    expect(await bytes('random/seal/5', { format: 'hex' })).toMatch(/^[0-9a-f]{10}$/)
    expect(await refused('random', { source: 'other' })).toMatch(/^unsupported entropy source "other"/)
  })
})

describe('transit export', () => {
  const read = async (path: string) => dataOf(await transit.read(path)) as { keys: Record<string, string> }

  it('export shows the versions of an exportable key in the forms of its type', async () => {
    for (const type of ['aes256-gcm96', 'ed25519', 'ecdsa-p256', 'rsa-2048']) {
      await post(`keys/${type}`, { type, exportable: true })
    }
    await post('keys/aes256-gcm96/rotate')
    const all = await read('export/encryption-key/aes256-gcm96')
    expect(all).toMatchObject({ name: 'aes256-gcm96', type: 'aes256-gcm96' })
    expect(Object.keys(all.keys)).toEqual(['1', '2'])
    expect((await read('export/encryption-key/aes256-gcm96/latest')).keys).toEqual({ 2: all.keys[2] })
    expect((await read('export/encryption-key/aes256-gcm96/1')).keys).toEqual({ 1: all.keys[1] })
    const ed = Buffer.from(String((await read('export/signing-key/ed25519')).keys[1]), 'base64')
    expect(ed.subarray(32).toString('base64')).toBe(await publicKeyOf('ed25519'))
    for (const type of ['ecdsa-p256', 'rsa-2048']) {
      const pem = String((await read(`export/signing-key/${type}`)).keys[1])
      const mine = createPublicKey(createPrivateKey(pem)).export({ format: 'pem', type: 'spki' })
      expect(mine).toBe(await publicKeyOf(type))
      expect(`${(await read(`export/public-key/${type}`)).keys[1]}\n`).toBe(mine)
    }
  })

  it('export rejects a key that is not exportable and a wrong export type', async () => {
    await post('keys/a')
    const refusedRead = async (path: string) => (await refusal(transit.read(path)))[1]
    expect(await refusedRead('export/encryption-key/a')).toBe('private key material is not exportable')
    expect(await refusedRead('export/kitten/a')).toBe('invalid export type: kitten')
    await post('keys/a/config', { exportable: true })
    expect(await refusedRead('export/signing-key/a')).toBe('signing not supported for the key')
    expect(await refusedRead('export/encryption-key/a/7')).toBe('version does not exist or cannot be found')
    expect(await refusedRead('export/encryption-key/a/x')).toBe('invalid key version')
    expect(await transit.read('export/encryption-key/none')).toBeUndefined()
  })
})

describe('transit backup', () => {
  const settings = { exportable: true, allow_plaintext_backup: true }
  const backup = async (name: string) => String((dataOf(await transit.read(`backup/${name}`)) as ResponseData).backup)

  it('a transit backup restores a key with all its versions on the same or another mount', async () => {
    await post('keys/a', { ...settings, type: 'rsa-2048' })
    const ciphertext = String((await post('encrypt/a', { plaintext: input })).ciphertext)
    await post('keys/a/rotate')
    await post('keys/a/config', { deletion_allowed: true })
    const saved = await backup('a')
    expect(await refused('restore', { backup: saved })).toBe('key "a" already exists')
    expect(await transit.write('restore/b', { backup: saved })).toBeUndefined()
    expect(await post('decrypt/b', { ciphertext })).toEqual({ plaintext: input })
    await transit.call('delete', 'keys/a')
    const elsewhere = new BackendHarness(createTransitType().factory)
    await elsewhere.write('restore', { backup: saved })
    expect(dataOf(await elsewhere.write('decrypt/a', { ciphertext }))).toEqual({ plaintext: input })
    expect(dataOf(await elsewhere.read('keys/a'))).toMatchObject({
      latest_version: 2,
      backup_info: { time: '2023-11-14T22:13:20.000000000Z', version: 2 },
      restore_info: { time: '2023-11-14T22:13:20.000000000Z', version: 2 },
    })
    expect(await transit.write('restore/b', { backup: saved, force: true })).toBeUndefined()
  })

  it('a transit backup needs the key settings, and restore rejects a damaged backup', async () => {
    await post('keys/a')
    const refusedRead = async () => (await refusal(transit.read('backup/a')))[1]
    expect(await refusedRead()).toBe('exporting is disallowed on the policy')
    await post('keys/a/config', { exportable: true })
    expect(await refusedRead()).toBe('plaintext backup is disallowed on the policy')
    await post('keys/a/config', settings)
    const whole = JSON.parse(Buffer.from(await backup('a'), 'base64').toString())
    const changes = [{ type: 'none' }, { latestVersion: 2 }, { versions: {} }, { derived: 'x' }, { type: 'rsa-2048' }]
    for (const change of changes) {
      const text = JSON.stringify({ ...whole, record: { ...whole.record, ...change } })
      const damaged = { backup: Buffer.from(text).toString('base64') }
      expect(await refused('restore/b', damaged), text).toMatch(/cannot be read|unknown key type/)
    }
    expect(await refused('restore/b', { backup: '*' })).toMatch(/cannot be read/)
    expect(await refused('restore/b', {})).toBe("'backup' must be supplied")
    expect(await transit.read('keys/b')).toBeUndefined()
  })
})
