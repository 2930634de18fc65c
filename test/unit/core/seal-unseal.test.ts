import { describe, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import type { SealMaterial } from '../../../src/core/seal/seal-records.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { createStaticSeal, type SealKey } from '../../../src/seal/auto-seal.js'
import { combineShares } from '../../../src/seal/key-shares.js'
import { createTransitSeal } from '../../../src/seal/transit-seal.js'
import { createSealStorage } from '../../../src/server/wiring/seal-parts.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import { openStore } from '../../support/open-store.js'
import { createSeal, initWith } from '../../support/seal-fixture.js'

const FIVE = { secret_shares: 5, secret_threshold: 3 }
const staticSeal = (current: SealKey, previous?: SealKey) =>
  createStaticSeal({ type: 'static', current, previous, random: createSeededRandom('auto') })
const keyA: SealKey = { id: 'a', key: Buffer.alloc(32, 7) }
const keyB: SealKey = { id: 'b', key: Buffer.alloc(32, 8) }

const initialized = async () => {
  const fixture = await createSeal()
  const { keys, keys64 } = await initWith(fixture, FIVE)
  const offer = async (key = '') => fixture.call('update', 'unseal', { key })
  const progress = async () => (await fixture.call('read', 'seal-status')).body?.progress
  return { ...fixture, keys, keys64, offer, progress }
}

describe('share by share', () => {
  test('the third of three required shares unseals the server', async () => {
    const { offer, keys, keys64, events, seal } = await initialized()
    const first = await offer(keys[0])
    expect(first.body).toMatchObject({ sealed: true, progress: 1, nonce: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect((await offer(keys64[3])).body).toMatchObject({ progress: 2, nonce: first.body?.nonce })
    expect((await offer(keys[4])).body).toMatchObject({
      sealed: false,
      progress: 0,
      nonce: '',
      cluster_name: expect.any(String),
      cluster_id: expect.any(String),
    })
    expect(seal.rootKey).toHaveLength(32)
    expect(events.at(-1)).toBe('unsealed')
  })

  test('cluster name and id are not shown while sealed', async () => {
    const { call } = await initialized()
    expect((await call('read', 'seal-status')).body).not.toHaveProperty('cluster_id')
  })

  test.each([
    ['{"shares":5,"threshold":9}', 'threshold cannot be larger than shares'],
    ['{"shares":5,"thresho', 'it cannot be read'],
    ['{"shares":5,"threshnld":3}', 'it cannot be read'],
    ['null', 'it cannot be read'],
  ])('a damaged seal configuration is reported: %s', async (value, problem) => {
    const { store, offer, keys } = await initialized()
    await createSealStorage(store).write([{ key: KEYS.sealConfig, value: Buffer.from(value) }])
    const message = `the stored configuration of the seal is damaged: ${problem}`
    expect(await offer(keys[0])).toEqual({ code: 'internal', message })
  })

  test('a repeated share has no effect', async () => {
    const { offer, keys, progress } = await initialized()
    await offer(keys[0])
    expect((await offer(keys[0])).body).toMatchObject({ progress: 1 })
    expect(await progress()).toBe(1)
  })

  test('wrong shares at the threshold are a 400 and reset the progress', async () => {
    const { offer, keys, progress, seal } = await initialized()
    await offer(keys[0])
    await offer(keys[1])
    expect(await offer('00'.repeat(33))).toMatchObject({ code: 'invalid-request' })
    expect(await progress()).toBe(0)
    for (const key of keys.slice(0, 3)) await offer(key)
    expect(seal.isSealed).toBe(false)
  })

  test('a reset discards the shares, and is rejected on an unsealed server', async () => {
    const { call, offer, keys, progress } = await initialized()
    await offer(keys[0])
    expect((await call('update', 'unseal', { reset: true })).body).toMatchObject({ progress: 0, nonce: '' })
    expect(await progress()).toBe(0)
    for (const key of keys.slice(0, 3)) await offer(key)
    expect((await call('update', 'unseal', { reset: true })).message).toBe('vault is unsealed')
  })

  test('an unsealed server responds to a share with its status', async () => {
    const { offer, keys } = await initialized()
    for (const key of keys.slice(0, 3)) await offer(key)
    expect((await offer(keys[0])).body).toMatchObject({ sealed: false, progress: 0 })
  })

  test('two concurrent shares both count', async () => {
    const { offer, keys, seal } = await initialized()
    await Promise.all(keys.map((key) => offer(key)))
    expect(seal.isSealed).toBe(false)
  })

  test.each([
    ['', "'key' must be specified in request body as JSON, or 'reset' set to true"],
    ['not a key!', "'key' must be a valid hex or base64 string"],
    ['00112233', 'invalid key: key is shorter than minimum 16 bytes'],
  ])('the unseal key %j is rejected', async (key, message) => {
    const { offer } = await initialized()
    expect(await offer(key)).toEqual({ code: 'invalid-request', message })
  })

  test('unseal field names are case-insensitive', async () => {
    const { call, keys } = await initialized()
    expect((await call('update', 'unseal', { Key: keys[0] ?? '' })).body).toMatchObject({ progress: 1 })
    expect((await call('update', 'unseal', { RESET: true })).body).toMatchObject({ progress: 0 })
  })

  test.each(['migrate', 'Migrate'])('a share with %s is rejected without a pending seal migration', async (name) => {
    const { call, keys } = await initialized()
    const refused = { code: 'invalid-request', message: "can't perform a seal migration, no migration seal found" }
    expect(await call('update', 'unseal', { key: keys[0] ?? '', [name]: true })).toEqual(refused)
    for (const key of keys.slice(0, 3)) await call('update', 'unseal', { key, [name]: false })
    expect(await call('update', 'unseal', { key: keys[0] ?? '', [name]: true })).toEqual(refused)
  })

  test('an uninitialized server rejects shares', async () => {
    const { call } = await createSeal()
    expect((await call('update', 'unseal', { key: '00'.repeat(16) })).message).toBe('Vault is not initialized')
  })
})

describe('one share', () => {
  test('a single share is a key of 32 bytes, and any other share fails', async () => {
    const fixture = await createSeal()
    const { keys, keys64 } = await initWith(fixture, { secret_shares: 1, secret_threshold: 1 })
    const [key = ''] = keys
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    const wrong = `${key.startsWith('0') ? '1' : '0'}${key.slice(1)}`
    expect(await fixture.call('update', 'unseal', { key: wrong })).toMatchObject({ code: 'invalid-request' })
    expect(await fixture.call('update', 'unseal', { key: `${key}00` })).toMatchObject({ code: 'invalid-request' })
    expect((await fixture.call('read', 'seal-status')).body).toMatchObject({ progress: 0, nonce: '' })
    expect((await fixture.call('update', 'unseal', { key: keys64[0] ?? '' })).body).toMatchObject({ sealed: false })
  })
})

describe('sealing', () => {
  test('a seal stops the core before the barrier closes, and discards the root key', async () => {
    const { call, keys, offer, events, barrier, seal } = await initialized()
    for (const key of keys.slice(0, 3)) await offer(key)
    expect((await call('update', 'seal')).status).toBe(204)
    expect(events.at(-1)).toBe('sealed, barrier open')
    expect(barrier.isSealed).toBe(true)
    expect(seal.rootKey).toBeUndefined()
    expect((await call('update', 'seal')).status).toBe(204)
  })

  test('a failure during the unseal leaves the server sealed', async () => {
    const { seal, store } = await initialized()
    await store.write((tx) => tx.delete('core/keyring'))
    await expect(seal.openWith(Buffer.alloc(32))).rejects.toThrow()
    expect(seal.isSealed).toBe(true)
  })

  test('a root key in memory unseals the server again', async () => {
    const { seal, store, keys, offer } = await initialized()
    for (const key of keys.slice(0, 3)) await offer(key)
    const rebuilt = await createSeal({ store })
    await rebuilt.seal.openWith(seal.rootKey ?? Buffer.alloc(0))
    expect(rebuilt.seal.isSealed).toBe(false)
  })
})

describe('auto-unseal', () => {
  const autoInitialized = async () => {
    const store = await openStore()
    const fixture = await createSeal({ store, autoSeal: staticSeal(keyA) })
    const { recoveryKeys } = await initWith(fixture, { recovery_shares: 3, recovery_threshold: 2 })
    return { store, recoveryKeys }
  }

  test('a restart with auto-unseal unseals the server', async () => {
    const { store } = await autoInitialized()
    const { seal } = await createSeal({ store, autoSeal: staticSeal(keyA) })
    expect(await seal.autoUnseal()).toBe(true)
    expect(seal.isSealed).toBe(false)
  })

  test('recovery keys cannot unseal the server', async () => {
    const { store, recoveryKeys } = await autoInitialized()
    const { call } = await createSeal({ store, autoSeal: staticSeal(keyA) })
    expect(await call('update', 'unseal', { key: recoveryKeys[0] ?? '' })).toMatchObject({ code: 'invalid-request' })
  })

  test('a restart with a new and the previous seal key migrates to the new key', async () => {
    const { store } = await autoInitialized()
    expect(await (await createSeal({ store, autoSeal: staticSeal(keyB, keyA) })).seal.autoUnseal()).toBe(true)
    expect(await (await createSeal({ store, autoSeal: staticSeal(keyB) })).seal.autoUnseal()).toBe(true)
    expect(await (await createSeal({ store, autoSeal: staticSeal(keyA) })).seal.autoUnseal()).toBe(false)
  })

  test('a Shamir cluster migrates to auto-unseal when its shares unseal it once more', async () => {
    const { store, keys } = await initialized()
    const migrating = await createSeal({ store, autoSeal: staticSeal(keyA) })
    expect(await migrating.seal.autoUnseal()).toBe(false)
    expect((await migrating.call('read', 'seal-status')).body).toMatchObject({ migration: true, sealed: true })
    for (const key of keys.slice(0, 3)) await migrating.call('update', 'unseal', { key, migrate: true })
    expect(migrating.seal.isSealed).toBe(false)
    expect(await (await createSeal({ store, autoSeal: staticSeal(keyA) })).seal.autoUnseal()).toBe(true)
  })
})

describe('auto-unseal by the key of another cluster', () => {
  /** Stands for the other cluster: it decrypts what it has encrypted, while it is reachable. */
  const away = () => new LogicalError('unavailable', 'connection refused')
  const createKey = () => ({
    isThere: true,
    calls: 0,
    async encrypt(plaintext: string) {
      this.calls++
      if (!this.isThere) throw away()
      return `vault:v1:${[...plaintext].reverse().join('')}`
    },
    async decrypt(ciphertext: string) {
      this.calls++
      if (!this.isThere) throw away()
      return [...ciphertext.slice('vault:v1:'.length)].reverse().join('')
    },
  })
  const autoInitialized = async () => {
    const key = createKey()
    const options = { store: await openStore(), autoSeal: createTransitSeal(key) }
    await initWith(await createSeal(options), { recovery_shares: 1, recovery_threshold: 1 })
    return { key, options }
  }

  test('sys/seal-backend-status shows since when the transit cluster is away, and checks it at most every 10 s', async () => {
    const { key, options } = await autoInitialized()
    const { call, clock } = await createSeal(options)
    const status = async () => (await call('read', 'seal-backend-status')).body
    expect(await status()).toEqual({ healthy: true, backends: [{ name: 'transit', healthy: true }] })
    key.isThere = false
    expect((await status())?.healthy).toBe(true)
    clock.advance(10_000)
    const state = { healthy: false, unhealthy_since: new Date(clock.now()).toISOString() }
    for (let round = 0; round < 2; round++) {
      expect(await status()).toEqual({ ...state, backends: [{ name: 'transit', ...state }] })
      clock.advance(10_000)
    }
    key.isThere = true
    clock.advance(10_000)
    expect((await status())?.healthy).toBe(true)
  })

  test('sys/sealwrap/rewrap encrypts the root key again, or counts a failure', async () => {
    const { key, options } = await autoInitialized()
    const { seal, call } = await createSeal(options)
    await seal.autoUnseal()
    const entries = async () => (await call('read', 'sealwrap/rewrap')).body?.entries
    key.calls = 0
    expect(await call('update', 'sealwrap/rewrap')).toMatchObject({ status: 204 })
    expect([key.calls, await entries()]).toEqual([1, { processed: 1, succeeded: 1, failed: 0 }])
    key.isThere = false
    await call('update', 'sealwrap/rewrap')
    expect(await entries()).toEqual({ processed: 1, succeeded: 0, failed: 1 })
  })

  test('auto-unseal fails while the transit cluster is away, and succeeds after its return', async () => {
    const { key, options } = await autoInitialized()
    const { seal } = await createSeal(options)
    key.isThere = false
    await expect(seal.autoUnseal()).rejects.toThrow('connection refused')
    expect(seal.isSealed).toBe(true)
    key.isThere = true
    expect(await seal.autoUnseal()).toBe(true)
    expect(seal.isSealed).toBe(false)
  })

  test('auto-unseal fails while the transit cluster gives another key, and succeeds with the right one', async () => {
    const { key, options } = await autoInitialized()
    const { seal } = await createSeal(options)
    const right = key.decrypt
    key.decrypt = async () => Buffer.alloc(32, 7).toString('base64')
    await expect(seal.autoUnseal()).rejects.toMatchObject({ code: 'unavailable' })
    expect(seal.isSealed).toBe(true)
    key.decrypt = right
    expect(await seal.autoUnseal()).toBe(true)
  })

  test('auto-unseal calls the transit cluster once at a start, and not at all if the root key is in memory', async () => {
    const { key, options } = await autoInitialized()
    const { seal } = await createSeal(options)
    key.calls = 0
    await seal.autoUnseal()
    expect(key.calls).toBe(1)
    const rebuilt = await createSeal(options)
    key.isThere = false
    await rebuilt.seal.openWith(seal.rootKey ?? Buffer.alloc(0))
    expect(rebuilt.seal.isSealed).toBe(false)
  })

  test('auto-unseal rejects a root key that another seal wrapped', async () => {
    const { options } = await autoInitialized()
    expect(await (await createSeal({ ...options, autoSeal: staticSeal(keyA) })).seal.autoUnseal()).toBe(false)
    const store = await openStore()
    await initWith(await createSeal({ store, autoSeal: staticSeal(keyA) }), {
      recovery_shares: 1,
      recovery_threshold: 1,
    })
    expect(await (await createSeal({ ...options, store })).seal.autoUnseal()).toBe(false)
  })
})

describe('a cluster that joins another takes its shares over, whatever seal either has', () => {
  const INIT = {
    shamir: { secret_shares: 3, secret_threshold: 2 },
    auto: { recovery_shares: 3, recovery_threshold: 2 },
  }
  const adopt = async (primarySeal: 'shamir' | 'auto', secondarySeal: 'shamir' | 'auto') => {
    const primary = await createSeal(primarySeal === 'auto' ? { autoSeal: staticSeal(keyA) } : {})
    const made = await initWith(primary, INIT[primarySeal])
    const shares = primarySeal === 'auto' ? made.recoveryKeys : made.keys
    if (primarySeal === 'shamir') for (const key of shares) await primary.call('update', 'unseal', { key })
    const material: SealMaterial = primary.keys.exportMaterial(primary.seal.rootKey ?? Buffer.alloc(0))

    const store = await openStore()
    const options = { store, ...(secondarySeal === 'auto' && { autoSeal: staticSeal(keyB) }) }
    await createSealStorage(store).write(await (await createSeal(options)).keys.recordsToAdopt(material))
    return { secondary: await createSeal(options), shares, material }
  }

  test.each(['shamir', 'auto'] as const)(
    'the shares of a %s primary unseal its Shamir secondary',
    async (primarySeal) => {
      const { secondary, shares } = await adopt(primarySeal, 'shamir')
      for (const key of shares.slice(1)) await secondary.call('update', 'unseal', { key })
      expect((await secondary.call('read', 'seal-status')).body).toMatchObject({ sealed: false, t: 2, n: 3 })
    },
  )

  test('a secondary requires the shares of its primary from a joining server', async () => {
    const { secondary, shares, material } = await adopt('shamir', 'shamir')
    await secondary.seal.openWith(material.rootKey)
    const secret = Buffer.alloc(32, 5)
    const challenge = await secondary.keys.sealChallenge(secret, secondary.seal.rootKey ?? Buffer.alloc(0))
    const config = { shares: 3, threshold: 2 }
    const bytes = shares.slice(1).map((share) => Buffer.from(share, 'hex'))
    expect(await secondary.keys.openChallenge(challenge, await combineShares(bytes, config))).toEqual(secret)
    expect(await secondary.keys.openChallenge(challenge, Buffer.alloc(32, 7))).toBeUndefined()
    for (const junk of [Buffer.alloc(0), challenge.subarray(0, 70), Buffer.alloc(200)])
      expect(await secondary.keys.openChallenge(junk, await combineShares(bytes, config))).toBeUndefined()
  })

  test.each(['shamir', 'auto'] as const)(
    'the shares of a %s primary are the recovery keys of its auto-unseal secondary',
    async (primarySeal) => {
      const { secondary, shares, material } = await adopt(primarySeal, 'auto')
      expect(await secondary.seal.autoUnseal()).toBe(true)
      expect((await secondary.call('read', 'seal-status')).body).toMatchObject({ recovery_seal: true, t: 2, n: 3 })
      const bytes = shares.slice(1).map((share) => Buffer.from(share, 'hex'))
      expect(await secondary.keys.findRootKey(bytes)).toEqual(material.rootKey)
    },
  )
})
