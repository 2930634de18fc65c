/** The addresses that a token, a role, a SecretID or a user is bound to. */
import { formatCidr, isAddressInAny, parseCidrOrAddress } from '../base/cidr.js'
import { invalid } from './errors.js'

/** Blocks or single addresses in canonical spelling, order and repetitions kept. Throws 400 for anything else. */
export const parseBoundCidrs = (texts: readonly string[]): string[] =>
  texts.map((text) => {
    const cidr = parseCidrOrAddress(text)
    if (!cidr) throw invalid(`error parsing address ${JSON.stringify(text)}: neither an address nor a block of them`)
    return formatCidr(cidr)
  })

/** Whoever is bound to nothing may come from everywhere. */
export const isWithinBoundCidrs = (boundCidrs: readonly string[], remoteAddress: string): boolean =>
  boundCidrs.length === 0 || isAddressInAny(boundCidrs, remoteAddress)
