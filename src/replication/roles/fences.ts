import { uuid } from '../../base/id.js'
import {
  compareEpochs,
  currentEpoch,
  type EpochChain,
  extendChain,
  findSurplus,
  hasEnded,
  isOvertakenBy,
} from '../model/epoch.js'
import type { ReplicationHost } from '../host/host.js'
import { KINDS, type RoleRecords } from './role-records.js'
import type { Fence, KindRecord, PrimaryRecord } from '../model/state.js'
import type { Kind, Overtaker, Refusal, PeerIdentity } from '../model/types.js'

/** The reason that a stopping primary sends to its secondaries, which may then follow another primary of the set. */
export const EPOCH_ENDED: Refusal = {
  ok: false,
  code: 'over',
  text: 'this primary was demoted, and its epoch has ended',
}

interface FencesOptions {
  readonly host: Pick<ReplicationHost, 'clock' | 'log' | 'random' | 'store'>
  readonly roles: RoleRecords
  /** Called when this primary was overtaken: its streams must end. */
  readonly onFenced: (kind: Kind) => void
  /** Called when a new epoch has started: every stream must be reopened. */
  readonly onMoved: () => void
}

/**
 * Tracks which of this cluster's primary roles were overtaken by a newer epoch, and by which cluster. A fence applies
 * as soon as the newer primary is detected; the record is stored after that. A fence of the DR role also applies to the
 * performance role, because a cluster that replaces a DR primary also takes its performance role.
 */
export class Fences {
  readonly #options: FencesOptions
  /** Fences that are known but not stored yet. */
  readonly #met = new Map<Kind, Fence>()
  /** Serializes the starts of new epochs. */
  #beginning: Promise<unknown> = Promise.resolve()

  constructor(options: FencesOptions) {
    this.#options = options
  }

  of(kind: Kind): Fence | undefined {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary') return undefined
    return this.#own(kind, record) ?? (kind === 'performance' ? this.of('dr') : undefined)
  }

  /**
   * Records another primary of the set, or a cluster that follows another primary. Returns true if it overtakes this
   * primary.
   */
  meet(kind: Kind, other: PeerIdentity): boolean {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false
    const known = this.#own(kind, record)
    if (!known?.by || isOvertakenBy(known.by.epochs, other.epochs) || isNamedNow(known.by, other)) {
      this.#fence(kind, record, other, known?.sinceMs)
    }
    return true
  }

  /** Returns the refusal for callers of an overtaken primary. */
  refusal(fence: Fence): Refusal {
    return { ok: false, code: 'epoch', text: fencedText(fence), overtaker: fence.by }
  }

  /**
   * Returns true if one of the ended epochs fences this primary, or would fence it if a cluster whose epochs descend
   * from the ended epoch were detected.
   */
  isBelow(ended: EpochChain = []): boolean {
    return ended.length > 0 && KINDS.some((kind) => this.#isBelow(kind, ended))
  }

  /**
   * For each kind of replication in which an ended epoch fences this primary: starts an epoch with a higher number, and lifts
   * the fence. Ends all streams, so that every follower looks up its position again. Resolves when the change is durable.
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
    // A DR copy that was promoted took over the performance secondary ID of this cluster: each promotion adds one to the
    // number of the DR epoch and to the incarnation.
    const reclaimed = kinds.includes('dr') && roles.records.performance.mode === 'secondary' ? KINDS : kinds
    // The log switches to the new epoch before a follower learns of it.
    if (kinds.includes(writtenKind(roles.records))) await host.store.setEpoch(id)
    await roles.updateAll(reclaimed, (record) => {
      if (record.mode === 'secondary') return { ...record, incarnation: record.incarnation + beyond + 1 - before }
      if (record.mode !== 'primary') return record
      const { fenced: _, ...free } = record
      return { ...free, epochs: extendChain(record.epochs, id, fork, beyond) }
    })
    host.log.warn('a new epoch begins above an ended epoch', { kinds, epoch: id })
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
   * Returns the fence. A fence applies while the chain of the overtaker overtakes the chain of this primary, regardless
   * of which record was stored first.
   */
  #own(kind: Kind, record: PrimaryRecord): Fence | undefined {
    const fence = this.#met.get(kind) ?? record.fenced
    return fence?.by && !isOvertakenBy(record.epochs, fence.by.epochs) ? undefined : fence
  }

  #fence(kind: Kind, record: PrimaryRecord, other: PeerIdentity, sinceMs: number | undefined): void {
    const { host, roles, onFenced } = this.#options
    const epoch = currentEpoch(record.epochs)?.id ?? ''
    const byEpoch = currentEpoch(other.epochs)?.id ?? ''
    const forkIndex = findSurplus(record.epochs, other.epochs)?.after
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
    // The fence applies from memory until it is stored. Otherwise, this primary could still send data or acknowledge
    // writes in the meantime.
    roles
      .updatePrimary(kind, (latest) => ({ ...latest, fenced: fence }))
      .then(() => {
        if (this.#met.get(kind) === fence) this.#met.delete(kind)
      })
      .catch((error: unknown) => host.log.error('fence not stored', { kind, error: String(error) }))
  }
}

const chainOf = (record: KindRecord): EpochChain => (record.mode === 'disabled' ? [] : record.epochs)

/** Returns the kind whose epoch the log of this cluster is written in. */
const writtenKind = ({ dr }: Readonly<Record<Kind, KindRecord>>): Kind => (dr.mode === 'primary' ? 'dr' : 'performance')

/** Returns the overtaker. A follower knows the epochs of the newer primary, but not which cluster it is. */
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
