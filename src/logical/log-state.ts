/** The position of a cluster's log: the index of its last entry, and of the last entry that changed replicated data. */
export interface LogState {
  readonly clusterId: string
  readonly localIndex: number
  readonly replicatedIndex: number
}
