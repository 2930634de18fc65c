import { uuid } from '../../base/id.js'
import { compareEpochs, currentEpoch, extendChain, findSurplus, isOvertakenBy } from './epoch.js'
import type { ReplicationHost } from '../host.js'
import type { RoleRecords } from './role-records.js'
import type { Fence, PrimaryRecord } from './state.js'
import type { Kind, Overtaker, Refusal, PeerIdentity } from '../types.js'

interface FencesOptions {
  readonly host: Pick<ReplicationHost, 'clock' | 'log' | 'random' | 'store'>
  readonly roles: RoleRecords
  /** This primary was overtaken just now: nobody is fed any more. */
  readonly onFenced: (kind: Kind) => void
}

/**
 * Which of this cluster's roles as primary were overtaken by a newer epoch, and by whom. True from the moment at which
 * another primary was heard of; the record follows. Who takes the place of a DR primary takes its performance role as well.
 */
export class Fences {
  readonly #options: FencesOptions
  /** Fences that are known, and not stored yet. */
  readonly #met = new Map<Kind, Fence>()

  constructor(options: FencesOptions) {
    this.#options = options
  }

  of(kind: Kind): Fence | undefined {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary') return undefined
    return this.#met.get(kind) ?? record.fenced ?? (kind === 'performance' ? this.of('dr') : undefined)
  }

  /** Takes note of another primary of the set, or of one that follows another primary. True when it goes beyond this one. */
  meet(kind: Kind, other: PeerIdentity): boolean {
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false
    const known = this.#met.get(kind) ?? record.fenced
    if (!known?.by || isOvertakenBy(known.by.epochs, other.epochs) || isNamedNow(known.by, other)) {
      this.#fence(kind, record, other, known?.sinceMs)
    }
    return true
  }

  /** The refusal for whoever wants something of an overtaken primary. */
  refusal(fence: Fence): Refusal {
    return { ok: false, code: 'epoch', text: fencedText(fence), overtaker: fence.by }
  }

  /**
   * The one that had overtaken this primary is about to follow it, as an operator wants: this one goes on with an epoch
   * that is above the other's. Nobody is fed meanwhile, so no log is followed over that point unnoticed.
   */
  async liftFor(kind: Kind, who: PeerIdentity): Promise<void> {
    const fence = this.of(kind)
    if (fence?.by === undefined || fence.by.clusterId !== who.clusterId) return
    const { host, roles } = this.#options
    const beginIndex = host.store.position.index
    const beyond = currentEpoch(fence.by.epochs)?.number ?? 0
    // Asked before the first is lifted: what fences the DR role fences the other one with it.
    const kinds = (kind === 'dr' ? (['dr', 'performance'] as const) : [kind]).filter(
      (one) => this.of(one) !== undefined,
    )
    for (const lifted of kinds) {
      const id = uuid(host.random)
      await roles.update(lifted, (record) => {
        if (record.mode !== 'primary') return record
        const { fenced: _, ...free } = record
        const fork = { forkIndex: beginIndex, beginIndex, alignedFrom: 0 }
        return { ...free, epochs: extendChain(record.epochs, id, fork, beyond) }
      })
      this.#met.delete(lifted)
    }
    const { dr } = roles.records
    const written = dr.mode === 'primary' ? 'dr' : 'performance'
    const record = roles.record(written)
    const epoch = record.mode === 'primary' ? currentEpoch(record.epochs)?.id : undefined
    if (epoch !== undefined) await host.store.setEpoch(epoch)
    host.log.warn('no longer fenced: the newer primary follows this one', { kind, cluster_id: who.clusterId })
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
