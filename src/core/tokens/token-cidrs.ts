import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import type { TokenEntry } from './token-record.js'

/**
 * Returns whether a token may be used from an address. A root token without expiry is valid everywhere, which prevents a
 * lockout.
 */
export const isAddressAllowed = (
  { boundCidrs, isRoot, expiresAtMs }: Pick<TokenEntry, 'boundCidrs' | 'isRoot' | 'expiresAtMs'>,
  remoteAddress: string,
): boolean => (isRoot && expiresAtMs === undefined) || isWithinBoundCidrs(boundCidrs, remoteAddress)
