import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, inject, type TestContext } from 'vitest'
import type { Level } from '../../scripts/support/tiers.js'
import { systemClock } from '../../src/base/clock.js'
import type { LogLevel } from '../../src/base/log.js'
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

/** Where the servers of a test run. A vitest project provides one; without it they are processes. */
export type RunnerName = 'child-process' | 'in-process'

declare module 'vitest' {
  interface ProvidedContext {
    runner: RunnerName
    /** The level of the run: it decides how much a randomized tier plays. */
    level: Level
    /** Port of the lock of the tier. */
    lock: number | undefined
  }
}

export const runnerName = (): RunnerName => inject('runner') ?? 'child-process'

/** Skips a test that needs every server to be a process of its own where all servers share the process of the test. */
export const needsProcess = ({ skip, task }: TestContext, reason: string): void => {
  if (runnerName() === 'child-process') return
  console.log(`skipped: ${task.name} (${reason})`)
  skip(reason)
}

/** Bound on each wait for a fact of a cluster. */
export const WAIT_MS = 120_000

type ClusterServer = Pick<InProcessServer, 'ports' | 'start' | 'stop' | 'crash'>

interface Place {
  readonly name: string
  readonly ports: PortPair
  readonly directory: string
}

/** A server of ours as a process, with its log and its data in a directory. */
export const createProcess = (place: Place, plan: ServerPlan): NodeProcess =>
  new NodeProcess(place, (dataDir) => configOf(plan, place.ports, dataDir))

/** The same in the process of the test: the same ports, the same files. */
const createInProcess = ({ directory, ports, name }: Place, plan: ServerPlan): InProcessServer => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const level = (plan.logLevel ?? 'info') as LogLevel
  return new InProcessServer({
    ...plan,
    ports,
    storage: createDirectoryStorage(path.join(directory, 'data')),
    // No route is opened here: links stand on advertised addresses, as they do for processes.
    network: new Links().networkOf(name),
    clock: systemClock,
    random: createSystemRandom(),
    log: createPinoLog({ level, format: 'json', sink: fileSink(path.join(directory, 'server.log')) }),
  })
}

/** A cluster under test: a server, the keys that open it, and the link in front of its cluster port. */
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
  /** What opens it: its own keys, or after joining those of its primary. */
  seal: { readonly rootToken: string; readonly unsealKeys: readonly string[]; readonly threshold: number } = {
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
  }

  constructor({ name, ports, directory }: Place, server: ClusterServer, link: Link | undefined) {
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

  /** Its server as a process: for tests that never run without one. */
  get process(): NodeProcess {
    if (!(this.server instanceof NodeProcess)) throw new Error(`cluster ${this.name} has no process of its own`)
    return this.server
  }

  /** What others dial to reach its cluster port. */
  get link(): Link {
    if (!this.#link) throw new Error(`cluster ${this.name} was added without a link`)
    return this.#link
  }

  /** A client with its root token, or with none on a DR secondary. */
  get client(): ApiClient {
    if (this.#client?.token !== this.rootToken) this.#client = { token: this.rootToken, api: clientOf(this) }
    return this.#client.api
  }

  /** Starts a server that has data, and unseals it. */
  async reopen(): Promise<void> {
    await this.server.start()
    await unseal(this.anonymous, this.unsealKeys.slice(0, this.threshold))
  }

  /** Ends its server, in order where it still can. Nothing happens when it does not run. */
  async close(): Promise<void> {
    if (this.server instanceof NodeProcess) this.server.signal('SIGCONT')
    await this.server.stop().catch(() => this.server.crash())
  }

  /** `https://host:port` as it tells others. */
  async clusterAddress(): Promise<string> {
    return String((await this.anonymous.read('sys/leader')).leader_cluster_address)
  }

  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /** Waits for a fact of this cluster; what is still false is shown with the end of its log. */
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

  /** Waits until clients are served again, as after a change of role. */
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
  /** Puts a link on the cluster address that it advertises. */
  readonly hasLink?: boolean
  readonly logLevel?: string
  /** How many key shares it is initialized with. Two of them open it where there are several. */
  readonly shares?: number
}

/** Clusters in one directory. `close` ends every server and removes the data. */
export class Clusters {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  readonly #clusters: Cluster[] = []
  readonly #links: Link[] = []

  /** A cluster that runs, initialized and unsealed. */
  async add(name: string, options: AddOptions = {}): Promise<Cluster> {
    const cluster = await this.addStarted(name, options)
    cluster.seal = await initialize(cluster.client, options.shares ?? 1, Math.min(2, options.shares ?? 1))
    return cluster
  }

  /** A cluster that runs and was never initialized. */
  async addStarted(name: string, { settings = {}, hasLink = false, logLevel }: AddOptions = {}): Promise<Cluster> {
    const ports = await freePorts()
    const link = hasLink ? await openLink(ports.cluster) : undefined
    if (link) this.#links.push(link)
    const place = { name, ports, directory: path.join(this.#directory, `${name}-${this.#clusters.length}`) }
    const create = runnerName() === 'in-process' ? createInProcess : createProcess
    const server = create(place, { name, advertised: link?.address, settings, logLevel })
    const cluster = new Cluster(place, server, link)
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

  /** Makes `secondary` follow `primary` and waits until it does. It takes over the primary's keys. */
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

  /** Makes a root token for a performance secondary, whose own died in the wipe. */
  async takeRoot(cluster: Cluster): Promise<void> {
    await cluster.untilServes()
    const rootToken = await generateRoot(cluster.anonymous, cluster.unsealKeys.slice(0, cluster.threshold))
    cluster.seal = { ...cluster.seal, rootToken }
  }

  /** Waits until the secondary streams and both have the same root. */
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

/** Opens clusters for the tests of a file, and closes them when all tests have run. */
export const openClusters = (): Clusters => {
  const clusters = new Clusters()
  afterAll(() => clusters.close())
  return clusters
}
