import { isDeepStrictEqual } from 'node:util'
import { ownIndexOf } from './alignment.js'
import { currentEpoch, type EpochChain, findSurplus } from '../model/epoch.js'
import { type Loss, lossIdFor, type OpenLoss, removeLoss, writeList, writeLoss } from './losses.js'
import { collectSuffix, isOwnOf, type LostSuffix } from './lost-suffix.js'
import { openLosses, type OpenList } from './settle-losses.js'
import type { SafetyFacts } from '../model/machine.js'
import type { ReplicationHost } from '../host/host.js'
import type { SurplusEntries } from '../model/recent-frames.js'
import type { Frame } from '../../storage/keys/replicable.js'
import { epochIdOf, isCopy, type KindRecord, readRecord } from '../model/state.js'
import type { Kind } from '../model/types.js'
import { merkleRootOf } from './tree-maintenance.js'

/** The reasons of a loss, as lists of losses show them. */
export const LOSS_REASONS = {
  failover: 'not replicated before the failover',
  overtaken: 'received from the former primary, unknown to the new primary',
  rewound: 'ahead of the primary, which was restored to an earlier state',
} as const

type LossReason = (typeof LOSS_REASONS)[keyof typeof LOSS_REASONS]

type Host = Pick<ReplicationHost, 'storage' | 'store' | 'mounts' | 'clock' | 'log'>

const reasonOf = (why: LossReason, isPartial: boolean): string => (isPartial ? `${why}; the list is not complete` : why)

export const ownOf = (host: Pick<ReplicationHost, 'storage'>, kind: Kind) =>
  isOwnOf(kind, isCopy(readRecord(host.storage, 'performance')))

/** Returns the entries of this cluster's own log that a newer chain does not include. `own`: the chain of this log. */
export const findOwnSurplus = ({ store }: Pick<Host, 'store'>, own: EpochChain, newer: EpochChain) =>
  findSurplus(own, newer, (position) => store.isAstray(position))

/** Records the entries of a former primary's own log that its new primary does not have. */
export const keepOwnLoss = async (host: Host, kind: Kind, epochs: EpochChain, newer: EpochChain): Promise<void> => {
  const surplus = findOwnSurplus(host, epochs, newer)
  if (!surplus) return
  const lastIndex = host.store.position.index
  const epoch = currentEpoch(epochs)?.id ?? ''
  const { after = lastIndex, isWhole } = surplus
  const { frames, isTrimmed, ...lost } = await collectSuffix(host.store, ownOf(host, kind), after, host.mounts())
  const { entries } = lost
  const isPartial = isTrimmed || !isWhole
  if (entries.length === 0 && !isPartial) return
  const reason = reasonOf(LOSS_REASONS.failover, isPartial)
  const open = openLoss(host, kind, { isHeld: false, isPartial })
  await keep(host, kind, { epoch, firstIndex: after + 1, lastIndex, reason, open, ...lost }, frames)
  host.log.warn('unreplicated entries recorded as a loss', { kind, epoch, entries: entries.length })
}

/** Records that a forced promotion may lose entries. The former primary lists them when it rejoins. */
export const keepPromotionLoss = async (
  host: Host,
  kind: Kind,
  record: KindRecord,
  safety: SafetyFacts,
): Promise<void> => {
  const isIncomplete = !safety.isSyncComplete || safety.streamState === 'merkle-sync' || record.mode === 'bootstrapping'
  const reason = isIncomplete
    ? 'sync incomplete'
    : safety.filter !== undefined
      ? `a paths filter (${safety.filter}) withheld data from this cluster`
      : safety.appliedIndex < safety.announcedIndex
        ? 'announced by the primary, not received'
        : undefined
  if (reason === undefined) return
  const loss: Loss = {
    epoch: epochIdOf(record),
    firstIndex: safety.appliedIndex + 1,
    lastIndex: Math.max(safety.announcedIndex, safety.appliedIndex),
    reason,
    entries: [],
  }
  await keep(host, kind, loss, [])
}

/**
 * Records the entries of a follower that its primary, or the successor of its primary, does not have. Uses the same
 * form as a former primary. Keeps an open list of the same entries, because after a restart their frames are not in
 * memory. `why` decides whether the entries are held (`rewound`), or will be discarded.
 */
