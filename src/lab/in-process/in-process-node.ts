import type { ApiClient } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import { clientOf } from '../model/cluster.js'
import type { EventDraft } from '../events/event.js'
import { LabError } from '../model/lab-error.js'
import type { KeyRing } from '../keys/key-ring.js'
import { unseal } from '../requests/replication.js'
import type { PortPair } from '../model/ports.js'
import type { InProcessServer } from '../runner/in-process.js'
import { waitForAutoUnseal } from '../keys/seals.js'
import { askNode, type NodeView } from '../status/node-view.js'

export type { NodeState, NodeView } from '../status/node-view.js'

/** The remedy for a server that unseals by itself and has not: its keys are recovery keys, which open nothing. */
const START_ANEW = 'it does so when it starts: stop it first'

/** What a node is, wherever it runs. */
type LabServer = Pick<
  InProcessServer,
  'isRunning' | 'isActive' | 'ports' | 'apiAddress' | 'clusterAddress' | 'start' | 'stop' | 'crash'
>

interface LabNodeOptions {
  /** `A1`. */
  readonly name: string
  /** `A`. */
  readonly cluster: string
  readonly server: LabServer
  readonly caFile: string | undefined
  readonly keys: KeyRing
  readonly exchange?: Exchange | undefined
  /** Aborted when the lab is closed. */
  readonly closing: AbortSignal
  readonly tell: (draft: EventDraft) => void
}

/**
 * One server of a cluster of a lab: `lab.node('A2')`, or one of `lab.A.nodes`.
 *
 * @example
 * import { type LabNode, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { nodes: 3 })
 * const before: LabNode = lab.A.activeNode
 * await before.crash()
 * await lab.A.client.read('sys/mounts') // answered by another one
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

  /** Whether it is the one that serves; of a single one, whether it runs. */
  get isActive(): boolean {
    return this.#options.server.isActive
  }

  /** `http://127.0.0.1:port`, or `https` where its API speaks TLS; the same after every start. */
  get address(): string {
    return this.#options.server.apiAddress
  }

  /** Of its own, whatever stands in front of it. */
  get ports(): PortPair {
    return this.#options.server.ports
  }

  /** `https://127.0.0.1:port`, as others are told it. */
  get clusterAddress(): string {
    return this.#options.server.clusterAddress
  }

  /** Makes requests at this very node with the root token that works on its cluster. Throws LabError as that of a cluster does. */
  get client(): ApiClient {
    requireClient(this.name, this.isRunning, this.#options.closing, 'start()')
    this.#client ??= this.anonymous.with({ tokens: this.#options.keys.tokensOf(this.#options.cluster) })
    return this.#client
  }

  /** Makes requests at this very node without a token, or with the one that a call names. */
  get anonymous(): ApiClient {
    this.#anonymous ??= createLabClient(() => this.address, this.#options)
    return this.#anonymous
  }

  /** How it is now; asked over its API, without a token. */
  status(): Promise<NodeView> {
    const { name, address: apiAddress, isRunning } = this
    return askNode({ name, apiAddress }, isRunning ? this.anonymous : undefined)
  }

  /** Starts on what the cluster has, and unseals it. Nothing happens when it runs. Rejects with the refusal where no key fits. */
  async start(): Promise<void> {
    await this.launch()
    await this.unseal()
  }

  /** Starts and leaves it as it comes: sealed, unless it opens by itself. */
  launch(): Promise<void> {
    return this.#options.server.start()
  }

  /** Ends as after SIGTERM. */
  async stop(): Promise<void> {
    await this.#options.server.stop()
    this.disconnect()
  }

  /** Ends as after SIGKILL: nothing is given up, and nobody is told. */
  async crash(): Promise<void> {
    await this.#options.server.crash()
    this.disconnect()
  }

  /** Seals this one alone. */
  async seal(): Promise<void> {
    await this.client.write('sys/seal')
  }

  /** Opens it with the keys of the lab that fit, where it is sealed and its cluster is initialised. */
  async unseal(): Promise<void> {
    const { initialized, sealed, recovery_seal: opensItself } = await this.anonymous.read('sys/seal-status')
    if (initialized !== true || sealed !== true) return
    if (opensItself === true) return waitForAutoUnseal(this.anonymous, this.#options.cluster, START_ANEW)
    const { keys, cluster } = this.#options
    const candidates = keys.candidatesFor(cluster)
    for (const [at, { unsealKeys, threshold }] of candidates.entries()) {
      try {
        await unseal(this.anonymous, unsealKeys.slice(0, threshold))
        keys.set(cluster, { unsealKeys, threshold })
        return
      } catch (error) {
        if (at === candidates.length - 1) throw error
      }
    }
  }

  /** Closes its connections; the next request makes new ones. */
  disconnect(): void {
    this.#client?.close()
    this.#anonymous?.close()
  }
}

/** Of all nodes of these clusters. Throws LabError `usage`, with the names there are. */
export const nodeNamed = (clusters: readonly { readonly nodes: readonly LabNode[] }[], name: string): LabNode => {
  const all = clusters.flatMap(({ nodes }) => nodes)
  const found = all.find((node) => node.name === name)
  if (found) return found
  throw new LabError('usage', `there is no node ${name}; there are ${all.map((node) => node.name).join(', ')}`)
}

/** Throws the reason of the end of the lab, or LabError `usage` for what is stopped, with what brings it back. */
export const requireClient = (what: string, isRunning: boolean, closing: AbortSignal, start: string): void => {
  closing.throwIfAborted()
  if (!isRunning) throw new LabError('usage', `${what} is stopped and has no client; ${start} brings it back`)
}

/** A client without a token; who wants to know is told of what it changes. */
export const createLabClient = (
  address: () => string,
  { cluster, caFile, keys, tell, exchange }: Pick<LabNodeOptions, 'cluster' | 'caFile' | 'keys' | 'tell' | 'exchange'>,
): ApiClient =>
  clientOf({ apiAddress: address(), rootToken: '', caFile }).with({
    address,
    exchange,
    onAnswer: async ({ method, path, status }) => {
      if (method === 'GET' || method === 'LIST') return
      tell({ kind: 'call', cluster, details: { method, path, status } })
      if (status < 300) await keys.noteCall(cluster, path)
    },
  })
