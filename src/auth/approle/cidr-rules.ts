/** Validation of the CIDR blocks of roles and SecretIDs, each alone and in combination, with the error texts. */
import { areSubsets, parseCidr } from '../../base/cidr.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid } from '../../logical/errors.js'

/** Requires every text to be a block `address/length`; a bare address is invalid. Throws 400. */
export const checkBlocks = (texts: readonly string[], what: 'CIDR blocks' | 'token CIDR blocks'): void => {
  const wrong = texts.find((text) => !parseCidr(text))
  if (wrong !== undefined) throw invalid(`failed to validate ${what}: invalid CIDR address: ${wrong}`)
}

/**
 * Throws 400 for a block outside the role's. An empty list in the role allows any block; an empty list in the SecretID
 * inherits the role's.
 */
export const checkSubset = (ofRole: readonly string[], ofSecretId: readonly string[]): void => {
  if (ofRole.length === 0 || ofSecretId.length === 0 || areSubsets(ofSecretId, ofRole)) return
  throw invalid(
    `failed to verify subset relationship between CIDR blocks on the role ${quoteAll(ofRole)} and CIDR blocks on the secret ID ${quoteAll(ofSecretId)}`,
  )
}

/**
 * Throws 400 with the address if it is in no block. An empty list admits every address. `by` completes the error text with
 * the restriction and its owner.
 */
export const checkSource = (blocks: readonly string[], address: string, by: string): void => {
  if (isWithinBoundCidrs(blocks, address)) return
  throw invalid(`source address ${JSON.stringify(address)} unauthorized ${by}`)
}

const quoteAll = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`
