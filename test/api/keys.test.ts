import * as openpgp from 'openpgp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { as, dataOf, refusalOf, UNSUPPORTED_OPERATION } from '../support/wire.js'

/** New key shares with and without verification, root tokens for a PGP key, and new terms of the keyring. */
let server: ServerProcess
let root: ReturnType<typeof as>
let anyone: ReturnType<typeof as>
let keys: readonly string[] = []

beforeAll(async () => {
  server = await startServerProcess()
  anyone = as(server.address, '')
  const made = await anyone('PUT', 'sys/init', { secret_shares: 3, secret_threshold: 2 })
  keys = made.json?.keys ?? []
  root = as(server.address, String(made.json?.root_token))
  await unsealWith(keys.slice(0, 2))
})
afterAll(() => server?.[Symbol.asyncDispose]())

const unsealWith = async (shares: readonly string[]) => {
  const answers = []
  for (const key of shares) answers.push(await anyone('PUT', 'sys/unseal', { key }))
  return answers.at(-1)
}

/** Submits shares up to the last required one. Returns the last response. */
const update = async (path: string, shares: readonly string[], nonce: unknown) => {
  const answers = []
  for (const key of shares) answers.push(await anyone('PUT', path, { key, nonce }))
  return answers.at(-1)?.json
}

const reopenWith = async (shares: readonly string[]): Promise<unknown> => {
  expect((await root('PUT', 'sys/seal')).status).toBe(204)
  return (await unsealWith(shares))?.json?.sealed
}

describe('rekey', () => {
  it('rekey answers without an envelope, and starts only once', async () => {
    expect((await anyone('GET', 'sys/rekey/init')).json).toEqual({
      nonce: '',
      started: false,
      t: 0,
      n: 0,
      progress: 0,
      required: 2,
      pgp_fingerprints: null,
      backup: false,
      verification_required: false,
    })
    const started = await anyone('PUT', 'sys/rekey/init', { secret_shares: 5, secret_threshold: 3 })
    expect(started.json).toMatchObject({ started: true, t: 3, n: 5, progress: 0, required: 2 })
    expect(refusalOf(await anyone('PUT', 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 }))).toEqual([
      400,
      ['rekey already in progress'],
    ])
    expect((await anyone('DELETE', 'sys/rekey/init')).status).toBe(204)
    expect((await anyone('GET', 'sys/rekey/init')).json).toMatchObject({ started: false })
  })

  it('rekey gives new shares, which alone unseal the server, while requests continue', async () => {
    const { json } = await anyone('PUT', 'sys/rekey/init', { secret_shares: 5, secret_threshold: 3 })
    const done = await update('sys/rekey/update', keys.slice(0, 2), json?.nonce)
    expect(done).toMatchObject({ complete: true, nonce: json?.nonce })
    expect([done?.keys.length, done?.keys_base64.length]).toEqual([5, 5])
    expect((await root('GET', 'sys/mounts')).status).toBe(200)
    expect((await anyone('GET', 'sys/seal-status')).json).toMatchObject({ sealed: false, t: 3, n: 5 })
    const old = keys
    keys = done?.keys ?? []
    expect(await reopenWith(old)).not.toBe(false)
    await anyone('PUT', 'sys/unseal', { reset: true })
    expect((await unsealWith(keys.slice(1, 4)))?.json?.sealed).toBe(false)
  })

  it('rekey with verification takes effect after the client returns the new shares', async () => {
    const wish = { secret_shares: 2, secret_threshold: 2, require_verification: true }
    const { json } = await anyone('PUT', 'sys/rekey/init', wish)
    const made = await update('sys/rekey/update', keys.slice(0, 3), json?.nonce)
    expect(made).toMatchObject({ complete: true, verification_required: true, verification_nonce: expect.any(String) })
    const fresh = made?.keys ?? []
    expect((await anyone('GET', 'sys/rekey/verify')).json).toMatchObject({ started: true, t: 2, n: 2, progress: 0 })
    expect((await anyone('DELETE', 'sys/rekey/verify')).status).toBe(200)
    const { json: again } = await anyone('GET', 'sys/rekey/verify')
    expect(again?.nonce).not.toBe(made?.verification_nonce)
    expect((await anyone('PUT', 'sys/rekey/verify', { key: fresh[0], nonce: 'x' })).status).toBe(400)
    expect((await anyone('GET', 'sys/seal-status')).json).toMatchObject({ t: 3, n: 5 })
    expect(await update('sys/rekey/verify', fresh, again?.nonce)).toMatchObject({ complete: true })
    expect((await anyone('GET', 'sys/seal-status')).json).toMatchObject({ t: 2, n: 2 })
    keys = fresh
    expect(await reopenWith(keys)).toBe(false)
  })

  it.each([
    ['PUT', 'update', { key: 'ab'.repeat(33), nonce: 'x' }, 'no rekey in progress'],
    ['PUT', 'update', {}, "'key' must be specified in request body as JSON"],
    ['GET', 'verify', undefined, 'no rekey configuration found'],
    ['PUT', 'verify', { key: 'ab'.repeat(33), nonce: 'x' }, 'no rekey verification in progress'],
    ['PUT', 'init', { secret_shares: 1, secret_threshold: 2 }, 'provided threshold greater than the total shares'],
    ['PUT', 'init', { secret_shares: 2, secret_threshold: 2, pgp_keys: ['x'] }, expect.any(String)],
    ['GET', 'backup', undefined, expect.any(String)],
  ])('%s sys/rekey/%s with %j fails', async (method, path, body, text) => {
    expect(refusalOf(await anyone(method, `sys/rekey/${path}`, body))).toEqual([400, [text]])
  })

  it('rekey rejects wrong shares at the threshold and a wrong nonce, and keeps the attempt open', async () => {
    const { json } = await anyone('PUT', 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 })
    expect((await anyone('PUT', 'sys/rekey/update', { key: keys[0], nonce: 'x' })).text).toContain('incorrect nonce')
    const [first = ''] = keys
    const wrong = `${first.startsWith('0') ? '1' : '0'}${first.slice(1)}`
    await anyone('PUT', 'sys/rekey/update', { key: wrong, nonce: json?.nonce })
    expect((await anyone('PUT', 'sys/rekey/update', { key: keys[1], nonce: json?.nonce })).status).toBe(400)
    await anyone('DELETE', 'sys/rekey/init')
    expect((await anyone('GET', 'sys/seal-status')).json).toMatchObject({ t: 2, n: 2, sealed: false })
  })
})

