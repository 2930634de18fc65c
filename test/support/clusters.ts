import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { Link } from '../../src/lab/proxy/link.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  initialise,
  secondaryToken,
} from '../../src/lab/requests/replication.js'
import { Cluster, WAIT_MS } from './cluster.js'
import { type ClusterServer, createClusterServer } from './cluster-server.js'

export interface AddOptions {
  /** Settings of the stanza `understudy`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  /** Puts a link on the cluster address that it advertises. */
  readonly hasLink?: boolean
  readonly logLevel?: string
  /** How many key shares it is initialised with. Two of them open it where there are several. */
  readonly shares?: number
}

/** Clusters of one test file, in one directory. `close` ends every server and removes the data. */
export class Clusters {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  readonly #clusters: Cluster[] = []
  readonly #servers: ClusterServer[] = []
  readonly #links: Link[] = []

  /** A cluster that runs, initialised and unsealed. */
  async add(name: string, options: AddOptions = {}): Promise<Cluster> {
    const cluster = await this.addStarted(name, options)
    cluster.seal = await initialise(cluster.client, options.shares ?? 1, Math.min(2, options.shares ?? 1))
    return cluster
  }

  /** A cluster that runs and was never initialised. */
  async addStarted(name: string, { settings = {}, hasLink = false, logLevel }: AddOptions = {}): Promise<Cluster> {
    const ports = (await randomPorts([name])).get(name)
    if (!ports) throw new Error('no ports')
    const target = { host: '127.0.0.1', port: ports.cluster }
    const link = hasLink ? await Link.open({ target, clock: systemClock, random: createSystemRandom() }) : undefined
    if (link) this.#links.push(link)
    const server = createClusterServer({
      name,
      ports,
      advertised: link?.address,
      directory: path.join(this.#directory, `${name}-${this.#clusters.length}`),
      settings,
      logLevel,
    })
    this.#servers.push(server)
    const cluster = new Cluster(name, ports.api, server, link)
    this.#clusters.push(cluster)
    await server.start()
    await cluster.untilAnswers()
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
    await Promise.all(this.#servers.map((server) => server.close()))
    await Promise.all(this.#links.map((link) => link.close()))
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
