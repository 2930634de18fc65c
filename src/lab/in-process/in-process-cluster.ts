import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import type { ClusterAccess, ClusterKeys } from '../model/cluster.js'
import type { EventDraft } from '../events/event.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { KeyRing } from '../keys/key-ring.js'
import { createLabClient, type LabNode, requireClient } from './in-process-node.js'
import { generateRoot, statusOf } from '../requests/replication.js'
import { findBehind } from '../status/node-view.js'
import { NEAR_PAUSE_MS, waitFor } from '../requests/wait.js'

/**
 * A cluster that does not run, as `stop` and `crash` return it: nobody serves requests, so it has no client.
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
  /** Where it will listen again. */
  readonly address: string
  readonly clusterAddress: string
  /** Starts on the data that is there; see `LabCluster.start`. */
  start(): Promise<LabCluster>
}

interface LabClusterOptions {
  readonly name: string
  readonly nodes: readonly LabNode[]
  readonly caFile: string | undefined
  readonly clock: Clock
  readonly timeoutMs: number
  readonly keys: KeyRing
  readonly exchange?: Exchange | undefined
  /** Aborted when the lab is closed. */
  readonly closing: AbortSignal
  readonly tell: (draft: EventDraft) => void
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
  /** A PEM file with the certificate authority of its API; undefined without TLS. It is gone when the lab is closed. */
  readonly caFile: string | undefined
  /** Its servers, `A1` first; one of them is active. */
  readonly nodes: readonly LabNode[]
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #keys: KeyRing
  readonly #around: Pick<LabClusterOptions, 'tell' | 'exchange' | 'closing'>
  #client: ApiClient | undefined
  #anonymous: ApiClient | undefined

  constructor({ name, nodes, caFile, clock, timeoutMs, keys, ...around }: LabClusterOptions) {
    this.name = name
    this.nodes = nodes
    this.caFile = caFile
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#keys = keys
    this.#around = around
  }

  /** Whether one of its servers runs at least. */
  get isRunning(): boolean {
    return this.nodes.some((node) => node.isRunning)
  }

  /** The server that is active; while none is, one that runs. A single one is it always. */
  get activeNode(): LabNode {
    const find = (isIt: (node: LabNode) => boolean) => this.nodes.find(isIt)
    const found = find(({ isActive }) => isActive) ?? find(({ isRunning }) => isRunning) ?? this.nodes[0]
    if (!found) throw new LabError('usage', `cluster ${this.name} has no servers`)
    return found
  }

  /** `http://127.0.0.1:port`, or `https` where its API speaks TLS: of the active node, and of a single one always the same. */
  get address(): string {
    return this.activeNode.address
  }

  get apiAddress(): string {
    return this.address
  }

  /** `https://127.0.0.1:port`, as other clusters are told it; of the active node. */
  get clusterAddress(): string {
    return this.activeNode.clusterAddress
  }

  /** The APIs of its servers, where they are several. */
  get nodeAddresses(): readonly string[] | undefined {
    return this.nodes.length > 1 ? this.nodes.map(({ address }) => address) : undefined
  }

  get clusterAddresses(): readonly string[] {
    return this.nodes.map(({ clusterAddress }) => clusterAddress)
  }

  /** As it was known last; `token` asks the server. Empty where none works, as on a DR secondary. */
  get rootToken(): string {
    return this.#keys.keysOf(this.name).rootToken
  }

  /** Hex key shares that open the cluster: its own, or after joining those of its primary. */
  get unsealKeys(): readonly string[] {
    return this.#keys.keysOf(this.name).unsealKeys
  }

  /** How many of the shares open the cluster. */
  get threshold(): number {
    return this.#keys.keysOf(this.name).threshold
  }

