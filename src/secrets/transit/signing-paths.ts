/** The paths sign, verify and hmac, which never write to storage. */
import type { Random } from '../../base/random.js'
import type { HashName } from '../../crypto/digest.js'
import { type Call, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, int, string } from '../../logical/fields.js'
import {
  answerItems,
  BATCH_FIELDS,
  decodeBase64,
  decodeContext,
  type Input,
  type Item,
  readInput,
  runItems,
} from './batch.js'
import { DEFAULT_HASH, findHash, isHmac, isSigned, makeHmac, schemeOf, signItem } from './signing.js'
import type { KeyRecord } from './key-record.js'
import type { KeyStore } from './key-store.js'

const COMMON = {
  name: string('Name of the key.'),
  input: string('Input in base64.'),
  urlalgorithm: string('Hash algorithm, as the last part of the path.'),
  algorithm: string('Hash algorithm.', DEFAULT_HASH),
  batch_input: BATCH_FIELDS.batch_input,
} as const

const VERSION = { key_version: int('Key version to use; 0 means the latest.') } as const

const SIGNING = {
  ...COMMON,
  hash_algorithm: string('Hash algorithm. Ed25519 keys use their own.', DEFAULT_HASH),
  context: string('Context of a derived key, in base64.'),
  prehashed: bool('Whether the input is already a hash. Not for Ed25519 keys.'),
  signature_algorithm: string('Signature algorithm of RSA keys: pss or pkcs1v15.'),
  marshaling_algorithm: string('Encoding of ECDSA signatures: asn1, or jws (base64url).', 'asn1'),
  salt_length: string('Salt length of RSA keys with pss: auto, hash, or a number of bytes.', 'auto'),
} as const

const SIGN_FIELDS = { ...SIGNING, ...VERSION } as const
const HMAC_FIELDS = { ...COMMON, ...VERSION } as const
const VERIFY_FIELDS = {
  ...SIGNING,
  signature: string('The signature that sign returned.'),
  hmac: string('The HMAC that hmac returned.'),
} as const

type SigningCall = Call<typeof SIGNING>

/**
 * Returns the name of the hash algorithm: from the path, otherwise from `hash_algorithm`, otherwise from the older
 * `algorithm`.
 */
const hashNameOf = ({ values, supplied }: Pick<SigningCall, 'values' | 'supplied'>): string => {
  if (values.urlalgorithm !== '') return values.urlalgorithm
  return supplied('hash_algorithm') || !supplied('algorithm') ? values.hash_algorithm : values.algorithm
}

const optionsOf = (call: Pick<SigningCall, 'values' | 'supplied'>, random: Random) => ({
  hash: hashNameOf(call),
  prehashed: call.values.prehashed,
  signatureAlgorithm: call.values.signature_algorithm,
  marshaling: call.values.marshaling_algorithm,
  saltLength: call.values.salt_length,
  random,
})

const digestOf = (name: string): HashName => {
  const hash = findHash(name)
  if (!hash) throw invalid(`unsupported algorithm "${name}"`)
  return hash
}

const inputOf = (item: Item, missing: string): Buffer => {
  const text = item.text('input')
  if (text === undefined) throw invalid(missing)
  return decodeBase64(text, 'unable to decode input as base64: ')
}

