import * as openpgp from 'openpgp'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { decodeWithOtp } from '../../../src/base/one-time-pad.js'
import { createSeal, initWith } from '../../support/seal-fixture.js'

const open = async () => {
  const fixture = await createSeal()
  const { keys, keys64 } = await initWith(fixture, { secret_shares: 3, secret_threshold: 2 })
  for (const key of keys.slice(0, 2)) await fixture.call('update', 'unseal', { key })
  const start = async (data: JsonObject = {}) => fixture.call('update', 'generate-root/attempt', data)
  const status = async () => (await fixture.call('read', 'generate-root/attempt')).body
  const update = async (key: string | undefined, nonce: unknown) =>
    fixture.call('update', 'generate-root/update', { key: key ?? '', nonce: String(nonce) })
  return { ...fixture, keys, keys64, start, status, update }
}

const NONE = {
  nonce: '',
  started: false,
  progress: 0,
  required: 2,
  complete: false,
  encoded_token: '',
  encoded_root_token: '',
  pgp_fingerprint: '',
  otp: '',
  otp_length: 28,
}

test('the newer path of generate-root uses the same attempt', async () => {
  const { call, keys, start, status, update } = await open()
  const { body } = await start()
  expect((await call('read', 'generate-root-token/attempt')).body).toEqual(await status())
  await update(keys[0], body?.nonce)
  const last = await call('update', 'generate-root-token/update', { key: keys[1] ?? '', nonce: String(body?.nonce) })
  expect(last.body).toMatchObject({ complete: true })
  await start()
  expect((await call('delete', 'generate-root-token/attempt')).body).toBeUndefined()
  expect(await status()).toEqual(NONE)
})

describe('starting', () => {
  test('the status without an attempt shows the OTP length', async () => {
    expect(await (await open()).status()).toEqual(NONE)
  })

  test('a generated OTP is shown only in the first response', async () => {
    const { start, status } = await open()
    const { body } = await start()
    expect(body).toMatchObject({ started: true, otp: expect.stringMatching(/^[0-9A-Za-z]{28}$/), otp_length: 28 })
    expect(await status()).toEqual({ ...NONE, started: true, nonce: body?.nonce })
  })

  test('an OTP of the caller is never returned', async () => {
    const { start } = await open()
    expect((await start({ otp: 'a'.repeat(28), pgp_key: '' })).body).toMatchObject({ started: true, otp: '' })
  })

  test('an OTP of the wrong length is rejected, with and without an attempt', async () => {
    const { start } = await open()
    expect((await start({ otp: 'short' })).message).toBe('OTP string has incorrect length')
    await start()
    expect((await start({ otp: 'short' })).message).toBe('OTP string has incorrect length')
    expect((await start()).message).toBe('root generation already in progress')
  })

  test('OTP and PGP key exclude each other, and an invalid key is rejected', async () => {
    const { start } = await open()
    expect(await start({ otp: 'a'.repeat(28), pgp_key: 'x' })).toMatchObject({ code: 'invalid-request' })
    expect((await start({ pgp_key: 'bm8=' })).message).toMatch(/^error parsing PGP key/)
  })

  test('cancel succeeds with and without an attempt, and discards the shares', async () => {
    const { call, start, update, keys, status } = await open()
    const { body } = await start()
    await update(keys[0], body?.nonce)
    expect((await call('delete', 'generate-root/attempt')).status).toBe(204)
    expect((await call('delete', 'generate-root/attempt')).status).toBe(204)
    expect(await status()).toEqual(NONE)
  })
})

