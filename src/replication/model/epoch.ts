import type { WalPosition } from '../../storage/keys/replicable.js'

/**
 * An epoch of a replication set: the time of one primary. Each promotion starts a new epoch. Epochs distinguish two
 * servers that both claim to be primary. An epoch refers to its parent, and records the last index of the parent's log
 * that it includes. A chain lists epochs from the oldest to the current one.
 */
interface Epoch {
  readonly id: string
  /** Number of the epoch, greater than that of its parent. */
  readonly number: number
  /** Empty for the first epoch of a set. */
  readonly parent: string
  /**
   * The last index of the parent's log that the new primary had applied when the epoch began. Later entries of the
   * parent are lost.
   */
  readonly forkIndex: number
  /** The last index of the new primary's own log when the epoch began. Later entries belong to this epoch. */
  readonly beginIndex?: number
  /**
   * Start of the range of entries that both logs contain. The parent's entries after `alignedFrom`, up to `forkIndex`,
   * correspond one to one to the last entries of the new primary's log up to `beginIndex`. Default: `forkIndex`, which
   * means that no such range is known.
   */
  readonly alignedFrom?: number
  /**
   * Positions in the parent's log that the new primary had applied when the epoch began, newest first. The first one is
   * at `forkIndex`. They show whether the parent still has the log that the new primary received: a disk that was
   * restored to an earlier state has other entries at the same indexes. Missing if unknown, and in old epochs of a
   * chain.
   */
  readonly applied?: readonly AppliedPosition[]
}

/** A position in a log. `hash`: hash of the frame that ends at `index`, as hexadecimal digits. */
interface AppliedPosition {
  readonly index: number
  readonly hash: string
}

export type EpochChain = readonly Epoch[]

/** Maximum number of epochs in a chain. A cluster that missed more promotions counts as unrelated. */
export const EPOCHS_KEPT_MAX = 64

/** Number of the newest epochs in a chain that keep their applied positions. Every heartbeat contains the chain. */
const EPOCHS_WITH_POSITIONS_MAX = 8

/** Maximum number of applied positions of an epoch. */
const POSITIONS_KEPT_MAX = 16

/**
 * Selects the positions that an epoch keeps from all known positions, newest first: the newest one, and others at
 * doubling distances.
 */
export const selectApplied = (positions: readonly WalPosition[]): readonly AppliedPosition[] =>
  Array.from({ length: POSITIONS_KEPT_MAX }, (_, n) => positions[2 ** n - 1])
    .filter((position) => position !== undefined)
    .map(({ index, hash }) => ({ index, hash: hash.toString('hex') }))

export const currentEpoch = (chain: EpochChain): Epoch | undefined => chain[chain.length - 1]

/** The start of an epoch, as an index of the parent's log and an index of the new primary's log. */
export interface Fork extends Pick<Epoch, 'forkIndex' | 'beginIndex' | 'alignedFrom' | 'applied'> {
  /**
   * ID of the parent of the new epoch (default: the current epoch of the chain). If the new primary never applied an
   * entry of the current epoch, the parent is an older epoch, and the current epoch is a sibling.
   */
  readonly parentId?: string | undefined
}

/** Extends a chain with a new epoch. Its number is greater than `beyond` and than all numbers of the chain. */
export const extendChain = (chain: EpochChain, id: string, { parentId, ...fork }: Fork, beyond = 0): EpochChain => {
  const at = chain.findIndex((epoch) => epoch.id === parentId)
  const kept = at < 0 ? chain : chain.slice(0, at + 1)
  const number = Math.max(currentEpoch(chain)?.number ?? 0, beyond) + 1
  const older = kept.map((epoch, n) => (n > kept.length - EPOCHS_WITH_POSITIONS_MAX ? epoch : withoutApplied(epoch)))
  return [...older, { id, number, parent: currentEpoch(kept)?.id ?? '', ...fork }].slice(-EPOCHS_KEPT_MAX)
}

