/** The format of ciphertexts, signatures and HMACs: `vault:v<version of the key>:<content>`. */
import { invalid } from '../../logical/errors.js'
import type { KeyRecord } from './key-record.js'

const PREFIX = 'vault:v'

export const formatVersioned = (version: number, rest: string): string => `${PREFIX}${version}:${rest}`

/** The error texts for one kind of versioned text. */
interface VersionedTexts {
  readonly subject: string
  readonly noPrefix: string
  readonly tooOld: string
}

const TOO_OLD = 'ciphertext or signature version is disallowed by policy (too old)'

export const CIPHERTEXT: VersionedTexts = {
  subject: 'invalid ciphertext',
  noPrefix: 'invalid ciphertext: no prefix',
  tooOld: TOO_OLD,
}

export const SIGNATURE: VersionedTexts = {
  subject: 'invalid signature',
  noPrefix: 'invalid signature: no prefix',
  tooOld: TOO_OLD,
}

export const HMAC: VersionedTexts = {
  subject: 'invalid HMAC',
  noPrefix: 'invalid HMAC to verify: no prefix',
  tooOld: 'cannot verify HMAC: version is too old (disallowed by policy)',
}

/**
 * Returns the version and the content of a ciphertext, a signature or an HMAC. Throws LogicalError 400 if the key does
 * not allow this version.
 */
export const parseVersioned = (
  record: KeyRecord,
  text: string,
  texts: VersionedTexts,
): { readonly version: number; readonly rest: string } => {
  if (!text.startsWith(PREFIX)) throw invalid(texts.noPrefix)
  const colon = text.indexOf(':', PREFIX.length)
  if (colon < 0) throw invalid(`${texts.subject}: wrong number of fields`)
  const digits = text.slice(PREFIX.length, colon)
  if (!/^\d{1,9}$/.test(digits)) throw invalid(`${texts.subject}: version number could not be decoded`)
  // Version 0 means version 1. Early versions of Vault wrote it, before keys had versions.
  const version = Math.max(Number(digits), 1)
  if (version > record.latestVersion) throw invalid(`${texts.subject}: version is too new`)
  if (version < record.minDecryptionVersion) throw invalid(texts.tooOld)
  return { version, rest: text.slice(colon + 1) }
}

/**
 * Returns the version for a new text. `wanted` is 0 for the latest version. Throws LogicalError 400 if the version is
 * not allowed for this purpose.
 */
export const pickVersion = (record: KeyRecord, wanted: number, purpose: 'encryption' | 'signing'): number => {
  const { latestVersion, minEncryptionVersion } = record
  const refuse = (why: string) => invalid(`requested version for ${purpose} is ${why}`)
  if (wanted === 0) return latestVersion
  if (wanted < 0) throw refuse('negative')
  if (wanted > latestVersion) throw refuse('higher than the latest key version')
  if (wanted < minEncryptionVersion) throw refuse('less than the minimum encryption key version')
  // A version that is too old to decrypt is also too old to encrypt.
  if (wanted < record.minDecryptionVersion) throw invalid(TOO_OLD)
  return wanted
}
