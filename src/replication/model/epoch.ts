/**
 * Epochs of a replication set. Each promotion starts a new epoch. Epochs distinguish two servers that both claim to be
 * primary. An epoch records its parent and the last index of the parent's log that it includes. A chain is ordered from
 * the oldest to the current epoch.
 */
interface Epoch {
  readonly id: string
  /** The parent's number plus one. */
  readonly number: number
  /** Empty for the first epoch of a set. */
  readonly parent: string
  /**
   * The last index of the parent's log that was applied here when this epoch began. Later entries were lost with the
   * parent.
   */
  readonly forkIndex: number
  /**
   * The last index in the log of the promoted cluster (the founder) when the epoch began. Later entries belong to this epoch.
   */
  readonly beginIndex?: number
  /**
   * Start of the part that both logs contain. The parent's entries after `alignedFrom`, up to `forkIndex`, correspond one to
   * one to the founder's last entries up to `beginIndex`. Default: `forkIndex`, which means that no such part is known.
   */
  readonly alignedFrom?: number
}

export type EpochChain = readonly Epoch[]

/** Maximum number of epochs to keep. A cluster that was disconnected for longer counts as unrelated. */
export const EPOCHS_KEPT_MAX = 64

export const currentEpoch = (chain: EpochChain): Epoch | undefined => chain[chain.length - 1]

/** The start of an epoch: in the log of its parent, and in the founder's own log. */
export interface Fork extends Pick<Epoch, 'forkIndex' | 'beginIndex' | 'alignedFrom'> {
  /**
   * The parent of the new epoch; by default the current epoch of the chain. If no entry of the current epoch was ever
   * applied, the parent is an older epoch. The current epoch is then a sibling of the new epoch.
   */
  readonly parentId?: string | undefined
}

/**
 * Extends a chain with a new epoch. The new number is greater than all numbers of the chain, and greater than `beyond`.
 */
export const extendChain = (chain: EpochChain, id: string, { parentId, ...fork }: Fork, beyond = 0): EpochChain => {
  const at = chain.findIndex((epoch) => epoch.id === parentId)
  const kept = at < 0 ? chain : chain.slice(0, at + 1)
  const number = Math.max(currentEpoch(chain)?.number ?? 0, beyond) + 1
  return [...kept, { id, number, parent: currentEpoch(kept)?.id ?? '', ...fork }].slice(-EPOCHS_KEPT_MAX)
}

/** The relation of another server's chain to this one. `diverged`: neither descends from the other. */
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
 * Returns true if `other` takes precedence over `own`, a chain of the same replication set. A descendant takes precedence.
 * For diverged chains, the higher number of the last epoch decides, then the greater ID, so that both clusters decide alike.
 */
export const isOvertakenBy = (own: EpochChain, other: EpochChain): boolean => {
  const relation = compareEpochs(own, other)
  if (relation !== 'diverged') return relation === 'newer'
  const mine = currentEpoch(own)
  const theirs = currentEpoch(other)
  if (!mine || !theirs) return false
  return theirs.number > mine.number || (theirs.number === mine.number && theirs.id > mine.id)
}

/** Returns true if the last epoch of a chain is one of the ended epochs. */
export const hasEnded = (chain: EpochChain, ended: EpochChain = []): boolean => {
  const last = currentEpoch(chain)?.id
  return ended.some(({ id }) => id === last)
}

/** Returns the chain up to and including `epoch`; an empty chain if it does not contain `epoch`. */
export const chainUpTo = (chain: EpochChain, epoch: string): EpochChain =>
  chain.slice(0, chain.findIndex(({ id }) => id === epoch) + 1)

/** The entries of a log that another chain does not include: all entries after index `after`, undefined if unknown. */
export interface Surplus {
  readonly after: number | undefined
  /** False if entries up to `after` may have to be discarded too. */
  readonly isWhole: boolean
}

/**
 * Returns the part of a log that must be discarded to follow the other chain. `own` ends with the epoch of the log's
 * indexes. If both chains descend from a common parent, the surplus is the part of the parent's log after the fork, and
 * all later entries of this log. Returns undefined if the other chain includes the whole log.
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
