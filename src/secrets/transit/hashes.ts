import type { HashName } from '../../crypto/signatures.js'

/** Hash algorithms by their names in the API. */
const HASHES: Readonly<Record<string, HashName>> = {
  sha1: 'sha1',
  'sha2-224': 'sha224',
  'sha2-256': 'sha256',
  'sha2-384': 'sha384',
  'sha2-512': 'sha512',
  'sha3-224': 'sha3-224',
  'sha3-256': 'sha3-256',
  'sha3-384': 'sha3-384',
  'sha3-512': 'sha3-512',
}

export const DEFAULT_HASH = 'sha2-256'

/** Finds a hash algorithm; undefined for an unknown name. SHA-1 is allowed only for signatures. */
export const findHash = (name: string, use: 'signature' | 'digest'): HashName | undefined => {
  if (!Object.hasOwn(HASHES, name) || (name === 'sha1' && use === 'digest')) return undefined
  return HASHES[name]
}
