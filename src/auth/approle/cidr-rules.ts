/** Validates the CIDR blocks of roles and SecretIDs, and the address of a login. Errors have the text of Vault. */
import { areSubsets, parseCidr } from '../../base/cidr.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid } from '../../logical/errors.js'

/** Throws LogicalError 400 unless every text is a block `address/length`. An address without a length is invalid. */
export const checkBlocks = (texts: readonly string[], what: 'CIDR blocks' | 'token CIDR blocks'): void => {
  const wrong = texts.find((text) => !parseCidr(text))
  if (wrong !== undefined) throw invalid(`failed to validate ${what}: invalid CIDR address: ${wrong}`)
}

/**
 * Throws LogicalError 400 if a block of the SecretID is outside the role's blocks. If the role has no blocks, it allows
 * any block. If the SecretID has no blocks, the blocks of the role apply.
 */
export const checkSubset = (ofRole: readonly string[], ofSecretId: readonly string[]): void => {
  if (ofRole.length === 0 || ofSecretId.length === 0 || areSubsets(ofSecretId, ofRole)) return
  throw invalid(
    `failed to verify subset relationship between CIDR blocks on the role ${quoteAll(ofRole)} and CIDR blocks on the secret ID ${quoteAll(ofSecretId)}`,
  )
}

/**
 * Throws LogicalError 400 if the address is in no block. An empty list allows every address. `by` is the end of the
 * error text, which names the restriction.
 */
export const checkSource = (blocks: readonly string[], address: string, by: string): void => {
  if (isWithinBoundCidrs(blocks, address)) return
  throw invalid(`source address ${JSON.stringify(address)} unauthorized ${by}`)
}

const quoteAll = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`
