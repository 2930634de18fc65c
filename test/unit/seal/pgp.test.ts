import * as openpgp from 'openpgp'
import { expect, test } from 'vitest'
import { parsePgpKey, parsePgpKeys } from '../../../src/seal/pgp.js'

const makeKey = async () => {
  const { privateKey, publicKey } = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
  return { privateKey, publicKey, base64: Buffer.from(publicKey.write()).toString('base64') }
}

test('a secret encrypted for a key is readable to its holder, whichever form the key came in', async () => {
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

test('what is no key is refused before anything is made for it', async () => {
  const { base64 } = await makeKey()
  expect(await parsePgpKey('bm8=')).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^error parsing PGP key/),
  })
  expect(await parsePgpKeys([base64, ''])).toMatchObject({ ok: false })
})
