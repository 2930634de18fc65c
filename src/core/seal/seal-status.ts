/** The seal state and unseal progress of a cluster. */
export interface SealStatus {
  /** `shamir`, or the type of the auto-unseal seal. */
  readonly type: string
  readonly isInitialized: boolean
  readonly isSealed: boolean
  /** 0 while not initialized. */
  readonly shares: number
  readonly threshold: number
  /** Shares submitted for unsealing, and the ID of the attempt; 0 and empty if there is none. */
  readonly progress: number
  readonly nonce: string
  readonly isRecoverySeal: boolean
  readonly isMigrating: boolean
}
