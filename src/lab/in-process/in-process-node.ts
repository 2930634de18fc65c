import type { ApiClient } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import { CheckedClient } from '../requests/checked-client.js'
import { clientOf } from '../model/cluster.js'
import type { EventDraft } from '../events/event.js'
import { LabError } from '../model/lab-error.js'
import type { KeyRing } from '../keys/key-ring.js'
import { unseal } from '../requests/replication.js'
import type { PortPair } from '../model/ports.js'
import type { InProcessServer } from '../runner/in-process.js'
import { waitForAutoUnseal } from '../keys/seals.js'
import { askNode, type NodeView } from '../status/node-view.js'

/** The next step if auto-unseal fails. Recovery keys cannot unseal a server. */
const RESTART = 'call stop() and start() to try again'

/** The server of a node, which runs in this process or is simulated. */
export type LabServer = Pick<
  InProcessServer,
  'isRunning' | 'isActive' | 'ports' | 'apiAddress' | 'clusterAddress' | 'start' | 'stop' | 'crash'
>

export interface LabNodeOptions {
  /** The name of the node, such as `A1`. */
  readonly name: string
  /** The name of its cluster, such as `A`. */
  readonly cluster: string
  readonly server: LabServer
  readonly caFile: string | undefined
  readonly keys: KeyRing
  readonly exchange?: Exchange | undefined
  /** Aborted when the lab is closed. */
  readonly closing: AbortSignal
  readonly emit: (draft: EventDraft) => void
}

/**
 * One server of a cluster of a lab: `lab.node('A2')`, or an element of `lab.A.nodes`.
 *
 * @example
 * import { type LabNode, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { nodes: 3 })
 * const before: LabNode = lab.A.activeNode
 * await before.crash()
 * await lab.A.client.read('sys/mounts') // another node responds
 * await before.start()
 */
export class LabNode {
  readonly name: string
  readonly caFile: string | undefined
  readonly #options: LabNodeOptions
  #client: ApiClient | undefined
  #anonymous: ApiClient | undefined

  constructor(options: LabNodeOptions) {
    this.name = options.name
    this.caFile = options.caFile
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#options.server.isRunning
  }

  /** Whether the node is active. For a single server, whether it runs. */
  get isActive(): boolean {
    return this.#options.server.isActive
  }

  /** `http://127.0.0.1:port`, or `https` with TLS. Does not change with restarts. */
  get address(): string {
    return this.apiAddress
  }

  /** The same as `address`, also for a simulated node, whose clients need it. */
  get apiAddress(): string {
    return this.#options.server.apiAddress
  }

  /** The ports of the node itself, not of the balancer. */
  get ports(): PortPair {
    return this.#options.server.ports
  }

  /** `https://127.0.0.1:port`, the address for other clusters. */
  get clusterAddress(): string {
    return this.#options.server.clusterAddress
  }

  /**
   * Sends requests to this node with the valid root token of its cluster. Throws LabError as the client of a cluster
   * does.
   */
  get client(): ApiClient {
    requireClient(this.name, this.isRunning, this.#options.closing, 'start()')
    this.#client ??= this.anonymous.with({ tokens: this.#options.keys.tokensOf(this.#options.cluster) })
    return this.#client
  }

  /** Sends requests to this node without a token, or with the token of the call. */
  get anonymous(): ApiClient {
    this.#anonymous ??= createLabClient(() => this.apiAddress, this.#options)
    return this.#anonymous
  }

  /** Returns its current state, read over its API without a token. */
  status(): Promise<NodeView> {
    const { name, apiAddress, isRunning } = this
    return askNode({ name, apiAddress }, isRunning ? this.anonymous : undefined)
  }

  /**
   * Starts and unseals the node. Does nothing if it runs. Rejects with the error of the server if no key unseals it.
   */
  async start(): Promise<void> {
    await this.launch()
    await this.unseal()
  }

  /** Starts the node without unsealing it. The node stays sealed, except with auto-unseal. */
  launch(): Promise<void> {
    return this.#options.server.start()
  }

  /** Stops the node as SIGTERM does. */
  async stop(): Promise<void> {
    await this.#options.server.stop()
    this.disconnect()
  }

  /** Stops the node as SIGKILL does: it neither releases its lease nor informs its peers. */
  async crash(): Promise<void> {
    await this.#options.server.crash()
    this.disconnect()
  }

  /** Seals only this node. */
  async seal(): Promise<void> {
    await this.client.write('sys/seal')
  }

  /**
   * Unseals a sealed, initialized node with keys of the lab. Rejects with the error of the server if no key unseals it.
   */
  async unseal(): Promise<void> {
    const { initialized, sealed, recovery_seal: isAuto } = await this.anonymous.read('sys/seal-status')
    if (initialized !== true || sealed !== true) return
    if (isAuto === true) return waitForAutoUnseal(this.anonymous, this.#options.cluster, RESTART)
    const { keys, cluster } = this.#options
    const candidates = keys.candidatesFor(cluster)
    for (const [index, { unsealKeys, threshold }] of candidates.entries()) {
      try {
        await unseal(this.anonymous, unsealKeys.slice(0, threshold))
        keys.set(cluster, { unsealKeys, threshold })
        return
      } catch (error) {
        if (index === candidates.length - 1) throw error
      }
    }
  }

  /** Closes the connections of its clients. The next request opens a new connection. */
  disconnect(): void {
    this.#client?.close()
    this.#anonymous?.close()
  }
}

/** Finds a node of these clusters. Throws LabError `usage` with the existing names if there is none. */
export const nodeNamed = (clusters: readonly { readonly nodes: readonly LabNode[] }[], name: string): LabNode => {
  const all = clusters.flatMap(({ nodes }) => nodes)
  const found = all.find((node) => node.name === name)
  if (found) return found
  throw new LabError('usage', `there is no node ${name}; the lab has ${all.map((node) => node.name).join(', ')}`)
}

/**
 * Throws the reason of `closing` if the lab is closed, or LabError `usage` with the call `start` if `what` is stopped.
 */
export const requireClient = (what: string, isRunning: boolean, closing: AbortSignal, start: string): void => {
  closing.throwIfAborted()
  if (!isRunning) throw new LabError('usage', `${what} is stopped, so it has no client; call ${start} first`)
}

/** Returns a client without a token. Its write requests are emitted as events. */
export const createLabClient = (
  address: () => string,
  { cluster, caFile, keys, emit, exchange }: Pick<LabNodeOptions, 'cluster' | 'caFile' | 'keys' | 'emit' | 'exchange'>,
): ApiClient =>
  clientOf({ apiAddress: address(), rootToken: '', caFile, exchange }, undefined, CheckedClient).with({
    address,
    onAnswer: async ({ method, path, status }) => {
      if (method === 'GET' || method === 'LIST') return
      emit({ kind: 'call', cluster, details: { method, path, status } })
      if (status < 300) await keys.noteCall(cluster, path)
    },
  })
