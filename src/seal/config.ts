import { LIMITS } from '../base/limits.js'

/**
 * The number of key shares, and the threshold: the number of shares that are required to reconstruct the key. They
 * apply to the unseal keys of a Shamir seal, and to the recovery keys of an auto-unseal seal.
 */
export interface SealConfig {
  readonly shares: number
  readonly threshold: number
}

/**
 * Returns the first problem of a configuration; undefined if the configuration is valid. The text is that of the API,
 * without its prefix `invalid seal configuration: `.
 */
export const findSealConfigProblem = ({ shares, threshold }: SealConfig): string | undefined => {
  if (shares < 1) return 'shares must be at least one'
  if (threshold < 1) return 'threshold must be at least one'
  if (shares > 1 && threshold === 1) return 'threshold must be greater than one for multiple shares'
  if (shares > LIMITS.sharesMax) return `shares must be less than ${LIMITS.sharesMax + 1}`
  if (threshold > shares) return 'threshold cannot be larger than shares'
  return undefined
}
