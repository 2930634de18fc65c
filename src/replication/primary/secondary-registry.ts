import type { Clock } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import type { PrimaryStream } from '../rpc/service.js'
import { refusalError } from '../rpc/refusal.js'
import type { SecondaryView, StreamState, PeerIdentity } from '../model/types.js'

/** The measurements of a heartbeat. The clock skew is the clock of this cluster minus the clock of the secondary. */
type Heartbeat = Pick<SecondaryView, 'lastHeartbeatDurationMs' | 'clockSkewMs' | 'canaryAgeMs' | 'state'>

interface Seen {
  who: PeerIdentity
  stream: PrimaryStream | undefined
  readonly commonName: string
  measured: Heartbeat & Pick<SecondaryView, 'lastHeartbeatMs' | 'appliedIndex'>
}

/**
 * The secondaries that have connected to a primary since it started. Each secondary ID has one stream. A new stream of
 * the same cluster replaces the old one. If two clusters use the same ID, the cluster with the higher incarnation wins.
 */
export class SecondaryRegistry {
  readonly #seen = new Map<string, Seen>()
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #watchers = new Listeners()
  readonly watch = this.#watchers.add

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock
    this.#onChange = () => {
      onChange()
      this.#watchers.emit()
    }
  }

  /**
   * Registers a new stream, and ends the previous stream of the same ID. Throws a refusal (`superseded`) if another
   * cluster with a higher incarnation uses this ID.
   */
  opened(secondaryId: string, commonName: string, who: PeerIdentity, stream: PrimaryStream): void {
    const before = this.#seen.get(secondaryId)
    if (before && isOlder(who, before.who)) {
      throw refusalError('superseded', `another cluster has replaced secondary "${secondaryId}"`)
    }
    before?.stream?.end(
      before.who.clusterId === who.clusterId
        ? refusalError('unavailable', 'this secondary has opened another stream')
        : refusalError('superseded', `another cluster has replaced secondary "${secondaryId}"`),
    )
    const { lastHeartbeatDurationMs = 0, clockSkewMs = 0, canaryAgeMs = 0 } = before?.measured ?? {}
    const heartbeat = { lastHeartbeatMs: this.#clock.now(), lastHeartbeatDurationMs, clockSkewMs, canaryAgeMs }
    const measured = { ...heartbeat, appliedIndex: 0, state: 'merkle-diff' } as const
    this.#seen.set(secondaryId, { who, stream, commonName, measured })
    this.#onChange()
  }

  /** Records the end of a stream. The secondary is then disconnected, but keeps its addresses and last heartbeat. */
  closed(secondaryId: string, stream: PrimaryStream): void {
    const seen = this.#seen.get(secondaryId)
    if (seen?.stream !== stream) return
    seen.stream = undefined
    this.#onChange()
  }

  applied(secondaryId: string, stream: PrimaryStream, index: number, state: StreamState): void {
    const seen = this.#seen.get(secondaryId)
    if (seen?.stream !== stream) return
    seen.measured = { ...seen.measured, appliedIndex: index, state }
    this.#watchers.emit()
  }

  /** Records a heartbeat. Ignores a sender without a stream, for example because it was revoked or replaced. */
  heard(secondaryId: string, who: PeerIdentity, heartbeat: Heartbeat): void {
    const seen = this.#seen.get(secondaryId)
    if (!seen?.stream || seen.who.clusterId !== who.clusterId) return
    const isMoved =
      seen.who.apiAddress !== who.apiAddress || String(seen.who.clusterAddresses) !== String(who.clusterAddresses)
    seen.who = who
    seen.measured = { ...seen.measured, ...heartbeat, lastHeartbeatMs: this.#clock.now() }
    if (isMoved) this.#onChange()
  }

  /** Ends the stream of a secondary as revoked, and removes it. Returns the common name of its certificate. */
  revoke(secondaryId: string): string | undefined {
    const seen = this.#seen.get(secondaryId)
    this.#seen.delete(secondaryId)
    seen?.stream?.end(refusalError('revoked', `secondary "${secondaryId}" is revoked`))
    this.#onChange()
    return seen?.commonName
  }

  get streams(): readonly PrimaryStream[] {
    return [...this.#seen.values()].flatMap((seen) => (seen.stream ? [seen.stream] : []))
  }

  find(secondaryId: string): SecondaryView | undefined {
    const seen = this.#seen.get(secondaryId)
    return seen && toView(secondaryId, seen)
  }

  /** Returns all secondaries that have connected since the start, sorted by ID. */
  views(): SecondaryView[] {
    return [...this.#seen]
      .map(([secondaryId, seen]) => toView(secondaryId, seen))
      .sort((a, b) => (a.secondaryId < b.secondaryId ? -1 : 1))
  }
}

const isOlder = (newcomer: PeerIdentity, known: PeerIdentity): boolean =>
  newcomer.clusterId !== known.clusterId && (newcomer.incarnation ?? 0) < (known.incarnation ?? 0)

const toView = (secondaryId: string, { who, stream, measured }: Seen): SecondaryView => ({
  secondaryId,
  isConnected: stream !== undefined,
  apiAddress: who.apiAddress,
  clusterAddresses: who.clusterAddresses,
  clusterId: who.clusterId,
  ...measured,
})
