import { type ApiAnswer, type ApiClient, ApiError, errorsOf } from '../../../client/api-client.js'
import { clientOf } from '../../model/cluster.js'
import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { Runbook } from '../../operations/runbook.js'
import type { Step as RunbookStep } from '../../operations/runbook-options.js'
import { waitFor } from '../../requests/wait.js'
import { lineOf, stepLineOf } from '../../operations/lines.js'
import type { CallResult } from './result.js'
import { viewNodes } from './status-samples.js'

const NAME = /\$\{([\w.-]+)\}/

/** Minimum response timeout in milliseconds. A request can extend it. */
const ANSWER_MS = 10_000

/** A failed assertion of a drill. */
export class DrillFailure extends LabError {
  override readonly name = 'DrillFailure'

  constructor(message: string) {
    super('remote', message)
  }
}

export interface DrillRequest {
  readonly cluster: string
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
  /** `root`, `none`, or a token. */
  readonly token?: string | undefined
  readonly namespace?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Response timeout of slow requests, in milliseconds. */
  readonly patienceMs?: number | undefined
}

/**
 * The context of steps and expectations: the lab, a record of every request, and variables. A variable is a value that
 * a step has saved, or a fact about a cluster:
 * - `${B.address}`, `${B.ca_file}`: address and certificate authority of the API
 * - `${B.cluster_address}`: host and port for other clusters
 * - `${B.root_token}`: a root token
 * - `${A.active_node}`, `${A.standby_1}`: names of nodes in a multi-node cluster, by their state when the drill started
 */
export class DrillContext {
  readonly lab: LiveLab
  /** Timeout of each wait that sets none, in milliseconds. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Receives each shell line that reproduces an action. */
  line: (text: string) => void = () => undefined
  /** Receives the output of commands. */
  output: (text: string) => void = () => undefined
  readonly calls: CallResult[] = []
  /** The cluster that was promoted most recently. */
  promoted: string | undefined
  /** RFC 3339. */
  readonly startedAt: string
  readonly #startedMs: number
  readonly #saved = new Map<string, unknown>()
  readonly #ends: (() => void)[] = []

  constructor(lab: LiveLab, { timeoutMs, signal }: Pick<DrillContext, 'timeoutMs' | 'signal'>) {
    this.lab = lab
    this.timeoutMs = timeoutMs
    this.signal = signal
    this.startedAt = new Date(lab.clock.now()).toISOString()
    this.#startedMs = lab.clock.monotonic()
  }

  /** Returns the milliseconds since the start of the drill. */
  now(): number {
    return this.lab.clock.monotonic() - this.#startedMs
  }

  /**
   * Converts an RFC 3339 time to milliseconds since the start of the drill. Subtracts the age of the time from the
   * monotonic clock, so that an adjustment of the wall clock during the drill does not matter.
   */
  toDrillTime(time: string): number {
    const agoMs = Math.max(this.lab.clock.now() - Date.parse(time), 0)
    return Math.max(this.now() - agoMs, 0)
  }

