/** Parses shares and PGP keys of key-share procedures. Errors are 400 with the API's texts. */
import { invalid, sealed } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import { parseKeyShare } from '../../seal/key-text.js'
import { type PgpKey, parsePgpKeys } from '../../seal/pgp.js'
import type { SealManager } from './seal-manager.js'

/** The parts of the seal that key-share procedures use. They require an unsealed cluster. */
export type CeremonySeal = Pick<SealManager, 'rootKey' | 'isSealed' | 'keys'>

export const requireOpenSeal = (seal: CeremonySeal): SealConfig => {
  const config = seal.keys.config
  if (!config) throw invalid('server is not yet initialized')
  if (seal.isSealed) throw sealed()
  return config
}

export const requireKeyShare = (text: string): Buffer => {
  if (text === '') throw invalid("'key' must be specified in request body as JSON")
  const parsed = parseKeyShare(text)
  if (!parsed.ok) throw invalid(parsed.problem)
  return parsed.share
}

export const requirePgpKeys = async (texts: readonly string[]): Promise<readonly PgpKey[]> => {
  const parsed = await parsePgpKeys(texts)
  if (!parsed.ok) throw invalid(parsed.problem)
  return parsed.keys
}

/**
 * Returns the shares as delivered: plain, or in hex and encrypted with the PGP key at the same index. `pgpKeys` is empty or
 * as long as `shares`.
 */
export const encryptShares = async (
  shares: readonly Buffer[],
  pgpKeys: readonly PgpKey[],
): Promise<readonly Buffer[]> => {
  if (pgpKeys.length === 0) return shares
  return Promise.all(pgpKeys.map((key, index) => key.encrypt(Buffer.from(shares[index]?.toString('hex') ?? ''))))
}

export const toHex = (shares: readonly Buffer[]): string[] => shares.map((share) => share.toString('hex'))
export const toBase64 = (shares: readonly Buffer[]): string[] => shares.map((share) => share.toString('base64'))
