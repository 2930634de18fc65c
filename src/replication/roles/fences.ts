import { uuid } from '../../base/id.js'
import { compareEpochs, currentEpoch, type EpochChain, extendChain, hasEnded, isOvertakenBy } from '../model/epoch.js'
import type { ReplicationHost } from '../host/host.js'
import { findOwnSurplus } from './keep-losses.js'
import { KINDS, type RoleRecords } from './role-records.js'
import type { Fence, KindRecord, PrimaryRecord } from '../model/state.js'
import type { Kind, Overtaker, Refusal, PeerIdentity } from '../model/types.js'

/** The refusal that a demoted primary sends to its secondaries. They may then follow another primary of the set. */
export const EPOCH_ENDED: Refusal = {
  ok: false,
  code: 'over',
  text: 'this primary was demoted, and its epoch has ended',
}

interface FencesOptions {
  readonly host: Pick<ReplicationHost, 'clock' | 'log' | 'random' | 'store'>
  readonly roles: RoleRecords
  /** Called when a newer primary has replaced this primary, so that its streams must end. */
  readonly onFenced: (kind: Kind) => void
  /** Called when a new epoch has started, so that all streams must be reopened. */
  readonly onMoved: () => void
}

/**
 * Tracks which primary roles of this cluster are fenced: a newer epoch of the set exists, and the cluster must not act
 * as primary. A fence applies as soon as the newer epoch is detected, and is stored afterwards. A fence of the DR role
 * also applies to the performance role, because a cluster that replaces a DR primary also replaces its performance
 * role.
 */
export class Fences {
  readonly #options: FencesOptions
  /** Detected fences that are not stored yet. */
  readonly #met = new Map<Kind, Fence>()
  /** The last start of a new epoch. Starts run one after another. */
  #beginning: Promise<unknown> = Promise.resolve()

  constructor(options: FencesOptions) {
    this.#options = options
  }

  of(kind: Kind): Fence | undefined {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary') return undefined
    return this.#own(kind, record) ?? (kind === 'performance' ? this.of('dr') : undefined)
  }

  /** Compares this primary with the epochs of another cluster. If they are newer, fences it and returns true. */
  meet(kind: Kind, other: PeerIdentity): boolean {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false
    const known = this.#own(kind, record)
    if (!known?.by || isOvertakenBy(known.by.epochs, other.epochs) || isNamedNow(known.by, other)) {
      this.#fence(kind, record, other, known?.sinceMs)
    }
    return true
  }

  /** Returns the refusal that callers of a fenced primary receive. */
  refusal(fence: Fence): Refusal {
    return { ok: false, code: 'epoch', text: fencedText(fence), overtaker: fence.by }
  }

  /**
   * Returns true if one of the ended epochs fences this primary, or would fence it if a cluster that descends from this
   * epoch were detected.
   */
  isBelow(ended: EpochChain = []): boolean {
    return ended.length > 0 && KINDS.some((kind) => this.#isBelow(kind, ended))
  }

  /**
   * Removes the fences that ended epochs cause: starts an epoch with a higher number for each affected kind. Ends all
   * streams, so that every secondary looks up its position again. Resolves when the change is stored.
   */
  goBeyond(ended: EpochChain = []): Promise<void> {
    const begun = this.#beginning.then(() => this.#goBeyond(ended))
    this.#beginning = begun.catch(() => undefined)
    return begun
  }

  async #goBeyond(ended: EpochChain): Promise<void> {
    const kinds = KINDS.filter((kind) => this.#isBelow(kind, ended))
    if (kinds.length === 0) return
    const { host, roles, onMoved } = this.#options
    const id = uuid(host.random)
    const beginIndex = host.store.position.index
    const fork = { forkIndex: beginIndex, beginIndex, alignedFrom: 0 }
    const beyond = Math.max(...ended.map(({ number }) => number))
    const before = currentEpoch(chainOf(roles.records.dr))?.number ?? 0
    // A promoted DR copy took over the performance secondary ID of this cluster. Each promotion increments both the
    // number of the DR epoch and the incarnation, so the difference of the numbers is the lead in incarnations.
    const reclaimed = kinds.includes('dr') && roles.records.performance.mode === 'secondary' ? KINDS : kinds
    // The log must use the new epoch before any secondary learns of the epoch.
    if (kinds.includes(writtenKind(roles.records))) await host.store.setEpoch(id)
    await roles.updateAll(reclaimed, (record) => {
      if (record.mode === 'secondary') return { ...record, incarnation: record.incarnation + beyond + 1 - before }
      if (record.mode !== 'primary') return record
      const { fenced: _, ...free } = record
      return { ...free, epochs: extendChain(record.epochs, id, fork, beyond) }
    })
    host.log.warn('starting an epoch with a higher number than an ended epoch', { kinds, epoch: id })
    onMoved()
  }

  #isBelow(kind: Kind, ended: EpochChain): boolean {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary') return false
    const fence = this.#own(kind, record)
    if (fence) return hasEnded(fence.by?.epochs ?? [], ended)
    const { records } = this.#options.roles
    const known = KINDS.flatMap((one) => chainOf(records[one]))
    const unknown = ended.filter((epoch) => known.every(({ id }) => id !== epoch.id))
    return unknown.some((epoch) => isOvertakenBy(record.epochs, [epoch]))
  }

