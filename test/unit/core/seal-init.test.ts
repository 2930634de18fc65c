import * as openpgp from 'openpgp'
import { describe, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { createStaticSeal } from '../../../src/seal/auto-seal.js'
import { createSeal, initWith } from '../../support/seal-fixture.js'

const autoSeal = createStaticSeal({
  type: 'static',
  current: { id: 'a', key: Buffer.alloc(32, 7) },
  random: createSeededRandom('auto'),
})

describe('under Shamir', () => {
  test('a new server reports that it is not initialized', async () => {
    const { call } = await createSeal()
    expect(await call('read', 'init')).toEqual({ status: 200, body: { initialized: false } })
    expect((await call('read', 'seal-status')).body).toMatchObject({ initialized: false, sealed: true, t: 0, n: 0 })
    expect((await call('read', 'health')).status).toBe(501)
  })

  test('init returns five shares of 33 bytes in hex and base64 and a root token, and the server stays sealed', async () => {
    const fixture = await createSeal()
    const { keys, keys64, rootToken } = await initWith(fixture, { secret_shares: 5, secret_threshold: 3 })
    expect(keys).toHaveLength(5)
    expect(keys.every((key) => /^[0-9a-f]{66}$/.test(key))).toBe(true)
    expect(keys64).toEqual(keys.map((key) => Buffer.from(key, 'hex').toString('base64')))
    expect(rootToken).toMatch(/^hvs\./)
    expect(fixture.seal.isSealed).toBe(true)
    expect(fixture.barrier.isSealed).toBe(true)
    expect(fixture.events).toEqual(['create, barrier open'])
  })

  test('init accepts the inapplicable parameters of the command line', async () => {
    const { keys } = await initWith(await createSeal(), {
      secret_shares: 5,
      secret_threshold: 3,
      pgp_keys: null,
      recovery_shares: 0,
      recovery_threshold: 0,
      recovery_pgp_keys: null,
      root_token_pgp_key: '',
      stored_shares: 0,
    })
    expect(keys).toHaveLength(5)
  })

  test.each<[JsonObject, string]>([
    [{}, 'invalid seal configuration: shares must be at least one'],
    [{ secret_shares: 1 }, 'invalid seal configuration: threshold must be at least one'],
    [
      { secret_shares: 3, secret_threshold: 1 },
      'invalid seal configuration: threshold must be greater than one for multiple shares',
    ],
    [{ secret_shares: 2, secret_threshold: 3 }, 'invalid seal configuration: threshold cannot be larger than shares'],
    [{ secret_shares: 256, secret_threshold: 2 }, 'invalid seal configuration: shares must be less than 256'],
    [
      { secret_shares: 1, secret_threshold: 1, recovery_shares: 1, recovery_threshold: 1 },
      'parameters recovery_shares,recovery_threshold not applicable to seal type shamir',
    ],
    [
      { secret_shares: 1, secret_threshold: 1, pgp_keys: ['a', 'b'] },
      'invalid seal configuration: count mismatch between number of provided PGP keys and number of shares',
    ],
  ])('%j is refused and nothing is made', async (data, message) => {
    const { call, store } = await createSeal()
    expect(await call('update', 'init', data)).toEqual({ code: 'invalid-request', message })
    expect(store.position.index).toBe(0)
  })

  test('an initialized server cannot be initialized again', async () => {
    const fixture = await createSeal()
    await initWith(fixture, { secret_shares: 1, secret_threshold: 1 })
    const again = await fixture.call('update', 'init', { secret_shares: 1, secret_threshold: 1 })
    expect(again.message).toBe('Vault is already initialized')
  })

  test('other verbs of sys/init are a 405 with an empty list', async () => {
    const { call } = await createSeal()
    for (const operation of ['delete', 'list', 'patch'] as const) {
      expect(await call(operation, 'init')).toEqual({ code: 'unsupported-operation', message: '' })
    }
  })

  test('an interrupted initialization can be repeated, and leaves nothing of the first attempt', async () => {
    const { seal, store } = await createSeal()
    const crash = seal.initialize({ shares: 1, threshold: 1 }, () => Promise.reject(new Error('power cut')))
    await expect(crash).rejects.toThrow('power cut')
    expect(seal.isInitialized).toBe(false)
    await store.write((tx) => tx.put('core/mounts/left-over', Buffer.from('x')))
    const restarted = await createSeal({ store })
    const { keys } = await initWith(restarted, { secret_shares: 1, secret_threshold: 1 })
    expect(store.get('core/mounts/left-over')).toBeUndefined()
    expect((await restarted.call('update', 'unseal', { key: keys[0] ?? '' })).body).toMatchObject({ sealed: false })
  })

  test('shares and root token are encrypted for their own PGP keys', async () => {
    const holder = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
    const pgpKey = Buffer.from(holder.publicKey.write()).toString('base64')
    const open = async (encrypted: Buffer): Promise<string> => {
      const message = await openpgp.readMessage({ binaryMessage: new Uint8Array(encrypted) })
      return String((await openpgp.decrypt({ message, decryptionKeys: holder.privateKey })).data)
    }
    const fixture = await createSeal()
    const made = await initWith(fixture, {
      secret_shares: 1,
      secret_threshold: 1,
      pgp_keys: [pgpKey],
      root_token_pgp_key: pgpKey,
    })
    expect(await open(Buffer.from(made.rootToken, 'base64'))).toMatch(/^hvs\./)
    const share = await open(Buffer.from(made.keys[0] ?? '', 'hex'))
    expect((await fixture.call('update', 'unseal', { key: share })).body).toMatchObject({ sealed: false })
  })
})

describe('under auto-unseal', () => {
  const RECOVERY = { recovery_shares: 3, recovery_threshold: 2 }

  test('init returns recovery keys for auto-unseal, and the server is unsealed at once', async () => {
    const fixture = await createSeal({ autoSeal })
    const { keys, recoveryKeys } = await initWith(fixture, RECOVERY)
    expect(keys).toEqual([])
    expect(recoveryKeys).toHaveLength(3)
    expect(fixture.events).toEqual(['create, barrier open', 'unsealed'])
    expect((await fixture.call('read', 'seal-status')).body).toMatchObject({
      type: 'static',
      sealed: false,
      recovery_seal: true,
      t: 2,
      n: 3,
    })
  })

  test('init rejects unseal key parameters for auto-unseal', async () => {
    const { call } = await createSeal({ autoSeal })
    const answer = await call('update', 'init', { secret_shares: 1, secret_threshold: 1, ...RECOVERY })
    expect(answer.message).toBe('parameters secret_shares,secret_threshold not applicable to seal type static')
    expect((await call('update', 'init', {})).message).toBe(
      'invalid recovery configuration: shares must be at least one',
    )
  })
})