describe('giving shares', () => {
  test('the share at the threshold completes the attempt, and the OTP decodes the token', async () => {
    const { start, update, status, keys, keys64 } = await open()
    const { body: begun } = await start()
    const first = await update(keys[0], begun?.nonce)
    expect(first.body).toEqual({ ...NONE, started: true, nonce: begun?.nonce, progress: 1, otp_length: 0 })
    const { body: done } = await update(keys64[2], begun?.nonce)
    expect(done).toMatchObject({ complete: true, progress: 2, started: true, otp: '', otp_length: 0 })
    expect(done?.encoded_root_token).toBe(done?.encoded_token)
    expect(decodeWithOtp(String(done?.encoded_token), String(begun?.otp))).toBe(`hvs.${'0'.repeat(23)}1`)
    expect(await status()).toEqual(NONE)
  })

  test('generate-root errors have the documented texts', async () => {
    const { call, start, update, keys } = await open()
    expect((await update(keys[0], 'x')).message).toBe('no root generation in progress')
    const nonce = (await start()).body?.nonce
    expect((await update('', nonce)).message).toBe("'key' must be specified in request body as JSON")
    expect((await call('read', 'generate-root/update')).message).toBe("'key' must be specified in request body as JSON")
    expect((await update('zz!', nonce)).message).toBe("'key' must be a valid hex or base64 string")
    expect((await update(keys[0], 'wrong')).message).toBe(
      `incorrect nonce supplied; nonce for this root generation operation is "${nonce}"`,
    )
    await update(keys[0], nonce)
    expect((await update(keys[0], nonce)).message).toBe(
      'given key has already been provided during this generation operation',
    )
  })

  test('wrong shares at the threshold reset the progress and keep the attempt', async () => {
    const { start, update, status, keys } = await open()
    const { body: begun } = await start()
    await update(keys[0], begun?.nonce)
    expect((await update('11'.repeat(33), begun?.nonce)).message).toMatch(/^root generation aborted/)
    expect(await status()).toMatchObject({ started: true, nonce: begun?.nonce, progress: 0 })
    await update(keys[0], begun?.nonce)
    expect((await update(keys[1], begun?.nonce)).body).toMatchObject({ complete: true })
  })

  test('a PGP key encrypts the token, and the response shows its fingerprint', async () => {
    const holder = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
    const { start, update, keys } = await open()
    const { body: begun } = await start({ pgp_key: Buffer.from(holder.publicKey.write()).toString('base64') })
    expect(begun).toMatchObject({ pgp_fingerprint: holder.publicKey.getFingerprint(), otp: '' })
    await update(keys[0], begun?.nonce)
    const { body: done } = await update(keys[1], begun?.nonce)
    const binaryMessage = new Uint8Array(Buffer.from(String(done?.encoded_token), 'base64'))
    const message = await openpgp.readMessage({ binaryMessage })
    expect((await openpgp.decrypt({ message, decryptionKeys: holder.privateKey })).data).toMatch(/^hvs\./)
  })
})

test('a DR operation token uses the same state machine, with an empty encoded_root_token', async () => {
  const { drAttempt, start, status, keys } = await open()
  const begun = await drAttempt.start({ otp: '', pgpKey: '' })
  expect((await start()).message).toBe('root generation already in progress')
  expect(await status()).toEqual(NONE)
  const nonce = String(begun.nonce)
  await drAttempt.update({ key: keys[0] ?? '', nonce })
  const done = await drAttempt.update({ key: keys[1] ?? '', nonce })
  expect(done).toMatchObject({ complete: true, encoded_root_token: '' })
  expect(decodeWithOtp(String(done.encoded_token), String(begun.otp))).toHaveLength(28)
})

test('an attempt of one kind rejects shares sent to the other kind', async () => {
  const { drAttempt, update, keys } = await open()
  const begun = await drAttempt.start({ otp: '', pgpKey: '' })
  expect((await update(keys[0], begun.nonce)).message).toMatch(/^incorrect strategy supplied/)
})

test('an attempt that is canceled during its last share creates no token', async () => {
  const { call, start, update, keys } = await open()
  const { body } = await start()
  await update(keys[0], body?.nonce)
  const [last] = await Promise.all([update(keys[1], body?.nonce), call('delete', 'generate-root/attempt')])
  expect(last.message).toBe('no root generation in progress')
})

test('an attempt ends when the server is sealed', async () => {
  const { call, start, update, status, keys } = await open()
  const { body } = await start()
  await update(keys[0], body?.nonce)
  await call('update', 'seal')
  for (const key of keys.slice(0, 2)) await call('update', 'unseal', { key })
  expect(await status()).toEqual(NONE)
  expect((await update(keys[0], body?.nonce)).message).toBe('no root generation in progress')
})

test('a sealed or uninitialized server generates no tokens', async () => {
  const { call } = await open()
  await call('update', 'seal')
  expect(await call('read', 'generate-root/attempt')).toEqual({ code: 'sealed', message: 'Vault is sealed' })
  expect((await (await createSeal()).call('read', 'generate-root/attempt')).message).toBe(
    'server is not yet initialized',
  )
})
