import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { putJson, readJson } from '../../../src/logical/storage.js'
import { createTransitType, ROTATION_INTERVAL_MS } from '../../../src/secrets/transit/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'
import { until } from '../../support/until.js'

let transit: BackendHarness
beforeEach(() => {
  transit = new BackendHarness(createTransitType().factory)
})

const refused = async (path: string, body = {}) => refusal(transit.write(path, body))
const shown = async (name: string) => dataOf(await transit.read(`keys/${name}`)) as Record<string, unknown>
const HELLO = Buffer.from('hello').toString('base64')

const encrypt = async (name: string, body = {}): Promise<string> =>
  (dataOf(await transit.write(`encrypt/${name}`, { plaintext: HELLO, ...body })) as { ciphertext: string }).ciphertext

describe('a key', () => {
  it('a transit key is created with the defaults of the reference, and can be read and listed', async () => {
    const made = dataOf(await transit.write('keys/a'))
    expect(made).toEqual({
      allow_plaintext_backup: false,
      auto_rotate_period: 0,
      deletion_allowed: false,
      derived: false,
      exportable: false,
      imported_key: false,
      keys: { 1: 1_700_000_000 },
      latest_version: 1,
      min_available_version: 0,
      min_decryption_version: 1,
      min_encryption_version: 0,
      name: 'a',
      supports_decryption: true,
      supports_derivation: true,
      supports_encryption: true,
      supports_signing: false,
      type: 'aes256-gcm96',
    })
    expect(await shown('a')).toEqual(made)
    await transit.write('keys/B.c_d-e')
    expect(dataOf(await transit.list('keys'))).toEqual({ keys: ['B.c_d-e', 'a'] })
    expect(await transit.read('keys/none')).toBeUndefined()
  })

  it('a derived and convergent transit key reports both', async () => {
    await transit.write('keys/a', { derived: true, convergent_encryption: true })
    expect(await shown('a')).toMatchObject({
      convergent_encryption: true,
      convergent_encryption_version: -1,
      derived: true,
      kdf: 'hkdf_sha256',
    })
  })

  it('an existing transit key stays unchanged', async () => {
    const first = dataOf(await transit.write('keys/a'))
    const again = await transit.write('keys/a', { type: 'rsa-2048', exportable: true })
    expect(again?.warnings).toBeUndefined()
    expect(dataOf(again)).toEqual(first)
  })

  it.each([
    [{ type: 'none' }, 'unknown key type none'],
    [{ type: 'managed_key' }, /^keys of type managed_key are not supported: use one of aes128-gcm96/],
    [{ key_size: 32 }, 'key_size is not valid for algorithm aes256-gcm96'],
    [{ convergent_encryption: true }, 'convergent encryption requires derivation to be enabled'],
    [
      { type: 'ecdsa-p256', derived: true },
      'key derivation and convergent encryption not supported for keys of type ecdsa-p256',
    ],
    [
      { type: 'ed25519', derived: true, convergent_encryption: true },
      'convergent encryption not supported for keys of type ed25519',
    ],
    [{ auto_rotate_period: '10m' }, 'auto rotate period must be 0 to disable or at least an hour'],
  ])('a transit key is not created from %j', async (body, text) => {
    const [code, message] = await refused('keys/a', body)
    expect(code).toBe('invalid-request')
    expect(message).toMatch(text)
    expect(await transit.read('keys/a')).toBeUndefined()
  })

  it.each(['-a', 'a b', 'a-', '.'])('a transit key cannot be named %j', async (name) => {
    expect(await refused(`keys/${name}`)).toEqual(['unsupported-path', 'unsupported path'])
    expect((await refused(`encrypt/${name}`, { plaintext: HELLO }))[0]).toBe('unsupported-path')
  })

  it('a transit key pair shows its public keys', async () => {
    await transit.write('keys/e', { type: 'ecdsa-p256' })
    expect(await shown('e')).toMatchObject({
      keys: {
        1: {
          creation_time: '2023-11-14T22:13:20.000000000Z',
          name: 'P-256',
          public_key: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/),
        },
      },
      supports_encryption: false,
      supports_signing: true,
    })
  })

  it('a transit key can be deleted only if deletion_allowed is set', async () => {
    await transit.write('keys/a')
    const remove = () => transit.call('delete', 'keys/a')
    expect(await refusal(remove())).toEqual([
      'invalid-request',
      'error deleting policy a: deletion is not allowed for this key',
    ])
    await transit.write('keys/a/config', { deletion_allowed: true })
    expect(await remove()).toBeUndefined()
    expect((await refusal(remove()))[1]).toBe('error deleting policy a: could not delete key; not found')
    expect(await transit.storage.keys('')).toEqual([])
  })
})