describe('PGP', () => {
  const newHolder = () => openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
  type Holder = Awaited<ReturnType<typeof newHolder>>
  const publicKeyOf = ({ publicKey }: Holder) => Buffer.from(publicKey.write()).toString('base64')
  const decrypt = async ({ privateKey }: Holder, base64: unknown): Promise<string> => {
    const message = await openpgp.readMessage({ binaryMessage: Buffer.from(String(base64), 'base64') })
    return String((await openpgp.decrypt({ message, decryptionKeys: privateKey })).data)
  }

  it('a root token is encrypted for the holder of a PGP key', async () => {
    const holder = await newHolder()
    const attempt = await anyone('PUT', 'sys/generate-root/attempt', { pgp_key: publicKeyOf(holder) })
    const fingerprint = holder.publicKey.getFingerprint()
    expect(attempt.json).toMatchObject({ started: true, otp: '', pgp_fingerprint: fingerprint })
    const done = await update('sys/generate-root/update', keys, attempt.json?.nonce)
    expect(done).toMatchObject({ complete: true, pgp_fingerprint: fingerprint })
    const token = await decrypt(holder, done?.encoded_token)
    expect(dataOf(await as(server.address, token)('GET', 'auth/token/lookup-self')).policies).toEqual(['root'])
  })

  it('new shares are encrypted individually, and stored as a backup on request', async () => {
    const holders = [await newHolder(), await newHolder()]
    const wish = { secret_shares: 2, secret_threshold: 2, pgp_keys: holders.map(publicKeyOf), backup: true }
    const { json } = await anyone('PUT', 'sys/rekey/init', wish)
    const done = await update('sys/rekey/update', keys, json?.nonce)
    const fingerprints = holders.map(({ publicKey }) => publicKey.getFingerprint())
    expect(done).toMatchObject({ complete: true, backup: true, pgp_fingerprints: fingerprints })
    const shares = await Promise.all(holders.map((holder, index) => decrypt(holder, done?.keys_base64[index])))
    expect(shares.map((share) => share.length)).toEqual([66, 66])
    const backup = await root('GET', 'sys/rekey/backup')
    expect(Object.keys((backup.json?.data ?? backup.json)?.keys ?? {})).toEqual(fingerprints)
    expect((await root('DELETE', 'sys/rekey/backup')).status).toBe(204)
    keys = shares
    expect(await reopenWith(keys)).toBe(false)
  })
})

describe('the keyring', () => {
  it('rotate gives the keyring a new term and keeps older data readable', async () => {
    await root('POST', 'sys/mounts/kv', { type: 'kv' })
    await root('PUT', 'kv/a', { word: 'old' })
    const before = dataOf(await root('GET', 'sys/key-status'))
    expect((await root('PUT', 'sys/rotate')).status).toBe(204)
    await root('PUT', 'kv/b', { word: 'new' })
    const after = await root('GET', 'sys/key-status')
    expect(dataOf(after).term).toBe(Number(before.term) + 1)
    expect(after.json).toMatchObject({ term: dataOf(after).term, install_time: expect.any(String) })
    expect(await reopenWith(keys)).toBe(false)
    expect(dataOf(await root('GET', 'kv/a'))).toEqual({ word: 'old' })
    expect(dataOf(await root('GET', 'kv/b'))).toEqual({ word: 'new' })
    expect(refusalOf(await root('GET', 'sys/rotate'))).toEqual([405, [UNSUPPORTED_OPERATION]])
  })
})
