/**
 * Epochs: each promotion begins one, so that two servers that both call themselves primary can be told apart. An epoch
 * knows its parent and the last index of the parent's log that it builds on. A chain is oldest first; its end is current.
 */
export interface Epoch {
  readonly id: string
  /** One more than the parent's. */
  readonly number: number
  /** Empty for the first epoch of a set. */
  readonly parent: string
  /** What of the parent's log was applied here when this epoch began; everything behind it was lost with the parent. */
  readonly forkIndex: number
}

export type EpochChain = readonly Epoch[]

/** Older epochs than these are forgotten; a cluster that was away for longer counts as unrelated. */
export const EPOCHS_KEPT_MAX = 64

export const currentEpoch = (chain: EpochChain): Epoch | undefined => chain[chain.length - 1]

/**
 * A chain that goes on with a new epoch. `forkIndex` is counted in the log of `parentId`, which is the chain's current epoch
 * unless nothing of that was ever applied: then the new epoch builds on an older one, and the current one is its sibling.
 */
export const extendChain = (chain: EpochChain, id: string, forkIndex: number, parentId?: string): EpochChain => {
  const at = chain.findIndex((epoch) => epoch.id === parentId)
  const kept = at < 0 ? chain : chain.slice(0, at + 1)
  const number = (currentEpoch(chain)?.number ?? 0) + 1
  const next: Epoch = { id, number, parent: currentEpoch(kept)?.id ?? '', forkIndex }
  return [...kept, next].slice(-EPOCHS_KEPT_MAX)
}

/** How another server's chain stands to ours. `diverged`: neither descends from the other. */
export type EpochRelation = 'same' | 'newer' | 'older' | 'diverged'

export const compareEpochs = (own: EpochChain, other: EpochChain): EpochRelation => {
  const mine = currentEpoch(own)
  const theirs = currentEpoch(other)
  if (mine === undefined || theirs === undefined) return mine === theirs ? 'same' : mine ? 'older' : 'newer'
  if (mine.id === theirs.id) return 'same'
  if (other.some((epoch) => epoch.id === mine.id)) return 'newer'
  return own.some((epoch) => epoch.id === theirs.id) ? 'older' : 'diverged'
}

/**
 * Of two servers of one set, whether the other one is to be obeyed: it descends from us, or of two unrelated promotions
 * it is the one further on (equal numbers: the greater id, so that both sides agree without talking).
 */
export const isOvertakenBy = (own: EpochChain, other: EpochChain): boolean => {
  const relation = compareEpochs(own, other)
  if (relation !== 'diverged') return relation === 'newer'
  const mine = currentEpoch(own)
  const theirs = currentEpoch(other)
  if (!mine || !theirs) return false
  return theirs.number > mine.number || (theirs.number === mine.number && theirs.id > mine.id)
}

/**
 * Where a chain forks off the log that a follower has come along, when the follower is beyond that point: it has to give up
 * what lies behind it. Undefined when there is nothing to give up.
 */
export const forkBehind = (
  place: { readonly index: number; readonly epoch: string },
  chain: EpochChain,
): number | undefined => {
  const fork = chain.find((epoch) => epoch.parent === place.epoch)
  return fork !== undefined && place.epoch !== '' && fork.forkIndex < place.index ? fork.forkIndex : undefined
}

/**
 * The last index of our own log that the other chain builds on, where it descends from our current epoch or from one of
 * its ancestors. Undefined when it builds on nothing of ours.
 */
export const forkPointOf = (own: EpochChain, other: EpochChain): number | undefined => {
  const mine = currentEpoch(own)
  if (!mine) return undefined
  return other.find((epoch) => epoch.parent === mine.id)?.forkIndex
}