  /**
   * Returns the fence of a role. It applies only while the chain of the newer primary overtakes the chain of this
   * primary, regardless of which record was stored first.
   */
  #own(kind: Kind, record: PrimaryRecord): Fence | undefined {
    const fence = this.#met.get(kind) ?? record.fenced
    return fence?.by && !isOvertakenBy(record.epochs, fence.by.epochs) ? undefined : fence
  }

  #fence(kind: Kind, record: PrimaryRecord, other: PeerIdentity, sinceMs: number | undefined): void {
    const { host, roles, onFenced } = this.#options
    const epoch = currentEpoch(record.epochs)?.id ?? ''
    const byEpoch = currentEpoch(other.epochs)?.id ?? ''
    const forkIndex = findOwnSurplus(host, record.epochs, other.epochs)?.after
    const fence: Fence = {
      epoch,
      byEpoch,
      sinceMs: sinceMs ?? host.clock.now(),
      ...(forkIndex !== undefined && { forkIndex }),
      by: overtakerOf(other),
    }
    this.#met.set(kind, fence)
    host.log.warn('primary fenced by a newer epoch', { kind, epoch, byEpoch, by: other.clusterId })
    onFenced(kind)
    // The fence applies immediately, and not only when it is stored: this primary must not send data or acknowledge
    // writes in the meantime.
    roles
      .updatePrimary(kind, (latest) => ({ ...latest, fenced: fence }))
      .then(() => {
        if (this.#met.get(kind) === fence) this.#met.delete(kind)
      })
      .catch((error: unknown) => host.log.error('cannot store the fence', { kind, error: String(error) }))
  }
}

const chainOf = (record: KindRecord): EpochChain => (record.mode === 'disabled' ? [] : record.epochs)

/** Returns the kind of replication whose epoch the frames of this cluster's log contain. */
const writtenKind = ({ dr }: Readonly<Record<Kind, KindRecord>>): Kind => (dr.mode === 'primary' ? 'dr' : 'performance')

/** Describes the newer primary. If only one of its secondaries was detected, the cluster of the primary is unknown. */
const overtakerOf = ({ isPrimary, clusterId, epochs, apiAddress, clusterAddresses }: PeerIdentity): Overtaker =>
  isPrimary
    ? { clusterId, epochs, apiAddress, clusterAddresses }
    : { clusterId: '', epochs, apiAddress: '', clusterAddresses: [] }

const isNamedNow = (known: Overtaker, other: PeerIdentity): boolean =>
  known.clusterId === '' && other.isPrimary === true && compareEpochs(known.epochs, other.epochs) === 'same'

const fencedText = ({ byEpoch, by }: Fence): string => {
  const address = by?.apiAddress || by?.clusterAddresses[0]
  return `this primary is fenced: the newer epoch ${byEpoch} of its set ${address ? `is at ${address}` : 'exists'}`
}
