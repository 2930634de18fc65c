import type { ReplicationContext } from '../context.js'
import type { SafetyFacts } from './decide-secondary.js'
import { compareEpochs, currentEpoch, type EpochChain, forkPointOf } from './epoch.js'
import { collectSuffix, type Loss, lossIdFor, readLosses, writeLoss } from './losses.js'
import type { ReplicationHost } from '../host.js'
import type { Lead } from '../secondary/recent-frames.js'
import type { Frame } from '../../storage/replicable.js'
import { epochIdOf } from './state.js'
import type { Kind } from '../types.js'

/**
 * A former primary is about to follow one with a newer epoch: what only it had is listed and kept aside before the first
 * byte of it is overwritten.
 */
export const keepForeseeableLoss = async (
  { host, roles }: ReplicationContext,
  kind: Kind,
  newer: EpochChain,
): Promise<void> => {
  const record = roles.record(kind)
  // One that has followed since has nothing of its own: its log is a copy.
  if (record.mode === 'disabled' || record.mode === 'primary' || record.hasFollowed) return
  if (compareEpochs(record.epochs, newer) === 'same') return
  const fork = forkPointOf(record.epochs, newer)
  const lastIndex = host.store.position.index
  const epoch = currentEpoch(record.epochs)?.id ?? ''
  if (fork === undefined) {
    const loss: Loss = {
      epoch,
      firstIndex: 0,
      lastIndex,
      reason: 'the new primary does not descend from us',
      entries: [],
    }
    await keep(host, kind, loss, [])
    return
  }
  const { frames, isTrimmed, ...lost } = await collectSuffix(host.store, kind, fork, host.mounts())
  const { entries } = lost
  if (entries.length === 0 && !isTrimmed) return
  const reason = isTrimmed
    ? 'not replicated before the failover; the list is not complete'
    : 'not replicated before the failover'
  const loss: Loss = { epoch, firstIndex: fork + 1, lastIndex, reason, ...lost }
  await keep(host, kind, loss, frames)
  host.log.warn('unreplicated entries kept aside', { kind, epoch, entries: entries.length })
}

/** What a forced promotion knowingly gives up. Its entries are not here; the former primary lists them when it rejoins. */
export const keepPromotionLoss = async (
  { host, roles }: ReplicationContext,
  kind: Kind,
  safety: SafetyFacts,
): Promise<void> => {
  const isIncomplete =
    !safety.isSyncComplete || safety.streamState === 'merkle-sync' || roles.record(kind).mode === 'bootstrapping'
  const reason = isIncomplete
    ? 'sync incomplete'
    : safety.filter !== undefined
      ? `a paths filter (${safety.filter}) kept data from this cluster`
      : safety.appliedIndex < safety.announcedIndex
        ? 'announced by the primary, not received'
        : undefined
  if (reason === undefined) return
  const loss: Loss = {
    epoch: epochIdOf(roles.record(kind)),
    firstIndex: safety.appliedIndex + 1,
    lastIndex: Math.max(safety.announcedIndex, safety.appliedIndex),
    reason,
    entries: [],
  }
  await keep(host, kind, loss, [])
}

/**
 * A follower goes over to a primary that took the old one's place with less than the follower has: what it gives up is
 * listed and kept aside, as the old primary itself would list it. A list that was made before stays as it is.
 */
export const keepLeadLoss = async (host: ReplicationHost, kind: Kind, lead: Lead): Promise<void> => {
  const { epoch, forkIndex, lastIndex, isComplete } = lead
  const firstIndex = forkIndex + 1
  const known = await readLosses(host.storage)
  if (known.some((loss) => loss.epoch === epoch && loss.firstIndex === firstIndex)) return
  const log = {
    framesAfter: async (index: number) => lead.frames.filter((frame) => frame.lastIndex > index),
    decodeFrame: (frame: Frame) => host.store.decodeFrame(frame),
    position: { index: lastIndex, hash: Buffer.alloc(0) },
    firstIndex,
  }
  const { frames, isTrimmed: _, ...lost } = await collectSuffix(log, kind, forkIndex, host.mounts())
  const { entries } = lost
  if (entries.length === 0 && isComplete) return
  const reason = `received from the former primary, unknown to the new one${isComplete ? '' : '; the list is not complete'}`
  await keep(host, kind, { epoch, firstIndex, lastIndex, reason, ...lost }, frames)
  host.log.warn('entries of the former primary kept aside', { kind, epoch, entries: entries.length })
}

const keep = async (
  { storage, clock, log }: ReplicationHost,
  kind: Kind,
  loss: Loss,
  frames: readonly Frame[],
): Promise<void> => {
  const dropped = await writeLoss(storage, await lossIdFor(storage, clock.now(), kind, loss), loss, frames)
  if (dropped.length > 0) log.warn('old lists of losses were dropped to make room', { dropped })
}
