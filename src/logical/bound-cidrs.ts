/** The CIDR bindings of tokens, roles, SecretIDs and users. */
import { formatCidr, isAddressInAny, parseCidrOrAddress } from '../base/cidr.js'
import { invalid } from './errors.js'

/**
 * Parses blocks or single addresses into canonical form. Keeps order and duplicates. Throws LogicalError 400 for any
 * other text.
 */
export const parseBoundCidrs = (texts: readonly string[]): string[] =>
  texts.map((text) => {
    const cidr = parseCidrOrAddress(text)
    if (!cidr) throw invalid(`error parsing address ${JSON.stringify(text)}: it is neither an address nor a CIDR block`)
    return formatCidr(cidr)
  })

/** Returns true if the address is in one of the blocks, or if there are no blocks. */
export const isWithinBoundCidrs = (boundCidrs: readonly string[], remoteAddress: string): boolean =>
  boundCidrs.length === 0 || isAddressInAny(boundCidrs, remoteAddress)
