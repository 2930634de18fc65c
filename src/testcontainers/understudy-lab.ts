import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers'
import { systemClock } from '../base/clock.js'
import { wireClusters } from '../lab/attach/wiring.js'
import {
  CONTROL_PORT,
  DAEMON_HEALTH,
  dialRoutesThroughDaemon,
  containerHostOf,
  LINKS,
  planDaemonContainer,
} from '../lab/containers/container-daemon.js'
import { isOfLink } from '../lab/daemon/active-fault.js'
import { LabDaemonClient } from '../lab/daemon/lab-daemon-client.js'
import { LabError } from '../lab/model/lab-error.js'
import { OperableLab } from '../lab/library/operable-lab.js'
import { settingsOf } from '../lab/runner/server-plan.js'
import { requireValid } from '../lab/documents/check.js'
import { mapWith } from '../lab/documents/schema.js'
import { TIMEOUT } from '../lab/library/options.js'
import { LAB_SETTINGS, type LabSettings, requireSettings } from '../lab/model/settings.js'
import { planOf, requireSingle, type Topology } from '../lab/model/topology.js'
import { loadTopology } from '../lab/topology/catalogue.js'
import { SETTINGS_OBJECT } from '../lab/topology/schema.js'
import { ContainerCluster, clusterAddressOf } from './container-cluster.js'
import { ContainerLink } from './container-link.js'
import { API_PORT, DEFAULT_IMAGE } from './understudy-container.js'

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
  /** The image of all containers. Default: `understudy`. */
  readonly image?: string | undefined
  /** Settings of the configuration stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Timeout of each wait, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined
}

const TIMEOUT_MS = 60_000
const STOP_MS = 20_000
const OPTIONS = mapWith({ image: { type: 'string' }, settings: SETTINGS_OBJECT, timeoutMs: TIMEOUT })

/**
 * A topology in containers on one network. Each cluster is one container, whose host name is the cluster name in lower
 * case. If `start` fails, it removes the containers. Errors:
 * - LabError `usage`: unknown topology, option or setting
 * - LabError `timeout`: a condition was not met in time
 * - the error of testcontainers
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

  /**
   * `topology`: the name of a bundled topology, a file, or an object. Throws LabError `usage` for TLS and auto-unseal,
   * which are not supported.
   */
  constructor(topology: string | Topology, options: UnderstudyLabOptions = {}) {
    requireValid('UnderstudyLab', OPTIONS, options, 'options')
    requireSettings(options.settings ?? {})
    this.#topology = typeof topology === 'string' ? loadTopology(topology) : topology
    this.#options = options
    requireSingle(this.#topology, 'a lab in containers')
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
      const started = [
        this.#startDaemon(network, timeoutMs).then((daemon) => containers.set(LINKS, daemon)),
        ...this.#topology.clusters.map(async (name) => {
          containers.set(name, await this.#startServer(name, network, timeoutMs))
        }),
      ]
      for (const result of await Promise.allSettled(started)) if (result.status === 'rejected') throw result.reason
      const lab = new StartedUnderstudyLab(this.#topology, containers, network, timeoutMs)
      await lab.wire()
      return lab
    } catch (error) {
      await stopAll(containers, network)
      throw error
    }
  }

  #startDaemon(network: StartedNetwork, timeoutMs: number): Promise<StartedTestContainer> {
    const { entrypoint, user, environment } = planDaemonContainer(this.#topology)
    return this.#container(LINKS, network, timeoutMs)
      .withEntrypoint(entrypoint)
      .withUser(user)
      .withEnvironment(environment)
      .withExposedPorts(CONTROL_PORT)
      .withHealthCheck({ test: DAEMON_HEALTH, interval: 1000, timeout: 30_000, retries: 60 })
      .start()
  }

  #startServer(name: string, network: StartedNetwork, timeoutMs: number): Promise<StartedTestContainer> {
    const host = containerHostOf(name)
    const config = {
      listener: { tcp: { address: `0.0.0.0:${API_PORT}`, tls_disable: true } },
      storage: { raft: { path: '/vault/file', node_id: name } },
      api_addr: `http://${host}:${API_PORT}`,
      cluster_addr: clusterAddressOf(name),
      cluster_name: name,
      understudy: {
        ...LAB_SETTINGS,
        dial_routes: dialRoutesThroughDaemon(this.#topology, name),
        ...settingsOf(this.#topology, name),
        ...this.#options.settings,
      },
    }
    return this.#container(host, network, timeoutMs)
      .withEnvironment({ VAULT_LOCAL_CONFIG: JSON.stringify(config) })
      .withCommand(['server'])
      .withExposedPorts(API_PORT)
      .start()
  }

  #container(host: string, network: StartedNetwork, timeoutMs: number): GenericContainer {
    return new GenericContainer(this.#options.image ?? DEFAULT_IMAGE)
      .withNetwork(network)
      .withNetworkAliases(host)
      .withWaitStrategy(Wait.forHealthCheck())
      .withStartupTimeout(timeoutMs)
  }
}

/**
 * A running lab in containers. The caller must stop the lab.
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
  readonly #daemon: LabDaemonClient

  constructor(
    topology: Topology,
    containers: ReadonlyMap<string, StartedTestContainer>,
    network: StartedNetwork,
    timeoutMs: number,
  ) {
    super(topology, timeoutMs)
    this.#containers = containers
    this.#network = network
    this.clusters = [...containers]
      .filter(([name]) => name !== LINKS)
      .map(([name, container]) => new ContainerCluster(name, container, this.keys))
    const daemon = containers.get(LINKS)
    const url = daemon ? `http://${daemon.getHost()}:${daemon.getMappedPort(CONTROL_PORT)}` : ''
    this.#daemon = new LabDaemonClient(url)
  }

  /**
   * Returns the link between two clusters. Throws LabError `usage` for an unknown cluster, or for two equal names.
   *
   * @example
   * await lab.link('A', 'B').partition()
   */
  link(one: string, other: string): ContainerLink {
    for (const name of [one, other]) this.cluster(name)
    if (one === other) throw new LabError('usage', 'specify two different clusters')
    return new ContainerLink(this.#daemon, [one, other])
  }

  /** Initializes, unseals and joins the new servers. */
  async wire(): Promise<void> {
    const addresses = new Map(this.clusters.map(({ name, address }) => [name, address]))
    const { wired } = await wireClusters(this.topology, addresses, undefined, {
      shares: 1,
      threshold: 1,
      timeoutMs: this.timeoutMs,
      clock: systemClock,
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

  /** Returns the pairs of clusters whose link has a fault, such as `A-C`. */
  protected override async findFaultyLinks(): Promise<readonly string[]> {
    const pairs = (await this.#daemon.list()).filter(isOfLink).map(({ between }) => between.toSorted().join('-'))
    return [...new Set(pairs)]
  }
}

const stopAll = async (
  containers: ReadonlyMap<string, StartedTestContainer>,
  network: StartedNetwork,
): Promise<void> => {
  await Promise.allSettled([...containers.values()].map((container) => container.stop({ timeout: STOP_MS })))
  await network.stop()
}