describe('the settings of a key', () => {
  beforeEach(async () => {
    await transit.write('keys/a')
    for (let n = 0; n < 3; n++) await transit.write('keys/a/rotate')
  })

  it('the settings of a transit key change one by one, and exportable and backup stay true', async () => {
    await transit.write('keys/a/config', { exportable: true, allow_plaintext_backup: true, auto_rotate_period: '2h' })
    await transit.write('keys/a/config', { exportable: false, allow_plaintext_backup: false })
    expect(await shown('a')).toMatchObject({
      exportable: true,
      allow_plaintext_backup: true,
      auto_rotate_period: 7200,
      min_decryption_version: 1,
    })
  })

  it('minimum versions of a transit key disable, restore and finally remove old versions', async () => {
    const old = await encrypt('a', { key_version: 2 })
    await transit.write('keys/a/config', { min_decryption_version: 3 })
    expect(Object.keys((await shown('a')).keys as object)).toEqual(['3', '4'])
    expect(await refused('decrypt/a', { ciphertext: old })).toEqual([
      'invalid-request',
      'ciphertext or signature version is disallowed by policy (too old)',
    ])
    await transit.write('keys/a/config', { min_decryption_version: 2 })
    expect(dataOf(await transit.write('decrypt/a', { ciphertext: old }))).toEqual({ plaintext: HELLO })
    await transit.write('keys/a/config', { min_decryption_version: 3, min_encryption_version: 4 })
    expect(dataOf(await transit.write('keys/a/trim', { min_available_version: 3 }))).toEqual(await shown('a'))
    expect(await shown('a')).toMatchObject({ min_available_version: 3, latest_version: 4 })
    expect(JSON.stringify(await transit.storage.get('policy/a')?.toString())).not.toContain('\\"2\\"')
    expect((await refused('keys/a/config', { min_decryption_version: 2 }))[1]).toBe(
      'min decryption version should not be less then min available version',
    )
  })

  it.each([
    [{ min_decryption_version: -1 }, 'min decryption version cannot be negative'],
    [{ min_encryption_version: -1 }, 'min encryption version cannot be negative'],
    [{ min_decryption_version: 5 }, 'cannot set min decryption version of 5, latest key version is 4'],
    [{ min_encryption_version: 5 }, 'cannot set min encryption version of 5, latest key version is 4'],
    [
      { min_encryption_version: 2, min_decryption_version: 3 },
      'cannot set min encryption/decryption values; min encryption version of 2 must be greater than or equal to min decryption version of 3',
    ],
    [{ auto_rotate_period: '59m' }, 'auto rotate period must be 0 to disable or at least an hour'],
  ])('the settings of a transit key reject %j', async (body, text) => {
    const before = await shown('a')
    expect(await refused('keys/a/config', body)).toEqual(['invalid-request', text])
    expect(await shown('a')).toEqual(before)
  })

  it('minimum versions start at 1 with a warning', async () => {
    const response = await transit.write('keys/a/config', { min_decryption_version: 0 })
    expect(response?.warnings).toEqual([expect.stringMatching(/forcing minimum to 1$/)])
    expect(dataOf(response)).toMatchObject({ min_decryption_version: 1 })
  })

  it('a trim needs a version below those in use', async () => {
    const trim = async (version?: number) =>
      (await refused('keys/a/trim', version === undefined ? {} : { min_available_version: version }))[1]
    expect(await trim()).toBe('missing min_available_version')
    expect(await trim(1)).toBe('minimum available version cannot be set when minimum encryption version is not set')
    await transit.write('keys/a/config', { min_encryption_version: 3, min_decryption_version: 2 })
    expect(await trim(4)).toBe('minimum available version cannot be greater than minmum encryption version')
    expect(await trim(3)).toBe('minimum available version cannot be greater than minimum decryption version')
    expect(await trim(0)).toBe('minimum available version should be positive')
    await transit.write('keys/a/trim', { min_available_version: 2 })
    expect(await trim(1)).toBe('minimum available version cannot be decremented')
  })

  it('settings, rotation and trim of an unknown transit key fail', async () => {
    expect((await refused('keys/none/config', {}))[1]).toBe('no existing key named none could be found')
    expect((await refused('keys/none/rotate'))[1]).toBe('key not found')
    expect((await refused('keys/none/trim', { min_available_version: 1 }))[1]).toBe('invalid key name')
  })
})

