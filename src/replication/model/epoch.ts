/**
 * Epochs: each promotion begins one, so that two servers that both call themselves primary can be told apart. An epoch
 * knows its parent and the last index of the parent's log that it builds on. A chain is oldest first; its end is current.
 */
interface Epoch {
  readonly id: string
  /** One more than the parent's. */
  readonly number: number
  /** Empty for the first epoch of a set. */
  readonly parent: string
  /** The last index of the parent's log applied here when this epoch began; all behind it was lost with the parent. */
  readonly forkIndex: number
  /** The last index of the founder's own log at that moment: everything behind it is of this epoch. */
  readonly beginIndex?: number
  /**
   * The parent's entries behind this index, up to the fork, stand one by one in the founder's log right before
   * `beginIndex`. The fork itself where nothing is known of them.
   */
  readonly alignedFrom?: number
}

export type EpochChain = readonly Epoch[]

/** Older epochs than these are forgotten; a cluster that was away for longer counts as unrelated. */
export const EPOCHS_KEPT_MAX = 64

export const currentEpoch = (chain: EpochChain): Epoch | undefined => chain[chain.length - 1]

/** Where an epoch begins: in the log of its parent, and in the founder's own. */
export interface Fork extends Pick<Epoch, 'forkIndex' | 'beginIndex' | 'alignedFrom'> {
  /**
   * The chain's current epoch unless nothing of that was ever applied: then the new epoch builds on an older one, and the
   * current one is its sibling.
   */
  readonly parentId?: string | undefined
}

/** A chain that goes on with a new epoch, whose number is above `beyond` as well. */
export const extendChain = (chain: EpochChain, id: string, { parentId, ...fork }: Fork, beyond = 0): EpochChain => {
  const at = chain.findIndex((epoch) => epoch.id === parentId)
  const kept = at < 0 ? chain : chain.slice(0, at + 1)
  const number = Math.max(currentEpoch(chain)?.number ?? 0, beyond) + 1
  return [...kept, { id, number, parent: currentEpoch(kept)?.id ?? '', ...fork }].slice(-EPOCHS_KEPT_MAX)
}

/** How another server's chain stands to ours. `diverged`: neither descends from the other. */
type EpochRelation = 'same' | 'newer' | 'older' | 'diverged'

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

/** Whether the last epoch of a chain is one of those that have ended. */
export const hasEnded = (chain: EpochChain, ended: EpochChain = []): boolean => {
  const last = currentEpoch(chain)?.id
  return ended.some(({ id }) => id === last)
}

/** The chain up to the epoch that a log was followed in; empty when that is none of its epochs. */
export const chainUpTo = (chain: EpochChain, epoch: string): EpochChain =>
  chain.slice(0, chain.findIndex(({ id }) => id === epoch) + 1)

/** Entries of a log that another chain does not build on: all behind `after`, which is undefined where nobody knows. */
export interface Surplus {
  readonly after: number | undefined
  /** False when more than what is behind `after` may be given up. */
  readonly isWhole: boolean
}

/**
 * Finds the part of a log that is to be given up for the other chain. `own` ends with the epoch whose numbering the log
 * has. The two may descend from one another, or both from a third: then the surplus is what the parent's log had behind
 * their fork, and everything since. Undefined when the other chain builds on all of the log.
 */
export const findSurplus = (own: EpochChain, other: EpochChain): Surplus | undefined => {
  const common = own.findLastIndex(({ id }) => other.some((epoch) => epoch.id === id))
  const child = common < 0 ? undefined : other[other.findIndex(({ id }) => id === own[common]?.id) + 1]
  const behind = own.slice(common + 1)
  if (common >= 0 && behind.length === 0) return child && { after: child.forkIndex, isWhole: true }
  let after = child?.forkIndex ?? Number.POSITIVE_INFINITY
  let isWhole = common >= 0
  for (const { forkIndex, beginIndex, alignedFrom = forkIndex } of behind) {
    if (beginIndex === undefined) return { after: undefined, isWhole: false }
    if (after < alignedFrom) isWhole = false
    after = beginIndex - (forkIndex - Math.min(Math.max(after, alignedFrom), forkIndex))
  }
  return { after, isWhole }
}
