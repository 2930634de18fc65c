/** The paths sign, verify and hmac, which never write to storage. */
import type { Random } from '../../base/random.js'
import type { HashName } from '../../crypto/digest.js'
import { type Call, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { bool, int, string } from '../../logical/fields.js'
import { answerItems, BATCH_FIELDS, type Item, readInput, runItems } from './batch.js'
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
  const hash = findHash(name, 'digest')
  if (!hash) throw invalid(`unsupported algorithm "${name}"`)
  return hash
}

const inputOf = (item: Item, missing: string): Buffer => {
  if (item.text('input') === undefined) throw invalid(missing)
  try {
    return item.bytes('input')
  } catch (error) {
    if (!(error instanceof LogicalError)) throw error
    throw invalid(`unable to decode input as base64: ${error.message}`)
  }
}

export const signingPaths = (keys: KeyStore): PathSpec[] => [
  ...definePaths(['sign/:name', 'sign/:name/:urlalgorithm'], SIGN_FIELDS, 'Sign one input or a batch.', {
    update: async (call) => {
      const record = keys.require(call.values.name, 'signing key not found')
      const scheme = await schemeOf(record, optionsOf(call, keys.context.random), 'signing')
      const input = readInput(call)
      const outcomes = await runItems(input, 'slow', (item) => {
        const { signature, version, publicKey } = signItem(record, scheme, signedOf(item), item.number('key_version'))
        const shownAs = input.isBatch ? 'publickey' : 'public_key'
        return { signature, key_version: version, ...(publicKey === undefined ? {} : { [shownAs]: publicKey }) }
      })
      return answerItems(input, outcomes)
    },
  }),
  ...definePaths(
    ['verify/:name', 'verify/:name/:urlalgorithm'],
    VERIFY_FIELDS,
    'Verify one signature or HMAC, or a batch.',
    {
      update: async (call) => {
        const input = readInput(call)
        const kind = decideKind(input.items)
        const record = keys.require(call.values.name, 'signature verification key not found')
        const isValid =
          kind === 'hmac' ? hmacVerifier(record, call) : await signatureVerifier(record, call, keys.context.random)
        const outcomes = await runItems(input, kind === 'hmac' ? 'quick' : 'slow', (item) => ({ valid: isValid(item) }))
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
        hmac: makeHmac(record, hash, inputOf(item, 'missing input for HMAC'), item.number('key_version')),
      }))
      return answerItems(input, outcomes)
    },
  }),
]

type VerifyCall = Pick<Call<typeof VERIFY_FIELDS>, 'values' | 'supplied'>

const signedOf = (item: Item) => ({ input: inputOf(item, 'missing input'), context: item.bytes('context') })

const hmacVerifier = (record: KeyRecord, { values, supplied }: VerifyCall): ((item: Item) => boolean) => {
  const { urlalgorithm, algorithm, hash_algorithm } = values
  const hash = digestOf(
    urlalgorithm || (supplied('algorithm') || !supplied('hash_algorithm') ? algorithm : hash_algorithm),
  )
  return (item) => isHmac(record, hash, inputOf(item, 'missing input'), item.text('hmac') ?? '')
}

const signatureVerifier = async (record: KeyRecord, call: VerifyCall, random: Random) => {
  const scheme = await schemeOf(record, optionsOf(call, random), 'verification')
  return (item: Item) => isSigned(record, scheme, signedOf(item), item.text('signature') ?? '')
}

/** Returns whether the items contain signatures or HMACs. Throws LogicalError 400 if they contain both or neither. */
const decideKind = (items: readonly Item[]): 'signature' | 'hmac' => {
  const has = (item: Item, name: string) => (item.text(name) ?? '') !== ''
  const signatures = items.filter((item) => has(item, 'signature')).length
  const hmacs = items.filter((item) => has(item, 'hmac')).length
  if (signatures > 0 && hmacs > 0) throw invalid("provide one of 'signature' or 'hmac'")
  if (signatures + hmacs === 0) throw invalid("neither a 'signature' nor an 'hmac' was given to verify")
  return hmacs > 0 ? 'hmac' : 'signature'
}