  /**
   * Makes requests with the root token that works here now, through joins, promotions and failovers: where it is refused, the
   * tokens of the other clusters are tried, and one is made of the key shares where none works. On a DR secondary it sends
   * none. Requests go to the node that is active when they are made. Throws LabError: `usage` while the cluster is stopped,
   * `interrupted` once the lab is closed.
   *
   * @example
   * await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
   */
  get client(): ApiClient {
    const { name, isRunning } = this
    requireClient(`cluster ${name}`, isRunning, this.#around.closing, `lab.${name}.start()`)
    this.#client ??= this.anonymous.with({ tokens: this.#keys.tokensOf(this.name) })
    return this.#client
  }

  /** Makes requests without a token, or with the one that a call names. */
  get anonymous(): ApiClient {
    const { name: cluster, caFile } = this
    this.#anonymous ??= createLabClient(() => this.address, { cluster, caFile, keys: this.#keys, ...this.#around })
    return this.#anonymous
  }

  /** The root token that works here now, for other clients; undefined where none does, as on a DR secondary. */
  async token(): Promise<string | undefined> {
    return this.#keys.findToken(this.name)
  }

  /** Says what opens this cluster from now on; only where somebody outside of the lab changed it, as by `rekey`. */
  useKeys(keys: Partial<ClusterKeys>): void {
    this.#keys.set(this.name, keys)
  }

  /** Makes a new root token of the key shares. Rejects with LabError `timeout` where they do not open this cluster. */
  async takeRoot(): Promise<void> {
    await this.#until(`a root token of ${this.name}`, async () => {
      this.useKeys({ rootToken: await generateRoot(this.anonymous, this.unsealKeys.slice(0, this.threshold)) })
      return undefined
    })
  }

  /** The answer of `sys/replication/<kind>/status`, which needs no token. */
  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /**
   * Starts on the data that is there, and unseals it with the keys of the lab that fit: after a join those of its primary. Of
   * several nodes all are started, and one is active when it resolves. Nothing happens when it runs. Rejects with the server's
   * refusal where no key fits.
   */
  async start(): Promise<LabCluster> {
    await Promise.all(this.nodes.map((node) => node.launch()))
    const { initialized } = await this.anonymous.read('sys/seal-status')
    if (initialized === true) await this.open()
    return this
  }

  /** Unseals every server that runs and is sealed; of several nodes one is active when it resolves. */
  async open(): Promise<void> {
    const [first, ...others] = this.nodes.filter(({ isRunning }) => isRunning)
    await first?.unseal()
    const { appliedIndex } = await (await this.active()).status()
    for (const node of others) {
      const caughtUp = async () => {
        await node.unseal()
        return findBehind(await node.status(), appliedIndex ?? 0)
      }
      await this.#until(`${node.name} to be open`, caughtUp, NEAR_PAUSE_MS)
    }
  }

  /** The active node, once there is one; `except`: another one than that. Rejects with LabError `timeout`. */
  async active(except?: LabNode): Promise<LabNode> {
    const find = () => this.nodes.find((node) => node.isActive && node !== except)
    const fact = async () => (find() ? undefined : 'none of its nodes is active')
    const what = `cluster ${this.name} to have ${except ? 'another' : 'an'} active node`
    await this.#until(what, fact, NEAR_PAUSE_MS)
    return find() ?? this.active(except)
  }

  /** The active node of several gives up the lead. Resolves with the one that is active then. */
  async stepDown(): Promise<LabNode> {
    const before = await this.active()
    await this.client.write('sys/step-down')
    return this.nodes.length > 1 ? this.active(before) : before
  }

  /** Ends as after SIGTERM, every node. The data stays. */
  async stop(): Promise<StoppedCluster> {
    await Promise.all(this.nodes.map((node) => node.stop()))
    this.disconnect()
    return this
  }

  /** Ends as after SIGKILL, every node, or with storage in memory as after a loss of power. What was durable stays. */
  async crash(): Promise<StoppedCluster> {
    await Promise.all(this.nodes.map((node) => node.crash()))
    this.disconnect()
    return this
  }

  /** Closes the connections of its clients; the next request makes new ones. */
  disconnect(): void {
    this.#client?.close()
    this.#anonymous?.close()
    for (const node of this.nodes) node.disconnect()
  }

  #until(what: string, fact: Parameters<typeof waitFor>[2], pauseMs?: number): Promise<void> {
    return waitFor(this.#clock, what, fact, this.#timeoutMs, this.#around.closing, pauseMs)
  }
}
