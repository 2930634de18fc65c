import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import { LogicalError } from '../../logical/errors.js'
import type { ClusterTransport, PrimaryConnection } from '../../replication/rpc/transport.js'
import type { PrimaryCredentials, ReplicationTimes } from '../../replication/types.js'
import { callerCredentials, type NodeAuthority } from './node-authority.js'

interface ActiveLinkOptions {
  readonly transport: ClusterTransport
  readonly times: ReplicationTimes
  /** Undefined while none can be read here; the last one stays good. */
  readonly authority: () => NodeAuthority | undefined
  readonly clock: Clock
  readonly random: Random
  readonly certificateKeys: CertificateKeys | undefined
}

interface Link {
  readonly address: string
  readonly connection: Promise<PrimaryConnection>
}

/** The one connection of a standby to the active node: made when it is needed, and kept while that node is active. */
export class ActiveLink {
  readonly #options: ActiveLinkOptions
  readonly #stop = new AbortController()
  #link: Link | undefined
  #shown: { readonly serverName: string; readonly credentials: Promise<PrimaryCredentials> } | undefined

  constructor(options: ActiveLinkOptions) {
    this.#options = options
  }

  /** The connection to the cluster port at this address. Rejects with a LogicalError when there is none to be had. */
  connect(address: string): Promise<PrimaryConnection> {
    if (this.#link?.address === address) return this.#link.connection
    this.#drop()
    const connection = this.#dial(address)
    const link = { address, connection }
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
