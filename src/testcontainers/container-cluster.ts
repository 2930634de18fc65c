import type { StartedTestContainer } from 'testcontainers'
import type { ApiClient } from '../client/api-client.js'
import { containerHostOf, SERVER_PORTS } from '../lab/containers/container-daemon.js'
import type { KeyRing } from '../lab/keys/key-ring.js'
import { clientOf } from '../lab/model/cluster.js'
import type { Kind } from '../lab/model/kinds.js'
import { statusOf } from '../lab/requests/replication.js'
import { addressOf } from './understudy-container.js'

/**
 * A cluster of a lab of containers.
 *
 * @example
 * import { type ContainerCluster, UnderstudyLab } from 'understudy-lab/testcontainers'
 *
 * await using lab = await new UnderstudyLab('dr').start()
 * const a: ContainerCluster = lab.cluster('A')
 * const { output } = await a.container.exec(['vault', 'status'])
 * console.log(a.address, output)
 */
export class ContainerCluster {
  readonly name: string
  /** For `exec`, logs, and other functions of testcontainers. If you stop it, start it again on the same port. */
  readonly container: StartedTestContainer
  /** `http://host:port`, as reachable from this machine. */
  readonly address: string
  readonly isRunning = true
  /** A client without a token, or with the token of the call. */
  readonly anonymous: ApiClient
  /** A client with the valid root token, through joins, promotions and failovers. On a DR secondary, without a token. */
  readonly client: ApiClient
  readonly #keys: KeyRing

  constructor(name: string, container: StartedTestContainer, keys: KeyRing) {
    this.name = name
    this.container = container
    this.#keys = keys
    this.address = addressOf(container)
    this.anonymous = clientOf({ apiAddress: this.address, rootToken: '' }).with({
      onAnswer: async ({ method, path, status }) => {
        if (method !== 'GET' && status < 300) await keys.noteCall(name, path)
      },
    })
    this.client = this.anonymous.with({ tokens: keys.tokensOf(name) })
  }

  get apiAddress(): string {
    return this.address
  }

  /** The address for the other containers. */
  get clusterAddress(): string {
    return clusterAddressOf(this.name)
  }

  get unsealKeys(): readonly string[] {
    return this.#keys.keysOf(this.name).unsealKeys
  }

  /** Returns the root token that is valid now, for other clients. Undefined without one, as on a DR secondary. */
  token(): Promise<string | undefined> {
    return this.#keys.findToken(this.name)
  }

  /** Returns the response of `sys/replication/<kind>/status`, which needs no token. */
  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  disconnect(): void {
    this.client.close()
    this.anonymous.close()
  }
}

export const clusterAddressOf = (name: string): string => `https://${containerHostOf(name)}:${SERVER_PORTS.cluster}`
