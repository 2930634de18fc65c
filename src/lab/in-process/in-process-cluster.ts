import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import type { ClusterAccess, ClusterKeys } from '../model/cluster.js'
import { checkArguments } from '../documents/arguments.js'
import { mapWith } from '../documents/schema.js'
import { type Kind, KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { createLabClient, type LabNode, type LabNodeOptions, requireClient } from './in-process-node.js'
import { generateRoot, statusOf } from '../requests/replication.js'
import { findBehind } from '../status/node-view.js'
import { NEAR_PAUSE_MS, waitFor } from '../requests/wait.js'

/**
 * A stopped cluster, as returned by `stop` and `crash`. It serves no requests, so it has no client.
 *
 * @example
 * import { startLab, type StoppedCluster } from 'understudy-lab'
 *
 * await using lab = await startLab('dr')
 * const stopped: StoppedCluster = await lab.A.crash()
 * const { client } = await stopped.start()
 * await client.read('sys/mounts')
 */
export interface StoppedCluster {
  readonly name: string
  /** Its address after a start. */
  readonly address: string
  readonly clusterAddress: string
  /** Starts the cluster with its existing data; see `LabCluster.start`. */
  start(): Promise<LabCluster>
}

interface LabClusterOptions extends Omit<LabNodeOptions, 'cluster' | 'server'> {
  readonly nodes: readonly LabNode[]
  readonly clock: Clock
  readonly timeoutMs: number
}

/**
 * A cluster of a lab that runs in this process: `lab.A`.
 *
 * @example
 * import { type LabCluster, startLab } from 'understudy-lab'
 *
 * const write = async ({ client }: LabCluster, word: string): Promise<void> => {
 *   await client.write('kv/greeting', { word })
 * }
 * await using lab = await startLab('single')
 * await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
 * await write(lab.A, 'hello')
 */
export class LabCluster implements ClusterAccess {
  readonly name: string
  /** A PEM file with the CA certificate of its API. Undefined without TLS. Closing the lab deletes the file. */
  readonly caFile: string | undefined
  /** Its servers, `A1` first. One of them is active. */
  readonly nodes: readonly LabNode[]
  readonly #options: LabClusterOptions
  #client: ApiClient | undefined
  #anonymous: ApiClient | undefined

  constructor(options: LabClusterOptions) {
    this.name = options.name
    this.nodes = options.nodes
    this.caFile = options.caFile
    this.#options = options
  }

  /** Whether at least one of its servers runs. */
  get isRunning(): boolean {
    return this.nodes.some((node) => node.isRunning)
  }

  /**
   * The active server, or a running server if none is active. For a single server, always that server. Throws LabError
   * `usage` if there is no server.
   */
  get activeNode(): LabNode {
    const { nodes } = this
    const found = nodes.find(({ isActive }) => isActive) ?? nodes.find(({ isRunning }) => isRunning) ?? nodes[0]
    if (!found) throw new LabError('usage', `cluster ${this.name} has no servers`)
    return found
  }

  /** API address of the active node: `http://127.0.0.1:port`, or `https` with TLS. Constant for a single server. */
  get address(): string {
    return this.apiAddress
  }

  /** The same as `address`, also for a simulated cluster, whose clients need it. */
  get apiAddress(): string {
    return this.activeNode.apiAddress
  }

  /** Address of the active node for other clusters: `https://127.0.0.1:port`. */
  get clusterAddress(): string {
    return this.activeNode.clusterAddress
  }

  /** The API addresses of its servers, if there are several. */
  get nodeAddresses(): readonly string[] | undefined {
    return this.nodes.length > 1 ? this.nodes.map(({ apiAddress }) => apiAddress) : undefined
  }

  get clusterAddresses(): readonly string[] {
    return this.nodes.map(({ clusterAddress }) => clusterAddress)
  }

  /** The last known root token; `token` asks the server. Empty if none is valid, as on a DR secondary. */
  get rootToken(): string {
    return this.#options.keys.keysOf(this.name).rootToken
  }

  /** Hex key shares that unseal the cluster: its own or, after a join, those of its primary. */
  get unsealKeys(): readonly string[] {
    return this.#options.keys.keysOf(this.name).unsealKeys
  }

  /** Number of key shares that unseal the cluster. */
  get threshold(): number {
    return this.#options.keys.keysOf(this.name).threshold
  }

  /**
   * Sends requests with the valid root token of the cluster, also after joins, promotions and failovers. If the server
   * rejects the token, tries the tokens of the other clusters, then generates a token from the key shares. On a DR
   * secondary, sends no token. Uses the node that is active at the time of the request. Throws LabError: `usage` while
   * the cluster is stopped, `interrupted` after the lab is closed.
   *
   * @example
   * await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
   */
  get client(): ApiClient {
    const { name, isRunning } = this
    requireClient(`cluster ${name}`, isRunning, this.#options.closing, `lab.${name}.start()`)
    this.#client ??= this.anonymous.with({ tokens: this.#options.keys.tokensOf(this.name) })
    return this.#client
  }

  /** Sends requests without a token, or with the token of the call. */
  get anonymous(): ApiClient {
    this.#anonymous ??= createLabClient(() => this.apiAddress, { ...this.#options, cluster: this.name })
    return this.#anonymous
  }

  /** Returns the root token that is valid now, for other clients. Undefined if none is valid, as on a DR secondary. */
  async token(): Promise<string | undefined> {
    return this.#options.keys.findToken(this.name)
  }

  /** Sets the keys of this cluster. Needed only if they were changed outside of the lab, for example by `rekey`. */
  useKeys(keys: Partial<ClusterKeys>): void {
    this.#options.keys.set(this.name, keys)
  }

  /** Generates a root token from the key shares. Rejects with LabError `timeout` if the cluster rejects the shares. */
  async takeRoot(): Promise<void> {
    await this.#until(`a root token of ${this.name}`, async () => {
      this.useKeys({ rootToken: await generateRoot(this.anonymous, this.unsealKeys.slice(0, this.threshold)) })
      return undefined
    })
  }

  /** Returns the response of `sys/replication/<kind>/status`, which needs no token. */
  async status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /**
   * Starts all nodes with their data, and unseals them with keys of the lab: the cluster's own keys or, after a join,
   * the keys of its primary. Resolves when one node is active. Does nothing if the cluster runs. Rejects with the error
   * of the server if no key is valid.
   */
  async start(): Promise<LabCluster> {
    await Promise.all(this.nodes.map((node) => node.launch()))
    const { initialized } = await this.anonymous.read('sys/seal-status')
    if (initialized === true) await this.open()
    return this
  }

  /** Unseals every running sealed server. With several nodes, resolves when one is active. */
  async open(): Promise<void> {
    const [first, ...others] = this.nodes.filter(({ isRunning }) => isRunning)
    await first?.unseal()
    const { appliedIndex } = await (await this.active()).status()
    const open = (node: LabNode) => {
      const caughtUp = async () => {
        await node.unseal()
        return findBehind(await node.status(), appliedIndex ?? 0)
      }
      return this.#until(`${node.name} to be unsealed`, caughtUp, NEAR_PAUSE_MS)
    }
    await Promise.all(others.map(open))
  }

  /** Waits for an active node, other than `except` if given. Rejects with LabError `timeout`. */
  async active(except?: LabNode): Promise<LabNode> {
    const find = () => this.nodes.find((node) => node.isActive && node !== except)
    const fact = async () => (find() ? undefined : 'none of its nodes is active')
    const what = `cluster ${this.name} to have ${except ? 'another' : 'an'} active node`
    await this.#until(what, fact, NEAR_PAUSE_MS)
    return find() ?? this.active(except)
  }

  /** Makes the active node step down. Resolves with the next active node. */
  async stepDown(): Promise<LabNode> {
    const before = await this.active()
    await this.client.write('sys/step-down')
    return this.nodes.length > 1 ? this.active(before) : before
  }

  /** Stops every node as SIGTERM does. The data stays. */
  async stop(): Promise<StoppedCluster> {
    await Promise.all(this.nodes.map((node) => node.stop()))
    this.disconnect()
    return this
  }

  /** Stops every node as SIGKILL does. Storage in memory keeps only durable data, as after a power loss. */
  async crash(): Promise<StoppedCluster> {
    await Promise.all(this.nodes.map((node) => node.crash()))
    this.disconnect()
    return this
  }

  /** Closes the connections of its clients. The next request opens a new connection. */
  disconnect(): void {
    this.#client?.close()
    this.#anonymous?.close()
    for (const node of this.nodes) node.disconnect()
  }

  #until(what: string, fact: Parameters<typeof waitFor>[2], pauseMs?: number): Promise<void> {
    const { clock, timeoutMs, closing } = this.#options
    return waitFor(clock, what, fact, timeoutMs, closing, pauseMs)
  }
}

checkArguments(LabCluster.prototype, {
  useKeys: {
    keys: mapWith({
      rootToken: { type: 'string' },
      unsealKeys: { type: 'array', items: { type: 'string' } },
      threshold: { type: 'integer', minimum: 1, maximum: 255 },
    }),
  },
  status: { kind: { type: 'string', enum: KINDS } },
  active: { 'except?': { type: 'object', title: 'a node' } },
})
