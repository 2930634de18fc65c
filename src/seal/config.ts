import { LIMITS } from '../base/limits.js'

/**
 * Into how many parts the share key is split and how many of them bring it back. Unseal keys of a Shamir seal and
 * recovery keys of an auto-unseal seal are the same thing here.
 */
export interface SealConfig {
  readonly shares: number
  readonly threshold: number
}

/** The first mistake of a split, in the API's words without their `invalid seal configuration: `; undefined when it is fine. */
export const findSealConfigProblem = ({ shares, threshold }: SealConfig): string | undefined => {
  if (shares < 1) return 'shares must be at least one'
  if (threshold < 1) return 'threshold must be at least one'
  if (shares > 1 && threshold === 1) return 'threshold must be greater than one for multiple shares'
  if (shares > LIMITS.sharesMax) return `shares must be less than ${LIMITS.sharesMax + 1}`
  if (threshold > shares) return 'threshold cannot be larger than shares'
  return undefined
}
