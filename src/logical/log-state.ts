/** The position of a cluster's log: its last entry, and the last entry that changed replicated data. */
export interface LogState {
  readonly clusterId: string
  readonly localIndex: number
  readonly replicatedIndex: number
}
