import type { Facilities } from '../../base/facilities.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import { LogicalError } from '../../logical/errors.js'
import type { ClusterTransport, PrimaryConnection } from '../../replication/rpc/transport.js'
import type { PrimaryCredentials, ReplicationTimes } from '../../replication/model/types.js'
import type { LeaderRecord } from '../../storage/shared-log/shared-log.js'
import { callerCredentials, type NodeAuthority } from './node-authority.js'

interface ActiveLinkOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly transport: ClusterTransport
  readonly times: ReplicationTimes
  /** Returns the CA; undefined if it cannot be read here. The last one stays valid. */
  readonly authority: () => NodeAuthority | undefined
  readonly certificateKeys: CertificateKeys | undefined
}

type Active = Pick<LeaderRecord, 'clusterAddress' | 'term'>

interface Link {
  readonly to: Active
  readonly connection: Promise<PrimaryConnection>
}

/**
 * The connection of a standby to the active node, opened on demand and kept for its term. A node that is active again in
 * another term may have lost power in between, and does not respond on an old connection.
 */
export class ActiveLink {
  readonly #options: ActiveLinkOptions
  readonly #stop = new AbortController()
  #link: Link | undefined
  #shown: { readonly serverName: string; readonly credentials: Promise<PrimaryCredentials> } | undefined

  constructor(options: ActiveLinkOptions) {
    this.#options = options
  }

  /** Returns the connection to the active node's cluster port. Rejects with a LogicalError if none can be made. */
  connect(to: Active): Promise<PrimaryConnection> {
    const { clusterAddress: address, term } = to
    if (this.#link?.to.clusterAddress === address && this.#link.to.term === term) return this.#link.connection
    this.#drop()
    const connection = this.#dial(address)
    const link = { to, connection }
    this.#link = link
    const forget = () => {
      if (this.#link === link) this.#link = undefined
    }
    connection.then(({ lost }) => lost.addEventListener('abort', forget, { once: true }), forget)
    return connection
  }

  close(): void {
    this.#stop.abort(new LogicalError('unavailable', 'the server is stopping'))
    this.#drop()
  }

  async #dial(address: string): Promise<PrimaryConnection> {
    const { transport, times } = this.#options
    return transport.connect(address, { credentials: await this.#credentials(), times, signal: this.#stop.signal })
  }

  #credentials(): Promise<PrimaryCredentials> {
    const { authority, random, clock, certificateKeys } = this.#options
    const known = authority()
    if (known && this.#shown?.serverName !== known.identity.serverName) {
      const credentials = callerCredentials(known, random, clock.now(), certificateKeys)
      const shown = { serverName: known.identity.serverName, credentials }
      this.#shown = shown
      credentials.catch(() => {
        if (this.#shown === shown) this.#shown = undefined
      })
    }
    if (!this.#shown) throw new LogicalError('unavailable', 'no other node of the cluster was active yet')
    return this.#shown.credentials
  }

  #drop(): void {
    this.#link?.connection.then(
      (connection) => connection.close(),
      () => undefined,
    )
    this.#link = undefined
  }
}
