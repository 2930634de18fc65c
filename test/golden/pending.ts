/** A step whose answer is known to differ for now. `step` counts from 1, as the replay program prints it. */
export interface Pending {
  readonly flow: string
  readonly step: number
  readonly name: string
  readonly reason: string
}

/**
 * Every difference that is known. A step that stands here and passes fails the tier, and so does an entry that names no
 * step: the table is always true.
 */
export const PENDING: readonly Pending[] = []

/** The same for clusters of a performance pair: only what a contract wants to differ there. */
export const PENDING_IN_PAIR: readonly Pending[] = [
  {
    flow: 'transport-headers',
    step: 11,
    name: 'a bad token on a login path does not matter',
    reason: 'sys/health names the replication mode, which is not disabled here',
  },
]
