import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { ResponseReservation } from '../../logical/request.js'
import { encodeRelayFailure, encodeRendered } from '../../replication/forwarding/relayed-answer.js'
import { decodeRelayed, type Relayed } from '../../replication/forwarding/relayed-request.js'
import { refusalError } from '../../replication/rpc/refusal.js'
import type { ClusterService } from '../../replication/rpc/service.js'
import { goneOf } from '../runtime/admission.js'
import { ensureAuthority, memberSerialOf } from './node-authority.js'
import type { Facilities } from '../../base/facilities.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { Storage } from '../../logical/storage.js'
import type { ClusterPort } from '../../replication/rpc/transport.js'
import { refusingService, standbyRefusal } from '../../replication/rpc/active-node.js'
import { serverIdentityOf } from '../../replication/credentials/ca.js'
import { isDormant } from '../../replication/model/machine.js'
import { KINDS } from '../../replication/roles/role-records.js'
import { readRecord, stageOf } from '../../replication/model/state.js'
import type { ServerIdentity } from '../../replication/model/types.js'
import type { LeaderRecord } from '../../storage/shared-log/shared-log.js'
import type { Runtime } from '../runtime/runtime.js'

interface RelayServiceOptions {
  /**
   * Serves a request as if a client had sent it to this node. Rejects with `NotActive`, without executing the request,
   * if this node is not active.
   */
  readonly serve: (request: IncomingRequest, how: Omit<Relayed, 'request'>) => Promise<Rendered>
  /** Reserves memory budget for a large response until the call ends. */
  readonly reservationForCall: (ended: AbortSignal) => ResponseReservation
  readonly appliedIndex: () => number
  /** Returns true if the etcd certificate with this serial number belongs to a removed node. */
  readonly isRevoked: (serial: string) => boolean
  readonly log: Log
}

/** The error if this node is not active. It has not executed the request. */
export class NotActive extends Error {
  override readonly name = 'NotActive'
}

/** Creates the service that a node provides to the standbys of its cluster. */
export const createRelayService = (options: RelayServiceOptions): ClusterService => {
  const { serve, reservationForCall, appliedIndex, isRevoked, log } = options
  const refusing = refusingService(() => refusalError('forbidden', 'a standby may call only the method "forward"'))
  return {
    ...refusing,
    forward: async ({ gone, commonName }, { payload }) => {
      const member = memberSerialOf(commonName)
      if (member !== undefined)
        throw isRevoked(member)
          ? refusalError('revoked', 'this node was removed from its cluster')
          : refusalError('forbidden', 'the certificate of an etcd member is for the etcd peer port only')
      const { request, ...how } = decodeRelayed(payload)
      try {
        const rendered = await serve(
          { ...request, responseBudget: reservationForCall(gone), onGone: goneOf(gone) },
          how,
        )
        return { who: null, payload: encodeRendered(rendered, appliedIndex()) }
      } catch (error) {
        if (error instanceof NotActive) throw refusalError('unavailable', 'this node is not the active node')
        return { who: null, payload: encodeRelayFailure(asLogical(error, log), appliedIndex()) }
      }
    },
  }
}

/** Logs an unexpected error on this node, and hides its details from the client. */
const asLogical = (error: unknown, log: Log): LogicalError => {
  if (error instanceof LogicalError) return error
  log.error('a request failed with an internal error', { error })
  return new LogicalError('internal', 'internal error')
}

interface RelayPortOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly port: ClusterPort
  readonly relayService: ClusterService
  readonly certificateKeys: CertificateKeys | undefined
}

/**
 * The cluster port of a node, as the standbys of its cluster use it. After `serve`, the port responds in every state.
 * If this node is not active, the response says so.
 */
export class RelayPort {
  readonly #options: RelayPortOptions
  /** The TLS server name with which standbys connect to this node. */
  #served: string | undefined

  constructor(options: RelayPortOptions) {
    this.#options = options
  }

  /** Serves the port with the stored CA. Creates a missing CA. Replaces the identity of a previous CA. */
  async serve(storage: Storage): Promise<void> {
    const { port, relayService, random, clock, certificateKeys } = this.#options
    const { identity } = await ensureAuthority(storage, random, clock.now(), certificateKeys)
    if (this.#served === identity.serverName) return
    if (this.#served !== undefined) port.withdraw(this.#served)
    port.serve(identity, relayService)
    this.#served = identity.serverName
  }
}

interface StandbyPortOptions {
  readonly port: ClusterPort
  /** Returns the runtime that follows the log; undefined if this node is no standby. The port then does not respond. */
  readonly following: () => Pick<Runtime, 'store' | 'barrier'> | undefined
  readonly activeNode: () => LeaderRecord | undefined
  readonly log: Log
}

/** The cluster port of a standby, as the secondaries of its cluster use it. Redirects callers to the active node. */
export class StandbyPort {
  readonly #options: StandbyPortOptions
  #served: readonly string[] = []
  #followed: { readonly store: Runtime['store']; readonly end: () => void } | undefined

  constructor(options: StandbyPortOptions) {
    this.#options = options
  }

  /** Updates the served identities. Must be called when the node becomes a standby or stops being one. */
  update(): void {
    const store = this.#options.following()?.store
    if (store === this.#followed?.store) return
    this.#followed?.end()
    this.#followed = store && { store, end: store.onChange({ roles: () => this.#serve() }) }
    this.#serve()
  }

  #serve(): void {
    const { port, activeNode } = this.#options
    const identities = this.#findIdentities()
    if (!identities) return
    const names = identities.map(({ serverName }) => serverName)
    for (const name of this.#served) if (!names.includes(name)) port.withdraw(name)
    const service = refusingService(() => standbyRefusal(activeNode()))
    for (const identity of identities) if (!this.#served.includes(identity.serverName)) port.serve(identity, service)
    this.#served = names
  }

  /**
   * Returns the identities that the active node presents to its secondaries. Excludes identities that a DR secondary
   * keeps for a later role. Returns undefined if the storage cannot be read, for example during shutdown. The current
   * identities then stay.
   */
  #findIdentities(): readonly ServerIdentity[] | undefined {
    try {
      const { barrier } = this.#options.following() ?? {}
      if (!barrier || barrier.isSealed) return []
      const storage = barrier.view('')
      const records = { dr: readRecord(storage, 'dr'), performance: readRecord(storage, 'performance') }
      const stages = { dr: stageOf(records.dr), performance: stageOf(records.performance) }
      return KINDS.flatMap((kind) => {
        const record = records[kind]
        return record.mode === 'primary' && !isDormant(kind, { stages }) ? [serverIdentityOf(record.ca)] : []
      })
    } catch (error) {
      this.#options.log.warn('cannot read the CAs of the cluster', { error })
      return undefined
    }
  }
}
