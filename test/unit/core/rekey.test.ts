import * as openpgp from 'openpgp'
import { describe, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { createStaticSeal } from '../../../src/seal/auto-seal.js'
import { createSeal, initWith, type SealFixtureOptions } from '../../support/seal-fixture.js'

const open = async (options: SealFixtureOptions = {}) => {
  const fixture = await createSeal(options)
  const isAuto = options.autoSeal !== undefined
  const names = isAuto ? ['recovery_shares', 'recovery_threshold'] : ['secret_shares', 'secret_threshold']
  const made = await initWith(fixture, Object.fromEntries(names.map((name, index) => [name, 3 - index])))
  const keys = isAuto ? made.recoveryKeys : made.keys
  if (!isAuto) for (const key of keys.slice(0, 2)) await fixture.call('update', 'unseal', { key })
  const prefix = isAuto ? 'rekey-recovery-key' : 'rekey'
  const start = async (data: JsonObject = {}) =>
    fixture.call('update', `${prefix}/init`, { secret_shares: 5, secret_threshold: 3, ...data })
  const give = async (step: 'update' | 'verify', shares: readonly string[], nonce: unknown) => {
    let last = await fixture.call('update', `${prefix}/${step}`, { key: shares[0] ?? '', nonce: String(nonce) })
    for (const key of shares.slice(1)) {
      last = await fixture.call('update', `${prefix}/${step}`, { key, nonce: String(nonce) })
    }
    return last
  }
  return { ...fixture, keys, start, give }
}

/** Returns whether these shares unseal the cluster after a restart. */
const opensWith = async ({ store }: Pick<SealFixtureOptions, 'store'>, shares: readonly string[]) => {
  const restarted = await createSeal(store ? { store } : {})
  for (const key of shares) await restarted.call('update', 'unseal', { key })
  return !restarted.seal.isSealed
}

describe('rekeying', () => {
  test('the current shares create new ones, which are valid from the next unseal on, and the server stays unsealed', async () => {
    const fixture = await open()
    const rootKey = fixture.seal.rootKey
    const { body: begun } = await fixture.start()
    expect(begun).toMatchObject({ started: true, t: 3, n: 5, progress: 0, required: 2, pgp_fingerprints: null })
    const first = await fixture.give('update', fixture.keys.slice(0, 1), begun?.nonce)
    expect(first.body).toMatchObject({ started: true, progress: 1 })
    const { body: done } = await fixture.give('update', fixture.keys.slice(1, 2), begun?.nonce)
    expect(done).toMatchObject({ complete: true, nonce: begun?.nonce, keys: { length: 5 }, keys_base64: { length: 5 } })
    const shares = done?.keys as string[]
    expect(fixture.seal.isSealed).toBe(false)
    expect(await opensWith(fixture, fixture.keys)).toBe(false)
    expect(await opensWith(fixture, shares.slice(2))).toBe(true)
    expect((await fixture.keys) && (await fixture.seal.keys.findRootKey(shares.slice(0, 3).map(fromHex)))).toEqual(
      rootKey,
    )
    expect((await fixture.call('read', 'rekey/init')).body).toMatchObject({ started: false, nonce: '', required: 3 })
  })

  test('wrong shares at the threshold change nothing', async () => {
    const fixture = await open()
    const { body: begun } = await fixture.start()
    const bad = await fixture.give('update', [fixture.keys[0] ?? '', '22'.repeat(33)], begun?.nonce)
    expect(bad).toMatchObject({ code: 'invalid-request' })
    expect((await fixture.call('read', 'rekey/init')).body).toMatchObject({ started: true, progress: 0 })
    expect(await opensWith(fixture, fixture.keys.slice(0, 2))).toBe(true)
  })

  test('cancel ends the rekey attempt', async () => {
    const fixture = await open()
    await fixture.start()
    expect((await fixture.start()).message).toBe('rekey already in progress')
    expect((await fixture.call('delete', 'rekey/init')).status).toBe(204)
    expect((await fixture.start()).status).toBe(200)
  })

  test('a seal ends the rekey attempt', async () => {
    const fixture = await open()
    const { body } = await fixture.start()
    await fixture.give('update', fixture.keys.slice(0, 1), body?.nonce)
    await fixture.call('update', 'seal')
    for (const key of fixture.keys.slice(0, 2)) await fixture.call('update', 'unseal', { key })
    expect((await fixture.call('read', 'rekey/init')).body).toMatchObject({ started: false, progress: 0 })
  })

  test('invalid rekey requests are rejected', async () => {
    const { start, give, keys, call } = await open()
    expect((await give('update', keys.slice(0, 1), 'x')).message).toBe('no rekey in progress')
    expect((await call('read', 'rekey/verify')).message).toBe('no rekey configuration found')
    expect((await start({ secret_shares: 0, secret_threshold: 0 })).message).toMatch(/shares must be at least one$/)
    expect((await start({ secret_shares: 0 })).message).toBe('provided threshold greater than the total shares')
    expect((await start({ pgp_keys: ['x'] })).message).toBe('incorrect number of PGP keys for rekey')
    expect((await start({ backup: true })).message).toMatch(/without providing PGP keys/)
    const { body } = await start()
    expect((await give('update', keys.slice(0, 1), 'wrong')).message).toMatch(/^incorrect nonce supplied/)
    await give('update', keys.slice(0, 1), body?.nonce)
    expect((await give('update', keys.slice(0, 1), body?.nonce)).message).toMatch(/already been provided/)
  })

  test('a secondary rejects a rekey', async () => {
    expect(await (await open({ isShareOwner: false })).start()).toMatchObject({ code: 'invalid-request' })
  })
})

describe('with verification', () => {
  const pending = async () => {
    const fixture = await open()
    const { body: begun } = await fixture.start({ require_verification: true })
    const { body: done } = await fixture.give('update', fixture.keys.slice(0, 2), begun?.nonce)
    return { ...fixture, shares: done?.keys as string[], nonce: done?.verification_nonce }
  }

  test('the old shares stay valid until the new ones are verified', async () => {
    const { shares, nonce, give, call, ...fixture } = await pending()
    expect((await call('read', 'rekey/verify')).body).toMatchObject({ started: true, nonce, t: 3, n: 5, progress: 0 })
    expect(await opensWith(fixture, fixture.keys.slice(0, 2))).toBe(true)
    expect((await give('verify', shares.slice(0, 2), nonce)).body).toMatchObject({ progress: 2 })
    expect((await give('verify', shares.slice(2, 3), nonce)).body).toEqual({ complete: true, nonce })
    expect(await opensWith(fixture, shares.slice(0, 3))).toBe(true)
    expect(await opensWith(fixture, fixture.keys.slice(0, 2))).toBe(false)
  })

  test('wrong shares fail the verification, which can be restarted with a new nonce', async () => {
    const { shares, nonce, give, call, keys } = await pending()
    expect(await give('verify', [...keys.slice(0, 2), shares[0] ?? ''], nonce)).toMatchObject({
      code: 'invalid-request',
    })
    const { body: restarted } = await call('delete', 'rekey/verify')
    expect(restarted).toMatchObject({ started: true, progress: 0 })
    expect(restarted?.nonce).not.toBe(nonce)
    expect((await give('verify', shares.slice(0, 3), restarted?.nonce)).body).toMatchObject({ complete: true })
  })
})

test('the cluster can store the encrypted shares', async () => {
  const holder = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
  const pgpKey = Buffer.from(holder.publicKey.write()).toString('base64')
  const fixture = await open()
  expect(await fixture.call('read', 'rekey/backup')).toMatchObject({ code: 'invalid-request' })
  const { body: begun } = await fixture.start({
    secret_shares: 1,
    secret_threshold: 1,
    pgp_keys: [pgpKey],
    backup: true,
  })
  const { body: done } = await fixture.give('update', fixture.keys.slice(0, 2), begun?.nonce)
  const fingerprint = holder.publicKey.getFingerprint()
  expect(done).toMatchObject({ pgp_fingerprints: [fingerprint], backup: true })
  const { body: backup } = await fixture.call('read', 'rekey/backup')
  expect(backup).toMatchObject({ nonce: begun?.nonce, keys: { [fingerprint]: done?.keys } })
  expect((await fixture.call('delete', 'rekey/backup')).status).toBe(204)
  expect(await fixture.call('read', 'rekey/backup')).toMatchObject({ code: 'invalid-request' })
})

test('recovery keys are rekeyed at their own endpoints', async () => {
  const autoSeal = createStaticSeal({
    type: 'static',
    current: { id: 'a', key: Buffer.alloc(32, 7) },
    random: createSeededRandom('auto'),
  })
  const fixture = await open({ autoSeal })
  expect(await fixture.call('read', 'rekey/init')).toMatchObject({ code: 'invalid-request' })
  const { body: begun } = await fixture.start()
  const { body: done } = await fixture.give('update', fixture.keys.slice(0, 2), begun?.nonce)
  const shares = ((done?.keys ?? []) as string[]).slice(0, 3).map(fromHex)
  expect(await fixture.seal.keys.findRootKey(shares)).toEqual(fixture.seal.rootKey)
  expect(await (await createSeal({ autoSeal, store: fixture.store })).seal.autoUnseal()).toBe(true)

  const shamir = await open()
  expect((await shamir.call('read', 'rekey-recovery-key/init')).message).toBe('recovery rekeying not supported')
})

const fromHex = (text: string): Buffer => Buffer.from(text, 'hex')
