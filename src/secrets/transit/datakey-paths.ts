import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { readInput } from './batch.js'
import { encrypt } from './encryption.js'
import { refuseNonce } from './encryption-paths.js'
import type { KeyStore } from './key-store.js'

const FIELDS = {
  plaintext: string('`plaintext` shows the new key, `wrapped` shows it only encrypted.'),
  name: string('Name of the key that encrypts the new one.'),
  context: string('Base64: what a derived key is derived for.'),
  nonce: string('Refused: nonces are made by the server.'),
  bits: int('Size of the new key: 128, 256 or 512.', 256),
  key_version: int('The version to encrypt with; 0 is the latest.'),
} as const

const SIZES: ReadonlySet<number> = new Set([128, 256, 512])

/** Creates datakey: a random key for the client's own use, with its ciphertext to store next to the encrypted data. */
export const datakeyPath = (keys: KeyStore): PathSpec => {
  const { random } = keys.context
  const make = (call: Call<typeof FIELDS>): Response => {
    const { plaintext, name, bits, key_version } = call.values
    if (plaintext !== 'plaintext' && plaintext !== 'wrapped') {
      throw invalid("Invalid path, must be 'plaintext' or 'wrapped'")
    }
    if (!SIZES.has(bits)) throw invalid('invalid bit length')
    const record = keys.require(name)
    const [item] = readInput(call).items
    if (!item) throw new Error('a request without batch has one item')
    refuseNonce(item)
    const key = random.bytes(bits / 8)
    const done = encrypt(record, key, key_version, { context: item.bytes('context'), associated: NONE, random })
    return {
      data: {
        ciphertext: done.ciphertext,
        key_version: done.version,
        ...(plaintext === 'plaintext' ? { plaintext: key.toString('base64') } : {}),
      },
    }
  }
  return definePath({
    pattern: 'datakey/:plaintext/:name',
    fields: FIELDS,
    operations: { update: make },
    summary: 'Makes a key of random bytes and encrypts it.',
  })
}

const NONE = Buffer.alloc(0)
