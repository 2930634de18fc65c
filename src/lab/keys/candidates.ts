import type { ClusterKeys } from '../model/cluster.js'

/** Key shares that together unseal a cluster. */
export type Shares = Pick<ClusterKeys, 'unsealKeys' | 'threshold'>

/** Returns the key shares to try on a cluster: its own, then those of clusters from which it may have replicated. */
export const sharesToTry = <T extends Shares>(own: T, others: Iterable<T>): T[] => {
  const sets = [own, ...others].filter(({ unsealKeys }) => unsealKeys.length > 0)
  const isSame = (one: T, other: T) => one.unsealKeys.join() === other.unsealKeys.join()
  return sets.filter((set, at) => at === sets.findIndex((one) => isSame(one, set)))
}

/** Returns the root tokens to try on a cluster: its own, then others. A promoted cluster has those of its former primary. */
export const tokensToTry = (own: Pick<ClusterKeys, 'rootToken'>, others: Iterable<typeof own>): string[] => {
  const tokens = [own, ...others].map(({ rootToken }) => rootToken)
  return [...new Set(tokens.filter((token) => token !== ''))]
}
