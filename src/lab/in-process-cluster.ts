import type { Clock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { type ClusterAccess, clientOf } from './cluster.js'
import type { EventDraft } from './events/event.js'
import type { Kind } from './kinds.js'
import { LabError } from './lab-error.js'
import type { ClusterKeys, KeyRing } from './library/key-ring.js'
import { generateRoot, statusOf, unseal } from './replication.js'
import type { InProcessServer } from './runner/in-process.js'
import { waitForAutoUnseal } from './seals.js'
import { waitFor } from './wait.js'

export type { ClusterKeys } from './library/key-ring.js'

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

/** The remedy for a cluster that unseals by itself and has not: its keys are recovery keys, which open nothing. */
const START_ANEW = 'it does so when it starts: stop it first'

interface LabClusterOptions {
  readonly server: InProcessServer
  readonly caFile: string | undefined
  readonly clock: Clock
  readonly timeoutMs: number
  readonly keys: KeyRing
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
  readonly #server: InProcessServer
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #keys: KeyRing
  readonly #tell: (draft: EventDraft) => void
  #client: ApiClient | undefined
  #anonymous: ApiClient | undefined

  constructor({ server, caFile, clock, timeoutMs, keys, tell }: LabClusterOptions) {
    this.name = server.name
    this.caFile = caFile
    this.#server = server
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#keys = keys
    this.#tell = tell
  }

  get isRunning(): boolean {
    return this.#server.isRunning
  }

  /** `http://127.0.0.1:port`, or `https` where its API speaks TLS; the same after every start. */
  get address(): string {
    return this.#server.apiAddress
  }

  get apiAddress(): string {
    return this.address
  }

  /** `https://127.0.0.1:port`, as other clusters are told it. */
  get clusterAddress(): string {
    return this.#server.clusterAddress
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
   * none. Throws LabError `usage` while the cluster is stopped.
   *
   * @example
   * await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
   */
  get client(): ApiClient {
    if (!this.isRunning) {
      throw new LabError(
        'usage',
        `cluster ${this.name} is stopped and has no client; lab.${this.name}.start() brings it back`,
      )
    }
    this.#client ??= this.anonymous.with({ tokens: this.#keys.tokensOf(this.name) })
    return this.#client
  }

  /** Makes requests without a token, or with the one that a call names. */
  get anonymous(): ApiClient {
    this.#anonymous ??= clientOf({ apiAddress: this.address, rootToken: '', caFile: this.caFile }).with({
      onAnswer: async ({ method, path, status }) => {
        if (method === 'GET' || method === 'LIST') return
        this.#tell({ kind: 'call', cluster: this.name, details: { method, path, status } })
        if (status < 300) await this.#keys.noteCall(this.name, path)
      },
    })
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
    await waitFor(
      this.#clock,
      `a root token of ${this.name}`,
      async () => {
        this.useKeys({ rootToken: await generateRoot(this.anonymous, this.unsealKeys.slice(0, this.threshold)) })
        return undefined
      },
      this.#timeoutMs,
    )
  }

  /** The answer of `sys/replication/<kind>/status`, which needs no token. */
  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /**
   * Starts on the data that is there, and unseals it with the keys of the lab that fit: after a join those of its primary.
   * Nothing happens when it runs. Rejects with the server's refusal where none fits.
   */
  async start(): Promise<LabCluster> {
    await this.#server.start()
    const { initialized, sealed } = await this.anonymous.read('sys/seal-status')
    if (initialized === true && sealed === true) await this.#unseal()
    return this
  }

  /** Ends as after SIGTERM. The data stays. */
  async stop(): Promise<StoppedCluster> {
    await this.#server.stop()
    this.disconnect()
    return this
  }

  /** Ends as after SIGKILL, or with storage in memory as after a loss of power. What was durable stays. */
  async crash(): Promise<StoppedCluster> {
    await this.#server.crash()
    this.disconnect()
    return this
  }

  /** Closes the connections of its clients; the next request makes new ones. */
  disconnect(): void {
    this.#client?.close()
    this.#anonymous?.close()
  }

  async #unseal(): Promise<void> {
    const { recovery_seal: opensItself } = await this.anonymous.read('sys/seal-status')
    if (opensItself === true) return waitForAutoUnseal(this.anonymous, this.name, START_ANEW)
    const candidates = this.#keys.candidatesFor(this.name)
    for (const [at, keys] of candidates.entries()) {
      try {
        await unseal(this.anonymous, keys.unsealKeys.slice(0, keys.threshold))
        this.useKeys({ unsealKeys: keys.unsealKeys, threshold: keys.threshold })
        return
      } catch (error) {
        if (at === candidates.length - 1) throw error
      }
    }
  }
}