export const signingPaths = (keys: KeyStore): PathSpec[] => [
  ...definePaths(['sign/:name', 'sign/:name/:urlalgorithm'], SIGN_FIELDS, 'Sign one input or a batch.', {
    update: async (call) => {
      const record = keys.require(call.values.name, 'signing key not found')
      const scheme = await schemeOf(record, optionsOf(call, keys.context.random), 'signing')
      const input = readInput(call)
      const outcomes = await runItems(input, 'slow', (item) => {
        const { signature, version, publicKey } = signItem(
          record,
          scheme,
          signedOf(item, input),
          call.values.key_version,
        )
        const shownAs = input.isBatch ? 'publickey' : 'public_key'
        return { signature, key_version: version, ...(publicKey === undefined ? {} : { [shownAs]: publicKey }) }
      })
      return answerItems(input, outcomes, { key_version: 0 })
    },
  }),
  ...definePaths(
    ['verify/:name', 'verify/:name/:urlalgorithm'],
    VERIFY_FIELDS,
    'Verify one signature or HMAC, or a batch.',
    {
      update: async (call) => {
        const input = readInput(call)
        if (decideKind(input) === 'hmac') {
          const isValid = hmacVerifier(keys.require(call.values.name), call, input)
          // A batch omits `valid` for an HMAC that is not valid.
          const result = (valid: boolean) => (valid || !input.isBatch ? { valid } : {})
          return answerItems(input, await runItems(input, 'quick', (item) => result(isValid(item))))
        }
        const record = keys.require(call.values.name, 'signature verification key not found')
        const scheme = await schemeOf(record, optionsOf(call, keys.context.random), 'verification')
        const outcomes = await runItems(input, 'slow', (item) => ({
          valid: isSigned(record, scheme, signedOf(item, input), item.text('signature') ?? ''),
        }))
        return answerItems(input, outcomes, { valid: false })
      },
    },
  ),
  ...definePaths(['hmac/:name', 'hmac/:name/:urlalgorithm'], HMAC_FIELDS, 'Compute the HMAC of one input or a batch.', {
    update: async (call) => {
      const { name, urlalgorithm, algorithm } = call.values
      const hash = digestOf(urlalgorithm || algorithm)
      const record = keys.require(name)
      const input = readInput(call)
      const outcomes = await runItems(input, 'quick', (item) => ({
        hmac: makeHmac(record, hash, inputOf(item, 'missing input for HMAC'), call.values.key_version),
      }))
      return answerItems(input, outcomes)
    },
  }),
]

type VerifyCall = Pick<Call<typeof VERIFY_FIELDS>, 'values' | 'supplied'>

/** Returns the input of an item. Without a batch, a missing input is empty. */
const inputOrEmpty = (item: Item, { isBatch }: Input): Buffer =>
  isBatch || item.text('input') !== undefined ? inputOf(item, 'missing input') : Buffer.alloc(0)

const signedOf = (item: Item, input: Input) => ({
  input: inputOrEmpty(item, input),
  context: decodeContext(item.text('context') ?? ''),
})

const hmacVerifier = (record: KeyRecord, { values, supplied }: VerifyCall, input: Input): ((item: Item) => boolean) => {
  const { urlalgorithm, algorithm, hash_algorithm } = values
  const hash = digestOf(
    urlalgorithm || (supplied('algorithm') || !supplied('hash_algorithm') ? algorithm : hash_algorithm),
  )
  return (item) => isHmac(record, hash, inputOrEmpty(item, input), item.text('hmac') ?? '')
}

/**
 * Returns whether the items contain signatures or HMACs. A signature has precedence in an item with both. Throws
 * LogicalError 400 if some items contain signatures and others HMACs, or if an item contains neither.
 */
const decideKind = ({ isBatch, items }: Input): 'signature' | 'hmac' => {
  const kinds = new Set(items.map(kindOf))
  if (!isBatch && kinds.has(undefined)) throw invalid("neither a 'signature' nor an 'hmac' were given to verify")
  if (kinds.has('signature') && kinds.has('hmac')) {
    throw invalid("elements of batch_input must all provide 'signature' or all provide 'hmac'")
  }
  const [kind] = [...kinds].filter((each) => each !== undefined)
  if (!kind) throw invalid("no batch_input elements have 'signature' or 'hmac'")
  if (kinds.has(undefined)) throw invalid(`some elements of batch_input are missing '${kind}'`)
  return kind
}

const kindOf = (item: Item): 'signature' | 'hmac' | undefined => {
  if (item.text('signature') !== undefined) return 'signature'
  return item.text('hmac') === undefined ? undefined : 'hmac'
}
