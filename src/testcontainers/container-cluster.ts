import type { StartedTestContainer } from 'testcontainers'
import type { ApiClient } from '../client/api-client.js'
import { containerHostOf, SERVER_PORTS } from '../lab/containers/container-daemon.js'
import type { KeyRing } from '../lab/keys/key-ring.js'
import { CheckedClient } from '../lab/requests/checked-client.js'
import { clientOf } from '../lab/model/cluster.js'
import type { Kind } from '../lab/model/kinds.js'
import { statusOf } from '../lab/requests/replication.js'
import { addressOf } from './understudy-container.js'

/**
 * A cluster of a lab in containers.
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
  /** The container, for `exec`, logs and other functions of testcontainers. It must keep its port. */
  readonly container: StartedTestContainer
  /** The API address for programs on this machine: `http://host:port`. */
  readonly address: string
  readonly isRunning = true
  /** A client without a token. A single call can specify a token. */
  readonly anonymous: ApiClient
  /** A client that always uses the current root token, also after a failover. It has no token on a DR secondary. */
  readonly client: ApiClient
  readonly #keys: KeyRing

  constructor(name: string, container: StartedTestContainer, keys: KeyRing) {
    this.name = name
    this.container = container
    this.#keys = keys
    this.address = addressOf(container)
    this.anonymous = clientOf({ apiAddress: this.address, rootToken: '' }, undefined, CheckedClient).with({
      onAnswer: async ({ method, path, status }) => {
        if (method !== 'GET' && status < 300) await keys.noteCall(name, path)
      },
    })
    this.client = this.anonymous.with({ tokens: keys.tokensOf(name) })
  }

  get apiAddress(): string {
    return this.address
  }

  /** The cluster address, for the other containers. */
  get clusterAddress(): string {
    return clusterAddressOf(this.name)
  }

  get unsealKeys(): readonly string[] {
    return this.#keys.keysOf(this.name).unsealKeys
  }

  /** Returns the current root token, for other clients. Returns undefined if there is none, as on a DR secondary. */
  token(): Promise<string | undefined> {
    return this.#keys.findToken(this.name)
  }

  /** Returns the response of `sys/replication/<kind>/status`, which requires no token. */
  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  disconnect(): void {
    this.client.close()
    this.anonymous.close()
  }
}

export const clusterAddressOf = (name: string): string => `https://${containerHostOf(name)}:${SERVER_PORTS.cluster}`
