/** How far a cluster is from being open. */
export interface SealStatus {
  /** `shamir`, or the type of the auto-unseal seal. */
  readonly type: string
  readonly isInitialized: boolean
  readonly isSealed: boolean
  /** 0 while not initialised. */
  readonly shares: number
  readonly threshold: number
  /** Shares taken in towards unsealing, and the attempt's id; 0 and empty when none is. */
  readonly progress: number
  readonly nonce: string
  readonly isRecoverySeal: boolean
  readonly isMigrating: boolean
}