describe('a rotation', () => {
  it('concurrent rotations of a transit key make one version each', async () => {
    await transit.write('keys/a')
    await Promise.all(Array.from({ length: 20 }, () => transit.write('keys/a/rotate')))
    expect(await shown('a')).toMatchObject({ latest_version: 21 })
  })

  it('a transit key rotates by itself after auto_rotate_period', async () => {
    const stop = new AbortController()
    transit.backend.start?.(stop.signal)
    await transit.write('keys/a', { auto_rotate_period: '1h' })
    await transit.write('keys/b')
    transit.clock.advance(3_600_000 - ROTATION_INTERVAL_MS)
    await transit.backend.stop?.()
    expect(await shown('a')).toMatchObject({ latest_version: 1 })
    transit.clock.advance(ROTATION_INTERVAL_MS)
    await until(async () => (await shown('a')).latest_version === 2)
    await transit.backend.stop?.()
    transit.clock.advance(ROTATION_INTERVAL_MS)
    await transit.backend.stop?.()
    expect(await shown('a')).toMatchObject({ latest_version: 2 })
    expect(await shown('b')).toMatchObject({ latest_version: 1 })
    stop.abort()
  })

  it('a damaged transit key does not prevent the rotation of another one', async () => {
    await transit.write('keys/b', { auto_rotate_period: '1h' })
    await transit.write('keys/a', { auto_rotate_period: '1h' })
    await transit.storage.write((tx) => {
      const record = readJson<JsonObject>(tx, 'policy/a') ?? {}
      putJson(tx, 'policy/a', { ...record, versions: {} })
    })
    const stop = new AbortController()
    transit.backend.start?.(stop.signal)
    transit.clock.advance(3_600_000 + ROTATION_INTERVAL_MS)
    await until(async () => (await shown('b')).latest_version === 2)
    stop.abort()
  })
})

describe('a backup', () => {
  interface Record {
    latestVersion: number
    minDecryptionVersion: number
    autoRotatePeriodSeconds: number
    derived: boolean
    type: string
    versions: { [version: string]: { createdMs: number; material: string } }
  }

  const backupOf = async (type: string, change: (record: Record) => void): Promise<string> => {
    await transit.write('keys/a', { type, exportable: true, allow_plaintext_backup: true })
    const { backup } = dataOf(await transit.read('backup/a')) as { backup: string }
    const made = JSON.parse(Buffer.from(backup, 'base64').toString()) as { record: Record }
    change(made.record)
    return Buffer.from(JSON.stringify(made)).toString('base64')
  }

  it('a transit backup is restored under another name', async () => {
    await transit.write('restore/b', { backup: await backupOf('ed25519', () => undefined) })
    expect(await shown('b')).toMatchObject({ type: 'ed25519', latest_version: 1 })
  })

  it.each<[string, string, (record: Record) => void]>([
    ['has no version', 'aes256-gcm96', (record) => Object.assign(record, { latestVersion: 0, versions: {} })],
    ['has a version twice', 'aes256-gcm96', ({ versions }) => Object.assign(versions, { '1.0': versions[1] })],
    ['decrypts nothing', 'aes256-gcm96', (record) => Object.assign(record, { minDecryptionVersion: 2 })],
    ['is rotated each second', 'aes256-gcm96', (record) => Object.assign(record, { autoRotatePeriodSeconds: 1 })],
    ['derives what cannot be derived', 'ecdsa-p256', (record) => Object.assign(record, { derived: true })],
    ['has the key of another type', 'ed25519', (record) => Object.assign(record, { type: 'ecdsa-p256' })],
    ['was made at no time', 'aes256-gcm96', ({ versions }) => Object.assign(versions[1] ?? {}, { createdMs: 1e300 })],
  ])('restore rejects a backup that %s', async (_name, type, change) => {
    expect((await refused('restore/b', { backup: await backupOf(type, change) }))[0]).toBe('invalid-request')
    expect(await transit.read('keys/b')).toBeUndefined()
  })
})

describe('where nothing can be written', () => {
  it('a secondary uses transit keys, and forwards changes of them', async () => {
    const state = { isReadOnly: false }
    const secondary = new BackendHarness((context) =>
      createTransitType().factory({
        ...context,
        isReadOnly: () => state.isReadOnly,
      }),
    )
    await secondary.write('keys/a')
    state.isReadOnly = true
    const ciphertext = dataOf(await secondary.write('encrypt/a', { plaintext: HELLO }))
    expect(dataOf(await secondary.write('decrypt/a', ciphertext as { ciphertext: string }))).toEqual({
      plaintext: HELLO,
    })
    for (const path of ['keys/b', 'keys/a/rotate', 'encrypt/b']) {
      expect((await refusal(secondary.write(path, { plaintext: HELLO })))[0]).toBe('read-only')
    }
    // A write of an existing key changes nothing, so the secondary answers it.
    expect(dataOf(await secondary.write('keys/a'))).toMatchObject({ name: 'a', latest_version: 1 })
  })
})
