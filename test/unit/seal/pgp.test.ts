import * as openpgp from 'openpgp'
import { expect, test } from 'vitest'
import { parsePgpKey } from '../../../src/seal/pgp.js'

const makeKey = async () => {
  const { privateKey, publicKey } = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
  return { privateKey, publicKey, base64: Buffer.from(publicKey.write()).toString('base64') }
}

test('the holder of a PGP key can decrypt its secret, for every form of the key', async () => {
  const { privateKey, publicKey, base64 } = await makeKey()
  for (const text of [base64, publicKey.armor()]) {
    const parsed = await parsePgpKey(text)
    if (!parsed.ok) throw new Error(parsed.problem)
    expect(parsed.key.fingerprint).toBe(publicKey.getFingerprint())
    const message = await openpgp.readMessage({
      binaryMessage: new Uint8Array(await parsed.key.encrypt(Buffer.from('s'))),
    })
    const { data } = await openpgp.decrypt({ message, decryptionKeys: privateKey })
    expect(data).toBe('s')
  }
})

test('an invalid PGP key is rejected before a secret is created', async () => {
  expect(await parsePgpKey('bm8=')).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^error parsing PGP key/),
  })
  expect(await parsePgpKey('')).toMatchObject({ ok: false })
})