export const keepSurplusLoss = async (
  host: Host,
  kind: Kind,
  surplus: SurplusEntries,
  why: LossReason,
): Promise<void> => {
  const { epoch, forkIndex, lastIndex, isForkSure } = surplus
  const firstIndex = forkIndex + 1
  const isHeld = why === LOSS_REASONS.rewound
  const known = (await openLosses(host.storage, kind)).find(({ loss }) => loss.epoch === epoch)
  if (known && known.loss.firstIndex <= firstIndex && known.loss.lastIndex >= lastIndex)
    return changeOpen(host, known, { isHeld, isPartial: known.loss.open.isPartial }, why)
  const { frames, isTrimmed, ...lost } = await collectSurplus(host, kind, surplus)
  const { entries } = lost
  const isPartial = isTrimmed || !isForkSure
  if (known && isPartial) return changeOpen(host, known, { isHeld, isPartial }, why)
  if (entries.length > 0 || isPartial) {
    const open = openLoss(host, kind, { isHeld, isPartial })
    await keep(host, kind, { epoch, firstIndex, lastIndex, reason: reasonOf(why, isPartial), open, ...lost }, frames)
    host.log.warn('entries of the former primary recorded as a loss', { kind, epoch, entries: entries.length })
  }
  if (known && known.loss.firstIndex !== firstIndex) await removeLoss(host.storage, known.id)
}

/** Ends the hold of the lists of a kind: their entries will be discarded. */
export const releaseHeld = async (host: Host, kind: Kind): Promise<void> => {
  for (const known of await openLosses(host.storage, kind))
    await changeOpen(host, known, { isHeld: false, isPartial: known.loss.open.isPartial }, LOSS_REASONS.rewound)
}

type Found = Pick<OpenLoss, 'isHeld' | 'isPartial'>

const openLoss = ({ store }: Host, kind: Kind, found: Found): OpenLoss => ({
  kind,
  root: merkleRootOf(store, kind).toString('hex'),
  ...found,
})

/** Changes an open list while the data still has the effect of all its entries. */
const changeOpen = async (host: Host, { id, loss }: OpenList, found: Found, why: LossReason): Promise<void> => {
  const open = openLoss(host, loss.open.kind, found)
  if (isDeepStrictEqual(open, loss.open)) return
  await writeList(host.storage, { id, loss: { ...loss, reason: reasonOf(why, found.isPartial), open } })
}

/** Returns the discarded entries. If frames are missing in memory, a DR secondary reads its own log. */
const collectSurplus = (host: Host, kind: Kind, surplus: SurplusEntries): Promise<LostSuffix> => {
  const { forkIndex, lastIndex, isComplete, frames } = surplus
  const ownIndex = isComplete || kind !== 'dr' ? undefined : ownIndexOf(host, forkIndex)
  if (ownIndex !== undefined) return collectOwn(host, kind, ownIndex, forkIndex)
  const log = {
    framesAfter: async (index: number) => frames.filter((frame) => frame.lastIndex > index),
    position: { index: lastIndex, hash: Buffer.alloc(0) },
    firstIndex: forkIndex + 1,
  }
  return collectSuffix(log, ownOf(host, kind), forkIndex, host.mounts()).then((found) => ({
    ...found,
    isTrimmed: !isComplete,
  }))
}

/** Returns the local log entries after an index, renumbered with the indexes of the primary's log. */
const collectOwn = async (host: Host, kind: Kind, ownIndex: number, remoteIndex: number): Promise<LostSuffix> => {
  const found = await collectSuffix(host.store, ownOf(host, kind), ownIndex, host.mounts())
  const entries = found.entries.map((entry) => ({ ...entry, index: entry.index - ownIndex + remoteIndex }))
  return { ...found, entries }
}

const keep = async ({ storage, clock, log }: Host, kind: Kind, loss: Loss, frames: readonly Frame[]): Promise<void> => {
  const dropped = await writeLoss(storage, await lossIdFor(storage, clock.now(), kind, loss), loss, frames)
  if (dropped.length > 0) log.warn('the oldest loss records were removed', { dropped })
}
