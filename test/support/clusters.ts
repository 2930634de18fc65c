import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, inject, type TestContext } from 'vitest'
import type { Level } from '../../scripts/support/tiers.js'
import { systemClock } from '../../src/base/clock.js'
import type { LogLevel } from '../../src/base/log-control.js'
import { createPinoLog, fileSink } from '../../src/base/pino-log.js'
import { createSystemRandom } from '../../src/base/random.js'
import type { ApiClient } from '../../src/client/api-client.js'
import { Links } from '../../src/lab/links/links.js'
import { type ClusterAccess, clientOf } from '../../src/lab/model/cluster.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import type { PortPair } from '../../src/lab/model/ports.js'
import { lastLogLines } from '../../src/lab/processes/child-process.js'
import type { Link } from '../../src/lab/proxy/link.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  initialize,
  secondaryToken,
  statusOf,
  unseal,
} from '../../src/lab/requests/replication.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { InProcessServer } from '../../src/lab/runner/in-process.js'
import { configOf, type ServerPlan } from '../../src/lab/runner/server-plan.js'
import { createDirectoryStorage } from '../../src/server/data/server-storage.js'
import { freePorts } from './local-config.js'
import { NodeProcess } from './node-processes.js'
import { openLink } from './open-link.js'

/** Where the servers of a test run. The vitest project provides the value (default: child processes). */
export type RunnerName = 'child-process' | 'in-process'

declare module 'vitest' {
  interface ProvidedContext {
    runner: RunnerName
    /** The level of the run. Randomized tiers play more at higher levels. */
    level: Level
    /** Port of the lock of the tier. */
    lock: number | undefined
  }
}

export const runnerName = (): RunnerName => inject('runner') ?? 'child-process'

/** Skips a test that needs separate server processes if the servers run in the process of the test. */
export const needsProcess = ({ skip, task }: TestContext, reason: string): void => {
  if (runnerName() === 'child-process') return
  console.log(`skipped: ${task.name} (${reason})`)
  skip(reason)
}

/** Maximum time of each wait for a condition of a cluster. */
export const WAIT_MS = 120_000

type ClusterServer = Pick<InProcessServer, 'ports' | 'start' | 'stop' | 'crash'>

interface ServerLocation {
  readonly name: string
  readonly ports: PortPair
  readonly directory: string
}

/** Creates a server that runs as a process, with log and data in a directory. */
export const createProcess = (location: ServerLocation, plan: ServerPlan): NodeProcess =>
  new NodeProcess(location, (dataDir) => configOf(plan, location.ports, dataDir))

/** Creates a server in the process of the test, with the same ports and files. */
const createInProcess = ({ directory, ports, name }: ServerLocation, plan: ServerPlan): InProcessServer => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const level = (plan.logLevel ?? 'info') as LogLevel
  return new InProcessServer({
    ...plan,
    ports,
    storage: createDirectoryStorage(path.join(directory, 'data')),
    // No proxies between clusters are opened here: links use advertised addresses, as for processes.
    network: new Links().networkOf(name),
    clock: systemClock,
    random: createSystemRandom(),
    log: createPinoLog({ level, format: 'json', sink: fileSink(path.join(directory, 'server.log')) }),
  })
}

/** A cluster under test: a server, its unseal keys, and the link in front of its cluster port. */
export class Cluster implements ClusterAccess {
  readonly name: string
  readonly apiAddress: string
  readonly dataDir: string
  readonly logFile: string
  readonly server: ClusterServer
  readonly #link: Link | undefined
  #client: { readonly token: string; readonly api: ApiClient } | undefined
  /** A client without a token. */
  readonly anonymous: ApiClient
  /** Its own unseal keys and root token; those of its primary after a join. */
  seal: { readonly rootToken: string; readonly unsealKeys: readonly string[]; readonly threshold: number } = {
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
  }

  constructor({ name, ports, directory }: ServerLocation, server: ClusterServer, link: Link | undefined) {
    this.name = name
    this.apiAddress = `http://127.0.0.1:${ports.api}`
    this.dataDir = path.join(directory, 'data')
    this.logFile = path.join(directory, 'server.log')
    this.server = server
    this.#link = link
    this.anonymous = clientOf({ apiAddress: this.apiAddress, rootToken: '' })
  }

  get rootToken(): string {
    return this.seal.rootToken
  }

  get unsealKeys(): readonly string[] {
    return this.seal.unsealKeys
  }

  get threshold(): number {
    return this.seal.threshold
  }

  /** Returns the server as a process. Throws if it runs in the process of the test. */
  get process(): NodeProcess {
    if (!(this.server instanceof NodeProcess)) throw new Error(`cluster ${this.name} has no process of its own`)
    return this.server
  }

