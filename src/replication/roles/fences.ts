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

interface FencesOptions {
  readonly host: Pick<ReplicationHost, 'clock' | 'log' | 'random' | 'store'>
  readonly roles: RoleRecords
  /** This primary was overtaken just now: nobody is fed any more. */
  readonly onFenced: (kind: Kind) => void
  /** A new epoch has begun: every stream is to be opened again. */
  readonly onMoved: () => void
}

/**
 * Which of this cluster's roles as primary were overtaken by a newer epoch, and by whom. True from the moment at which
 * another primary was heard of; the record follows. Who takes the place of a DR primary takes its performance role as well.
 */
export class Fences {
  readonly #options: FencesOptions
  /** Fences that are known, and not stored yet. */
  readonly #met = new Map<Kind, Fence>()
  /** One new epoch after the other. */
  #beginning: Promise<unknown> = Promise.resolve()

  constructor(options: FencesOptions) {
    this.#options = options
  }

  of(kind: Kind): Fence | undefined {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary') return undefined
    return this.#own(kind, record) ?? (kind === 'performance' ? this.of('dr') : undefined)
  }

  /** Takes note of another primary of the set, or of one that follows another primary. True when it goes beyond this one. */
  meet(kind: Kind, other: PeerIdentity): boolean {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false
    const known = this.#own(kind, record)
    if (!known?.by || isOvertakenBy(known.by.epochs, other.epochs) || isNamedNow(known.by, other)) {
      this.#fence(kind, record, other, known?.sinceMs)
    }
    return true
  }

  /** The refusal for whoever wants something of an overtaken primary. */
  refusal(fence: Fence): Refusal {
    return { ok: false, code: 'epoch', text: fencedText(fence), overtaker: fence.by }
  }

  /** Whether this primary is fenced by one of the epochs that have ended, or would be by a cluster that comes from one of them. */
  isBelow(ended: EpochChain = []): boolean {
    return ended.length > 0 && KINDS.some((kind) => this.#isBelow(kind, ended))
  }

  /**
   * Begins an epoch above those that have ended, in each kind that is below one of them, and lifts the fence there. Streams are
   * ended before, so no follower goes on over that point without looking for its place. Durable when it resolves.
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
    // The log goes on under the new epoch before a follower hears of that epoch.
    if (kinds.includes(writtenKind(roles.records))) await host.store.setEpoch(id)
    await roles.updateAll(kinds, (record) => {
      if (record.mode !== 'primary') return record
      const { fenced: _, ...free } = record
      return { ...free, epochs: extendChain(record.epochs, id, fork, beyond) }
    })
    host.log.warn('a new epoch begins, above one that has ended', { kinds, epoch: id })
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

  /** A fence holds for as long as the other chain goes beyond this one, whatever was stored in which order. */
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
    // Known from memory until it is stored: in between somebody would be fed, or told that a write was taken.
    roles
      .update(kind, (latest) => (latest.mode === 'primary' ? { ...latest, fenced: fence } : latest))
      .then(() => {
        if (this.#met.get(kind) === fence) this.#met.delete(kind)
      })
      .catch((error: unknown) => host.log.error('fence not stored', { kind, error: String(error) }))
  }
}

const chainOf = (record: KindRecord): EpochChain => (record.mode === 'disabled' ? [] : record.epochs)

/** The kind whose epoch the log of this cluster is written in. */
const writtenKind = ({ dr }: Readonly<Record<Kind, KindRecord>>): Kind => (dr.mode === 'primary' ? 'dr' : 'performance')

/** A follower knows the epochs of the newer primary, and does not say who that is. */
const overtakerOf = ({ isPrimary, clusterId, epochs, apiAddress, clusterAddresses }: PeerIdentity): Overtaker =>
  isPrimary
    ? { clusterId, epochs, apiAddress, clusterAddresses }
    : { clusterId: '', epochs, apiAddress: '', clusterAddresses: [] }

const isNamedNow = (known: Overtaker, other: PeerIdentity): boolean =>
  known.clusterId === '' && other.isPrimary === true && compareEpochs(known.epochs, other.epochs) === 'same'

const fencedText = ({ byEpoch, by }: Fence): string => {
  const address = by?.apiAddress || by?.clusterAddresses[0]
  const where = address ? `, is at ${address}` : ' exists'
  return `this primary is fenced: epoch ${byEpoch} of its set, which is newer${where}`
}
