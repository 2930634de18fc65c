/** The paths encrypt, decrypt, rewrap and datakey. Only an encryption that creates its key writes to storage. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { answerAllOrPart, answerItems, BATCH_FIELDS, decodeContext, type Item, readInput, runItems } from './batch.js'
import { decrypt, encrypt } from './encryption.js'
import { type KeyRecord, typeOf } from './key-record.js'
import type { KeyStore } from './key-store.js'
import { isUpsertDisabled } from './mount-config-paths.js'
import { DEFAULT_KEY_TYPE, parseKeyType } from './key-types.js'

const COMMON = {
  name: string('Name of the key.'),
  context: string('Context of a derived key, in base64.'),
  nonce: string('Rejected: the server generates all nonces.'),
  associated_data: string('Associated data in base64: authenticated, but not encrypted.'),
  ...BATCH_FIELDS,
} as const

const VERSION = { key_version: int('Key version that encrypts; 0 means the latest.') } as const

const PADDING = { padding_scheme: string('Padding of RSA keys. Only oaep is supported.', 'oaep') } as const

const ENCRYPT_FIELDS = {
  ...COMMON,
  ...VERSION,
  ...PADDING,
  plaintext: string('Plaintext in base64.', '', { isSecret: true }),
  type: string('Type of the key, if the request creates it.', DEFAULT_KEY_TYPE),
  convergent_encryption: bool('Whether the key is convergent, if the request creates it.'),
} as const

const DECRYPT_FIELDS = { ...COMMON, ...PADDING, ciphertext: string('The ciphertext that encrypt returned.') } as const

const REWRAP_FIELDS = { ...DECRYPT_FIELDS, ...VERSION } as const

type EncryptCall = Call<typeof ENCRYPT_FIELDS>

const refuseNonce = (item: Item): void => {
  if (item.text('nonce')) throw nonceNotAllowed()
}

const nonceNotAllowed = () => invalid('provided nonce not allowed for this key')

/** Throws LogicalError 400 for associated data with a key that cannot authenticate it. */
const cipherInputsOf = (item: Item, record: KeyRecord) => {
  const associated = item.bytes('associated_data')
  if (associated.length > 0 && typeOf(record).form === 'pair') {
    throw invalid(`'[${item.index}].associated_data' provided for non-AEAD cipher suite ${record.type}`)
  }
  return { context: item.bytes('context'), associated }
}

const paceOf = (record: KeyRecord) => (typeOf(record).form === 'pair' ? 'slow' : 'quick')

const checkPadding = (scheme: string): void => {
  if (scheme !== '' && scheme !== 'oaep') throw invalid(`padding_scheme ${scheme} is not supported: use oaep`)
}

