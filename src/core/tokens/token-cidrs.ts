import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import type { TokenEntry } from './token-record.js'

/**
 * Whether a token may be used from an address. A root token that never ends can be used from everywhere, so that nobody
 * locks himself out.
 */
export const isAddressAllowed = (
  { boundCidrs, isRoot, expiresAtMs }: Pick<TokenEntry, 'boundCidrs' | 'isRoot' | 'expiresAtMs'>,
  remoteAddress: string,
): boolean => (isRoot && expiresAtMs === undefined) || isWithinBoundCidrs(boundCidrs, remoteAddress)
