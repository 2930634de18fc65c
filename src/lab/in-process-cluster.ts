import type { Clock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { type ClusterAccess, clientOf } from './cluster.js'
import type { Kind } from './kinds.js'
import { generateRoot, statusOf, unseal } from './replication.js'
import type { InProcessServer } from './runner/in-process.js'
import { waitFor } from './wait.js'

/** What opens a cluster: hex key shares, and a root token, empty where none is good. */
export interface ClusterKeys {
  readonly rootToken: string
  readonly unsealKeys: readonly string[]
  readonly threshold: number
}

const NO_KEYS: ClusterKeys = { rootToken: '', unsealKeys: [], threshold: 0 }

/** A cluster of a lab that runs in this process. */
export class LabCluster implements ClusterAccess {
  readonly name: string
  readonly #server: InProcessServer
  readonly #clock: Clock
  readonly #timeoutMs: number
  #keys = NO_KEYS
  #client: ApiClient | undefined
  #anonymous: ApiClient | undefined

  constructor(name: string, server: InProcessServer, clock: Clock, timeoutMs: number) {
    this.name = name
    this.#server = server
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  get isRunning(): boolean {
    return this.#server.isRunning
  }

  /** `http://127.0.0.1:port`, the same after every start. */
  get address(): string {
    return `http://127.0.0.1:${this.#server.ports.api}`
  }

  get apiAddress(): string {
    return this.address
  }

  /** `https://127.0.0.1:port`, as other clusters are told it. */
  get clusterAddress(): string {
    return `https://127.0.0.1:${this.#server.ports.cluster}`
  }

  get rootToken(): string {
    return this.#keys.rootToken
  }

  get unsealKeys(): readonly string[] {
    return this.#keys.unsealKeys
  }

  get threshold(): number {
    return this.#keys.threshold
  }

  /** With the root token, or with none on a DR secondary. */
  get client(): ApiClient {
    this.#client ??= clientOf(this)
    return this.#client
  }

  /** Without a token. */
  get anonymous(): ApiClient {
    this.#anonymous ??= clientOf({ apiAddress: this.address, rootToken: '' })
    return this.#anonymous
  }

  /** Says what opens this cluster from now on. A secondary takes over the key shares of its primary. */
  useKeys({ rootToken, unsealKeys, threshold }: ClusterKeys): void {
    this.#keys = { rootToken, unsealKeys, threshold }
    this.#client?.close()
    this.#client = undefined
  }

  /** Makes a root token from the key shares, as after a wipe. */
  async takeRoot(): Promise<void> {
    const keys = this.#keys.unsealKeys.slice(0, this.threshold)
    await waitFor(
      this.#clock,
      `a root token of ${this.name}`,
      async () => {
        this.useKeys({ ...this.#keys, rootToken: await generateRoot(this.anonymous, keys) })
        return undefined
      },
      this.#timeoutMs,
    )
  }

  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /** Starts on the data that is there, and unseals it when the keys are known. */
  async start(): Promise<void> {
    await this.#server.start()
    const { initialized, sealed } = await this.anonymous.read('sys/seal-status')
    if (initialized === true && sealed === true)
      await unseal(this.anonymous, this.#keys.unsealKeys.slice(0, this.threshold))
  }

  /** Ends as after SIGTERM. The data stays. */
  async stop(): Promise<void> {
    await this.#server.stop()
    this.#dropConnections()
  }

  /** Ends as after SIGKILL, or with storage in memory as after a loss of power. What was durable stays. */
  async crash(): Promise<void> {
    await this.#server.crash()
    this.#dropConnections()
  }

  #dropConnections(): void {
    this.#client?.close()
    this.#anonymous?.close()
    this.#client = undefined
    this.#anonymous = undefined
  }
}