const withoutApplied = ({ applied: _, ...epoch }: Epoch): Epoch => epoch

/**
 * The relation of another chain to this chain. `newer`: the other chain descends from this one. `diverged`: neither
 * chain descends from the other.
 */
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
 * Returns true if `other` takes precedence over `own`, a chain of the same replication set. A descendant takes
 * precedence. For diverged chains, the chain whose last epoch has the higher number takes precedence. If the numbers
 * are equal, the greater ID decides, so that both clusters decide in the same way.
 */
export const isOvertakenBy = (own: EpochChain, other: EpochChain): boolean => {
  const relation = compareEpochs(own, other)
  if (relation !== 'diverged') return relation === 'newer'
  const mine = currentEpoch(own)
  const theirs = currentEpoch(other)
  if (!mine || !theirs) return false
  return theirs.number > mine.number || (theirs.number === mine.number && theirs.id > mine.id)
}

/** Returns true if the last epoch of a chain is in the list of ended epochs. */
export const hasEnded = (chain: EpochChain, ended: EpochChain = []): boolean => {
  const last = currentEpoch(chain)?.id
  return ended.some(({ id }) => id === last)
}

/** Returns the chain up to and including `epoch`, or an empty chain if the chain does not contain `epoch`. */
export const chainUpTo = (chain: EpochChain, epoch: string): EpochChain =>
  chain.slice(0, chain.findIndex(({ id }) => id === epoch) + 1)

/**
 * The entries of a log that another chain does not include: all entries after the index `after`; undefined if this
 * index is unknown.
 */
export interface Surplus {
  readonly after: number | undefined
  /** False if some entries up to `after` may have to be discarded too. */
  readonly isWhole: boolean
}

/**
 * Returns the entries of a log that must be discarded to follow another chain. `own` ends with the epoch of the log's
 * indexes. If both chains descend from a common parent, the surplus consists of the parent's entries after the fork,
 * and all later entries of this log. Returns undefined if the other chain includes the whole log.
 *
 * `isAstray`: returns true if this log has another entry at a position, or ended before it. Returns false if this is
 * unknown. If a position that the other log includes is astray, this log was restored to an earlier state and
 * continued, so the surplus begins after the newest earlier position that both logs contain. If there is none, it
 * begins with the epoch. The surplus may then have entries that the other log also has.
 */
export const findSurplus = (
  own: EpochChain,
  other: EpochChain,
  isAstray: (position: WalPosition) => boolean = () => false,
): Surplus | undefined => {
  const common = own.findLastIndex(({ id }) => other.some((epoch) => epoch.id === id))
  const child = common < 0 ? undefined : other[other.findIndex(({ id }) => id === own[common]?.id) + 1]
  const later = own.slice(common + 1)
  if (common >= 0 && later.length === 0)
    return child && { after: lastShared(own[common], child, isAstray), isWhole: true }
  let after = child?.forkIndex ?? Number.POSITIVE_INFINITY
  let isWhole = common >= 0
  for (const { forkIndex, beginIndex, alignedFrom = forkIndex } of later) {
    if (beginIndex === undefined) return { after: undefined, isWhole: false }
    if (after < alignedFrom) isWhole = false
    after = beginIndex - (forkIndex - Math.min(Math.max(after, alignedFrom), forkIndex))
  }
  return { after, isWhole }
}

/** Returns the last index of a log that its child epoch includes. */
const lastShared = (
  epoch: Epoch | undefined,
  { forkIndex, applied = [] }: Epoch,
  isAstray: (position: WalPosition) => boolean,
): number => {
  const oldest = applied.findLastIndex(({ index, hash }) => isAstray({ index, hash: Buffer.from(hash, 'hex') }))
  return oldest < 0 ? forkIndex : (applied[oldest + 1]?.index ?? epoch?.beginIndex ?? 0)
}