export const encryptionPaths = (keys: KeyStore): PathSpec[] => {
  const { random } = keys.context

  /**
   * Creates the key for its first encryption. The key is derived if the request has a context. Requires the capability
   * `create`. Rejects with LogicalError 400 without it, and for invalid settings.
   */
  const make = async ({ request, values }: EncryptCall, items: readonly Item[]): Promise<KeyRecord> => {
    if (request.operation !== 'create') throw invalid('encryption key not found')
    const derived = hasContext(items[0])
    const convergent = values.convergent_encryption
    if (convergent && !derived) {
      throw invalid('convergent encryption requires derivation to be enabled, so context is required')
    }
    const type = parseKeyType(values.type)
    if (type.name.startsWith('ecdsa-')) throw invalid(`key type ${type.name} not supported for this operation`)
    if (type.form === 'pair') throw invalid(`unknown key type ${type.name}`)
    if (isUpsertDisabled(keys.context)) throw invalid('encryption key not found')
    const settings = { derived, convergent, exportable: false, allowPlaintextBackup: false, autoRotatePeriodSeconds: 0 }
    return keys.create(values.name, type, settings)
  }

  const encryptAll = async (call: EncryptCall): Promise<Response> => {
    const input = readInput(call, 'plaintext')
    checkPadding(call.values.padding_scheme)
    checkContexts(input.items)
    const record = keys.find(call.values.name) ?? (await make(call, input.items))
    const outcomes = await runItems(input, paceOf(record), (item) => {
      refuseNonce(item)
      const plain = item.bytes('plaintext')
      return encrypt(record, plain, item.number('key_version'), { ...cipherInputsOf(item, record), random })
    })
    return answerAllOrPart(call, input, outcomes)
  }

  return [
    definePath(
      'encrypt/:name',
      ENCRYPT_FIELDS,
      'Encrypt one plaintext or a batch. With the create capability, creates a missing key.',
      { create: encryptAll, update: encryptAll, exists: ({ values }) => keys.has(values.name) },
    ),
    definePath('decrypt/:name', DECRYPT_FIELDS, 'Decrypt one ciphertext or a batch.', {
      update: async (call) => {
        const input = readInput(call, 'ciphertext')
        checkPadding(call.values.padding_scheme)
        checkContexts(input.items)
        const record = keys.require(call.values.name)
        const outcomes = await runItems(input, paceOf(record), (item) => ({
          plaintext: decrypt(record, ciphertextOf(item), cipherInputsOf(item, record)).toString('base64'),
        }))
        return answerAllOrPart(call, input, outcomes, { plaintext: '' })
      },
    }),
    definePath(
      'rewrap/:name',
      REWRAP_FIELDS,
      'Encrypt ciphertexts again with the latest version of the key, without revealing the plaintext.',
      {
        update: async (call) => {
          const input = readInput(call)
          checkPadding(call.values.padding_scheme)
          checkContexts(input.items)
          const record = keys.require(call.values.name)
          const outcomes = await runItems(input, paceOf(record), (item) => {
            refuseNonce(item)
            const inputs = cipherInputsOf(item, record)
            const plain = decrypt(record, ciphertextOf(item), inputs)
            return encrypt(record, plain, item.number('key_version'), { ...inputs, random })
          })
          return answerItems(input, outcomes)
        },
      },
    ),
  ]
}

const ciphertextOf = (item: Item): string => {
  const ciphertext = item.text('ciphertext') ?? ''
  if (ciphertext === '') throw invalid('missing ciphertext to decrypt')
  return ciphertext
}

const hasContext = (item: Item | undefined): boolean => (item?.text('context') ?? '') !== ''

const checkContexts = (items: readonly Item[]): void => {
  if (items.some((item) => hasContext(item) !== hasContext(items[0]))) {
    throw invalid('context should be set either in all the request blocks or in none')
  }
}

const FIELDS = {
  plaintext: string('`plaintext` returns the new key, `wrapped` only its ciphertext.'),
  name: string('Name of the key that encrypts the new key.'),
  context: string('Context of a derived key, in base64.'),
  nonce: string('Rejected: the server generates all nonces.'),
  bits: int('Size of the new key in bits: 128, 256 or 512.', 256),
  key_version: int('Key version that encrypts; 0 means the latest.'),
} as const

const SIZES: ReadonlySet<number> = new Set([128, 256, 512])

/**
 * Creates the path datakey, which returns a random key for the client's own use and the ciphertext of this key. The
 * client stores the ciphertext next to the data that it encrypts.
 */
export const datakeyPath = (keys: KeyStore): PathSpec =>
  definePath('datakey/:plaintext/:name', FIELDS, 'Generate a random key and encrypt it.', {
    update: (call) => {
      const { plaintext, name, context, nonce, bits, key_version } = call.values
      if (plaintext !== 'plaintext' && plaintext !== 'wrapped') {
        throw invalid("Invalid path, must be 'plaintext' or 'wrapped'")
      }
      if (!SIZES.has(bits)) throw invalid('invalid bit length')
      const record = keys.require(name)
      if (nonce !== '') throw nonceNotAllowed()
      const { random } = keys.context
      const key = random.bytes(bits / 8)
      const done = encrypt(record, key, key_version, { context: decodeContext(context), associated: NONE, random })
      return { data: { ...done, ...(plaintext === 'plaintext' ? { plaintext: key.toString('base64') } : {}) } }
    },
  })

const NONE = Buffer.alloc(0)