  /** Registers a function that stops background work at the end of the drill. */
  atEnd(end: () => void): void {
    this.#ends.push(end)
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  /** Returns a runbook for the operations of the command line. Passes their shell lines, without secrets, to `line`. */
  get runbook(): Runbook {
    const lineFor = (step: RunbookStep) => stepLineOf(step, this.lab.cluster(step.cluster))
    return this.lab.runbook({
      timeoutMs: this.timeoutMs,
      onProgress: () => undefined,
      onCall: (text) => this.line(text),
      onAnswer: (step, status, tookMs) => this.#note(step, lineFor(step), status, tookMs),
    })
  }

  /** Prints a request as a shell line, and sends it. See `ask`. */
  async send(request: DrillRequest): Promise<ApiAnswer> {
    this.line(lineOf(request, this.lab.cluster(request.cluster)))
    return this.ask(request)
  }

  /** Sends a request, and records it if it is a write. Resolves for every status. Rejects if there is no response. */
  async ask(request: DrillRequest): Promise<ApiAnswer> {
    const { cluster, method, path, body, query, headers, namespace } = request
    const line = lineOf(request, this.lab.cluster(cluster))
    const client = await this.#clientFor(request)
    const sentMs = this.lab.clock.monotonic()
    const took = () => this.lab.clock.monotonic() - sentMs
    try {
      const answer = await client.send(method, path, {
        body,
        ...(query ? { query } : {}),
        headers: { ...headers, ...(namespace ? { 'X-Vault-Namespace': namespace } : {}) },
      })
      this.#note(request, line, answer.status, took())
      return answer
    } catch (error) {
      this.#note(request, line, null, took())
      throw error
    } finally {
      client.close()
    }
  }

  /** Sends a request. Rejects if the status is 400 or higher. */
  async ok(request: DrillRequest): Promise<void> {
    const { cluster, method, path } = request
    const answer = await this.send(request)
    if (answer.status < 400) return
    const url = `${this.lab.cluster(cluster).apiAddress}${path.startsWith('/') ? '' : '/v1/'}${path}`
    throw new ApiError(method, url, answer.status, errorsOf(answer))
  }

  /** Runs work with a root token of a cluster, and a connection of its own. */
  async asRoot<T>(cluster: string, work: (client: ApiClient) => Promise<T>): Promise<T> {
    const client = this.lab.withToken(cluster, await this.lab.rootToken(cluster))
    try {
      return await work(client)
    } finally {
      client.close()
    }
  }

  /** Waits until a condition holds. Stops early if the drill is interrupted. */
  async wait(what: string, fact: () => Promise<string | undefined>, timeoutMs = this.timeoutMs): Promise<void> {
    await waitFor(this.lab.clock, what, fact, timeoutMs, this.signal)
  }

  save(name: string, value: unknown): void {
    this.#saved.set(name, value)
  }

  /** Replaces every `${name}` in a value. A string that is only one variable becomes its value, of any type. */
  async resolve(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return this.#resolveText(value)
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.resolve(item)))
    if (typeof value !== 'object' || value === null) return value
    const pairs = Object.entries(value).map(async ([key, item]) => [key, await this.resolve(item)] as const)
    return Object.fromEntries(await Promise.all(pairs))
  }

  async #resolveText(text: string): Promise<unknown> {
    // `split` alternates between text and names of variables.
    const parts = text.split(NAME)
    const values = await Promise.all(parts.map((part, at) => (at % 2 === 0 ? part : this.#get(part))))
    const [before, only, after] = values
    return parts.length === 3 && before === '' && after === '' ? only : values.map(String).join('')
  }

  async #get(name: string): Promise<unknown> {
    if (this.#saved.has(name)) return this.#saved.get(name)
    const [, cluster, what] = /^([A-Z])\.(address|cluster_address|root_token|ca_file)$/.exec(name) ?? []
    if (/^[A-Z]\.(active_node|standby_\d)$/.test(name))
      throw new LabError('usage', `the lab had no node for "\${${name}}" when the drill started`)
    if (cluster === undefined)
      throw new LabError('usage', `no step has saved the variable "\${${name}}": add "save" to an earlier step`)
    if (what === 'address') return this.lab.cluster(cluster).apiAddress
    if (what === 'ca_file') {
      const { caFile } = this.lab.cluster(cluster)
      if (caFile !== undefined) return caFile
      throw new LabError('usage', `the API of ${cluster} does not use TLS, so it has no CA`)
    }
    if (what === 'root_token') return this.lab.rootToken(cluster)
    const leader = await this.lab.anonymous(cluster).read('sys/leader')
    const address = new URL(String(leader.leader_cluster_address)).host
    this.#saved.set(name, address)
    return address
  }

  /** Saves the variables of addresses and nodes at the start, because the drill may change or stop the clusters. */
  async saveVariables(): Promise<void> {
    const names = this.lab.clusters.map(({ name }) => name)
    await Promise.all(names.map((name) => this.#get(`${name}.cluster_address`).catch(() => undefined)))
    await Promise.all(names.map((name) => this.#learnNodes(name)))
  }

  async #learnNodes(cluster: string): Promise<void> {
    const nodes = await viewNodes(this.lab, cluster)
    const active = nodes.find(({ isActive }) => isActive)
    if (!active) return
    this.save(`${cluster}.active_node`, active.name)
    const standbys = nodes.filter((node) => node !== active)
    for (const [index, { name }] of standbys.entries()) this.save(`${cluster}.standby_${index + 1}`, name)
  }

  async #clientFor({ cluster, token = 'root', patienceMs = 0 }: DrillRequest): Promise<ApiClient> {
    const access = this.lab.cluster(cluster)
    const rootToken = token === 'none' ? '' : token === 'root' ? await this.lab.rootToken(cluster) : token
    return clientOf({ ...access, rootToken }, Math.max(patienceMs, ANSWER_MS))
  }

  /** Records writes only. A report does not list reads. */
  #note({ cluster, method, path }: DrillRequest | RunbookStep, command: string, status: number | null, tookMs: number) {
    if (method === 'GET' || method === 'LIST') return
    this.calls.push({ atMs: this.now() - tookMs, cluster, method, path, command, status, tookMs })
  }
}
