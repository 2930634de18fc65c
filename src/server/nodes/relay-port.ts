import type { Facilities } from '../../base/facilities.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { Storage } from '../../logical/storage.js'
import type { ClusterService } from '../../replication/rpc/service.js'
import type { ClusterPort } from '../../replication/rpc/transport.js'
import { ensureAuthority } from './node-authority.js'

interface RelayPortOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly port: () => ClusterPort
  /** Answers standbys while this node is active. */
  readonly relayService: ClusterService
  readonly certificateKeys: CertificateKeys | undefined
}

/**
 * The cluster port of a node for its standbys. Once it is served, it responds in every state, if only to report that this
 * node is not active.
 */
export class RelayPort {
  readonly #options: RelayPortOptions
  /** The name under which standbys reach this node. */
  #served: string | undefined

  constructor(options: RelayPortOptions) {
    this.#options = options
  }

  /** Serves the port with the CA in storage, or with one set later. */
  async serve(storage: Storage): Promise<void> {
    const { port, relayService, random, clock, certificateKeys } = this.#options
    const { identity } = await ensureAuthority(storage, random, clock.now(), certificateKeys)
    if (this.#served === identity.serverName) return
    if (this.#served !== undefined) port().withdraw(this.#served)
    port().serve(identity, relayService)
    this.#served = identity.serverName
  }
}
