import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers'
import { systemClock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { wireClusters } from '../lab/attach/wiring.js'
import { clientOf } from '../lab/model/cluster.js'
import type { Kind } from '../lab/model/kinds.js'
import { LabError } from '../lab/model/lab-error.js'
import type { KeyRing } from '../lab/keys/key-ring.js'
import { OperableLab } from '../lab/library/operable-lab.js'
import { statusOf } from '../lab/requests/replication.js'
import { settingsOf } from '../lab/runner/server-plan.js'
import { requireValid } from '../lab/documents/check.js'
import { mapWith } from '../lab/documents/schema.js'
import { TIMEOUT } from '../lab/library/options.js'
import { LAB_SETTINGS, type LabSettings, requireSettings } from '../lab/model/settings.js'
import { planOf, requireSingle, type Topology } from '../lab/model/topology.js'
import { loadTopology } from '../lab/topology/catalogue.js'
import { SETTINGS_OBJECT } from '../lab/topology/schema.js'
import { addressOf, API_PORT, DEFAULT_IMAGE } from './understudy-container.js'

/**
 * Options of a lab in containers. An unknown option or setting causes LabError `usage`.
 *
 * @example
 * import { UnderstudyLab, type UnderstudyLabOptions } from 'understudy-lab/testcontainers'
 *
 * const options: UnderstudyLabOptions = { image: 'registry.example/understudy', timeoutMs: 120_000 }
 * await using lab = await new UnderstudyLab('pr', options).start()
 */
export interface UnderstudyLabOptions {
  /** Default: `understudy`. */
  readonly image?: string | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Timeout of each wait in milliseconds. Default: 60 000. */
  readonly timeoutMs?: number | undefined
}

const TIMEOUT_MS = 60_000
const STOP_MS = 20_000
const OPTIONS = mapWith({ image: { type: 'string' }, settings: SETTINGS_OBJECT, timeoutMs: TIMEOUT })

/**
 * A topology as containers on one network: one container per cluster, with the lower-case cluster name as its host name. Start
 * rejects with LabError (`usage` for an unknown topology, option or setting, `timeout` with the condition that was still false)
 * or with the error of testcontainers, and then stops the started containers.
 *
 * @example
 * import { UnderstudyLab } from 'understudy-lab/testcontainers'
 *
 * await using lab = await new UnderstudyLab('dr').start()
 * await lab.cluster('A').client.write('sys/mounts/kv', { type: 'kv' })
 * await lab.failover('A', 'B')
 */
export class UnderstudyLab {
  readonly #topology: Topology
  readonly #options: UnderstudyLabOptions

  /** `topology`: the name of a bundled topology, a file, or an object. */
  constructor(topology: string | Topology, options: UnderstudyLabOptions = {}) {
    requireValid('UnderstudyLab', OPTIONS, options, 'options')
    requireSettings(options.settings ?? {})
    this.#topology = typeof topology === 'string' ? loadTopology(topology) : topology
    this.#options = options
    requireSingle(this.#topology, 'a lab of containers')
    for (const name of this.#topology.clusters) {
      const { tls, seal } = planOf(this.#topology, name)
      if (tls || seal?.type === 'auto')
        throw new LabError('usage', `${name} uses TLS or auto-unseal, which UnderstudyLab does not support`)
    }
  }

  async start(): Promise<StartedUnderstudyLab> {
    const { timeoutMs = TIMEOUT_MS } = this.#options
    const network = await new Network().start()
    const containers = new Map<string, StartedTestContainer>()
    try {
      const started = this.#topology.clusters.map(async (name) => {
        containers.set(name, await this.#startContainer(name, network, timeoutMs))
      })
      for (const result of await Promise.allSettled(started)) if (result.status === 'rejected') throw result.reason
      const lab = new StartedUnderstudyLab(this.#topology, containers, network, timeoutMs)
      await lab.wire()
      return lab
    } catch (error) {
      await stopAll(containers, network)
      throw error
    }
  }

  #startContainer(name: string, network: StartedNetwork, timeoutMs: number): Promise<StartedTestContainer> {
    const { image = DEFAULT_IMAGE, settings = {} } = this.#options
    const host = name.toLowerCase()
    const config = {
      listener: { tcp: { address: `0.0.0.0:${API_PORT}`, tls_disable: true } },
      storage: { raft: { path: '/vault/file', node_id: name } },
      api_addr: `http://${host}:${API_PORT}`,
      cluster_addr: clusterAddressOf(name),
      cluster_name: name,
      understudy: {
        ...LAB_SETTINGS,
        ...settingsOf(this.#topology, name),
        ...settings,
      },
    }
    return new GenericContainer(image)
      .withNetwork(network)
      .withNetworkAliases(host)
      .withEnvironment({ VAULT_LOCAL_CONFIG: JSON.stringify(config) })
      .withCommand(['server'])
      .withExposedPorts(API_PORT)
      .withWaitStrategy(Wait.forHealthCheck())
      .withStartupTimeout(timeoutMs)
      .start()
  }
}

/**
 * A running lab of containers. The caller must stop it.
 *
 * @example
 * import { type StartedUnderstudyLab, UnderstudyLab } from 'understudy-lab/testcontainers'
 *
 * const lab: StartedUnderstudyLab = await new UnderstudyLab('pr-dr').start()
 * await lab.switchover('A', 'B', { onCall: (line) => console.log(line) })
 * await lab.converged({ timeoutMs: 120_000 })
 * await lab.stop()
 */
export class StartedUnderstudyLab extends OperableLab<string, ContainerCluster> {
  readonly clusters: readonly ContainerCluster[]
  readonly #containers: ReadonlyMap<string, StartedTestContainer>
  readonly #network: StartedNetwork

  constructor(
    topology: Topology,
    containers: ReadonlyMap<string, StartedTestContainer>,
    network: StartedNetwork,
    timeoutMs: number,
  ) {
    super(topology, timeoutMs)
    this.#containers = containers
    this.#network = network
    this.clusters = [...containers].map(([name, container]) => new ContainerCluster(name, container, this.keys))
  }

  /** Initializes, unseals and joins the new servers. */
  async wire(): Promise<void> {
    const addresses = new Map(this.clusters.map(({ name, address }) => [name, address]))
    const { wired } = await wireClusters(this.topology, addresses, undefined, {
      shares: 1,
      threshold: 1,
      timeoutMs: this.timeoutMs,
      clock: systemClock,
      onProgress: () => undefined,
      onKeep: () => undefined,
    })
    for (const cluster of wired.clusters) this.keys.set(cluster.name, cluster)
  }

  /** Stops and removes the containers and their network. */
  async stop(): Promise<void> {
    for (const cluster of this.clusters) cluster.disconnect()
    await stopAll(this.#containers, this.#network)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** Returns none: the network between the containers belongs to Docker. */
  protected override findFaultyLinks(): readonly string[] {
    return []
  }
}

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

const clusterAddressOf = (name: string): string => `https://${name.toLowerCase()}:8201`

const stopAll = async (
  containers: ReadonlyMap<string, StartedTestContainer>,
  network: StartedNetwork,
): Promise<void> => {
  await Promise.allSettled([...containers.values()].map((container) => container.stop({ timeout: STOP_MS })))
  await network.stop()
}
