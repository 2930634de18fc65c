/** The rules for address blocks of roles and SecretIDs, each alone and between the two, with the texts of the refusals. */
import { areSubsets, parseCidr } from '../../base/cidr.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid } from '../../logical/errors.js'

/** Every text is a block `address/length`; a bare address is none. Throws 400. */
export const checkBlocks = (texts: readonly string[], what: 'CIDR blocks' | 'token CIDR blocks'): void => {
  const wrong = texts.find((text) => !parseCidr(text))
  if (wrong !== undefined) throw invalid(`failed to validate ${what}: invalid CIDR address: ${wrong}`)
}

/** Nothing in the role restricts nothing, nothing in the SecretID inherits. Throws 400 for a block outside of the role's. */
export const checkSubset = (ofRole: readonly string[], ofSecretId: readonly string[]): void => {
  if (ofRole.length === 0 || ofSecretId.length === 0 || areSubsets(ofSecretId, ofRole)) return
  throw invalid(
    `failed to verify subset relationship between CIDR blocks on the role ${quoteAll(ofRole)} and CIDR blocks on the secret ID ${quoteAll(ofSecretId)}`,
  )
}

/** No blocks admit everybody. Throws 400 that names the address; `by` says by what and on what. */
export const checkSource = (blocks: readonly string[], address: string, by: string): void => {
  if (isWithinBoundCidrs(blocks, address)) return
  throw invalid(`source address ${JSON.stringify(address)} unauthorized ${by}`)
}

const quoteAll = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`
