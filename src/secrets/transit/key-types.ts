/** The key types, with the operations that each type supports and the material of its versions. */
import type { CipherName } from '../../crypto/ciphers.js'
import type { PairKind } from '../../crypto/key-pairs.js'
import { invalid } from '../../logical/errors.js'

interface Symmetric {
  readonly form: 'symmetric'
  readonly cipher: CipherName
  readonly keyBytes: number
  /** The prefix of the error for a ciphertext that is not authentic. */
  readonly failurePrefix: 'cipher' | 'chacha20poly1305'
}

interface Pair {
  readonly form: 'pair'
  readonly pair: PairKind
  /** The name in the `keys` field of a read. */
  readonly shownAs: string
}

interface Abilities {
  readonly encrypts: boolean
  readonly signs: boolean
  readonly derives: boolean
}

export type KeyType = { readonly name: KeyTypeName } & Abilities & (Symmetric | Pair)

const SYMMETRIC = { form: 'symmetric', encrypts: true, signs: false, derives: true } as const
const AES = { ...SYMMETRIC, failurePrefix: 'cipher' } as const
const SIGNING = { form: 'pair', encrypts: false, signs: true } as const
const RSA = { form: 'pair', encrypts: true, signs: true, derives: false } as const

const rsa = (bits: 2048 | 3072 | 4096) => ({ ...RSA, pair: { type: 'rsa', bits }, shownAs: `rsa-${bits}` }) as const
const ecdsa = (curve: 'P-256' | 'P-384' | 'P-521') =>
  ({ ...SIGNING, derives: false, pair: { type: 'ec', curve }, shownAs: curve }) as const

const TABLE = {
  'aes128-gcm96': { ...AES, cipher: 'aes-128-gcm', keyBytes: 16 },
  'aes256-gcm96': { ...AES, cipher: 'aes-256-gcm', keyBytes: 32 },
  'chacha20-poly1305': {
    ...SYMMETRIC,
    cipher: 'chacha20-poly1305',
    keyBytes: 32,
    failurePrefix: 'chacha20poly1305',
  },
  ed25519: { ...SIGNING, derives: true, pair: { type: 'ed25519' }, shownAs: 'ed25519' },
  'ecdsa-p256': ecdsa('P-256'),
  'ecdsa-p384': ecdsa('P-384'),
  'ecdsa-p521': ecdsa('P-521'),
  'rsa-2048': rsa(2048),
  'rsa-3072': rsa(3072),
  'rsa-4096': rsa(4096),
} as const satisfies Record<string, Abilities & (Symmetric | Pair)>

export type KeyTypeName = keyof typeof TABLE

export const DEFAULT_KEY_TYPE: KeyTypeName = 'aes256-gcm96'

export const keyTypeOf = (name: KeyTypeName): KeyType => ({ name, ...TABLE[name] })

/** Key types of Vault that Understudy does not support. */
const UNSUPPORTED_TYPES: ReadonlySet<string> = new Set([
  'hmac',
  'managed_key',
  'aes128-cmac',
  'aes192-cmac',
  'aes256-cmac',
  'ml-dsa',
  'slh-dsa',
  'hybrid',
])

/**
 * Returns a key type. Throws LogicalError 400 for an unknown type, with another text for a type that only Vault
 * supports.
 */
export const parseKeyType = (name: string): KeyType => {
  if (Object.hasOwn(TABLE, name)) return keyTypeOf(name as KeyTypeName)
  if (!UNSUPPORTED_TYPES.has(name)) throw invalid(`unknown key type ${name}`)
  throw invalid(`keys of type ${name} are not supported: use one of ${Object.keys(TABLE).join(', ')}`)
}