  /** Returns the proxy in front of the cluster port. Throws if the cluster was added without one. */
  get link(): Link {
    if (!this.#link) throw new Error(`cluster ${this.name} was added without a link`)
    return this.#link
  }

  /** A client with the root token, or without a token on a DR secondary. */
  get client(): ApiClient {
    if (this.#client?.token !== this.rootToken) this.#client = { token: this.rootToken, api: clientOf(this) }
    return this.#client.api
  }

  /** Starts an initialized server, and unseals it. */
  async reopen(): Promise<void> {
    await this.server.start()
    await unseal(this.anonymous, this.unsealKeys.slice(0, this.threshold))
  }

  /** Stops the server, or kills it if a stop fails. Does nothing if it does not run. */
  async close(): Promise<void> {
    if (this.server instanceof NodeProcess) this.server.signal('SIGCONT')
    await this.server.stop().catch(() => this.server.crash())
  }

  /** Returns the advertised cluster address, `https://host:port`. */
  async clusterAddress(): Promise<string> {
    return String((await this.anonymous.read('sys/leader')).leader_cluster_address)
  }

  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /**
   * Waits until `fact` returns undefined. After `timeoutMs`, throws an Error with its last text and the end of the log.
   */
  async until(what: string, fact: () => Promise<string | undefined>, timeoutMs = WAIT_MS): Promise<void> {
    await waitFor(systemClock, `${this.name}: ${what}`, fact, timeoutMs).catch((error: unknown) => {
      throw new Error(`${String(error)}\n--- last log lines of ${this.name}\n${lastLogLines(this.logFile)}`)
    })
  }

  async untilStatus(kind: Kind, wanted: Readonly<Record<string, unknown>>, timeoutMs = WAIT_MS): Promise<void> {
    const fact = async () => {
      const status = await this.status(kind)
      const wrong = Object.keys(wanted).filter((field) => status[field] !== wanted[field])
      return wrong.length === 0
        ? undefined
        : wrong.map((field) => `${field} is ${JSON.stringify(status[field])}`).join(', ')
    }
    await this.until(`${kind} status ${JSON.stringify(wanted)}`, fact, timeoutMs)
  }

  /** Waits until the cluster serves clients, for example after a role change. */
  async untilServes(): Promise<void> {
    await this.until('serve', async () => {
      const { status } = await this.anonymous.send('GET', 'sys/internal/ui/mounts')
      return status === 200 ? undefined : `it answers ${status}`
    })
  }
}

export interface AddOptions {
  /** Settings of the stanza `understudy`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  /** Advertises a proxy with faults as the cluster address. */
  readonly hasLink?: boolean
  readonly logLevel?: string
  /** Number of key shares (default 1). Two shares unseal the cluster if there are several. */
  readonly shares?: number
}

/** Clusters in one temporary directory. `close` stops all servers and deletes the data. */
export class Clusters {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  readonly #clusters: Cluster[] = []
  readonly #links: Link[] = []

  /** Starts a cluster, and initializes and unseals it. */
  async add(name: string, options: AddOptions = {}): Promise<Cluster> {
    const cluster = await this.addStarted(name, options)
    cluster.seal = await initialize(cluster.client, options.shares ?? 1, Math.min(2, options.shares ?? 1))
    return cluster
  }

  /** Starts a cluster without initializing it. */
  async addStarted(name: string, { settings = {}, hasLink = false, logLevel }: AddOptions = {}): Promise<Cluster> {
    const ports = await freePorts()
    const link = hasLink ? await openLink(ports.cluster) : undefined
    if (link) this.#links.push(link)
    const location = { name, ports, directory: path.join(this.#directory, `${name}-${this.#clusters.length}`) }
    const create = runnerName() === 'in-process' ? createInProcess : createProcess
    const server = create(location, { name, advertised: link?.address, settings, logLevel })
    const cluster = new Cluster(location, server, link)
    this.#clusters.push(cluster)
    await server.start()
    return cluster
  }

  async makePrimary(cluster: Cluster, kind: Kind): Promise<void> {
    if ((await cluster.status(kind)).mode === 'primary') return
    await enablePrimary(cluster.client, kind)
    await cluster.untilStatus(kind, { mode: 'primary' })
    await cluster.untilServes()
  }

  /**
   * Makes `secondary` a secondary of `primary`, and waits until it has replicated. It gets the unseal keys of the
   * primary.
   */
  async join(
    primary: Cluster,
    secondary: Cluster,
    kind: Kind,
    id = `${kind}-${secondary.name.toLowerCase()}`,
  ): Promise<void> {
    await this.makePrimary(primary, kind)
    const token = await secondaryToken(primary.client, kind, id)
    await enableSecondary(secondary.client, kind, token)
    secondary.seal = { ...primary.seal, rootToken: '' }
    await this.untilReplicated(primary, secondary, kind)
    if (kind === 'performance') await this.takeRoot(secondary)
  }

  /** Generates a root token for a performance secondary, because the wipe has deleted the previous one. */
  async takeRoot(cluster: Cluster): Promise<void> {
    await cluster.untilServes()
    const rootToken = await generateRoot(cluster.anonymous, cluster.unsealKeys.slice(0, cluster.threshold))
    cluster.seal = { ...cluster.seal, rootToken }
  }

  /** Waits until the secondary streams and has the same Merkle root as the primary. */
  async untilReplicated(primary: Cluster, secondary: Cluster, kind: Kind, timeoutMs = WAIT_MS): Promise<void> {
    const fact = () => findLag(primary.anonymous, secondary.anonymous, kind)
    await secondary.until(`replicated (${kind})`, fact, timeoutMs)
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.clearFaults()
    await Promise.all(this.#clusters.map((cluster) => cluster.close()))
    await Promise.all(this.#links.map((link) => link.close()))
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Creates clusters for the tests of a file, and closes them after all tests. */
export const openClusters = (): Clusters => {
  const clusters = new Clusters()
  afterAll(() => clusters.close())
  return clusters
}
