import { type ApiAnswer, type ApiClient, ApiError, errorsOf } from '../../client/api-client.js'
import { clientOf } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import type { LiveLab } from '../live/live-lab.js'
import type { Runbook, Step as RunbookStep } from '../operations/runbook.js'
import { waitFor } from '../requests/wait.js'
import { lineOf } from '../operations/lines.js'
import type { CallResult } from './result.js'
import { Variables } from './variables.js'

/** For an answer, unless a request says otherwise. */
const ANSWER_MS = 10_000

/** Something that a drill asserts is not so. */
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
  /** `root`, `none`, or a token itself. */
  readonly token?: string | undefined
  readonly namespace?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Where it may take longer than requests usually do. */
  readonly patienceMs?: number | undefined
}

interface DrillContextOptions {
  /** Bound on each wait that names none of its own. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The surroundings of steps and expectations: the lab, the variables that were saved, and a note of every request. */
export class DrillContext {
  readonly lab: LiveLab
  readonly variables: Variables
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly calls: CallResult[] = []
  /** The cluster that became a primary last. */
  promoted: string | undefined
  /** RFC 3339. */
  readonly startedAt: string
  #onLine: (line: string) => void = () => undefined
  #onOutput: (text: string) => void = () => undefined
  readonly #startedMs: number
  readonly #ends: (() => void)[] = []

  constructor(lab: LiveLab, { timeoutMs, signal }: DrillContextOptions) {
    this.lab = lab
    this.timeoutMs = timeoutMs
    this.signal = signal
    this.variables = new Variables(lab)
    this.startedAt = new Date(lab.clock.now()).toISOString()
    this.#startedMs = lab.clock.monotonic()
  }

  /** Milliseconds since the drill began. */
  now(): number {
    return this.lab.clock.monotonic() - this.#startedMs
  }

  /** The offset of a moment in time of day. Only how long it is ago is taken from that clock. */
  momentOf(time: string): number {
    const agoMs = Math.max(this.lab.clock.now() - Date.parse(time), 0)
    return Math.max(this.now() - agoMs, 0)
  }

  /** Told of every line of a shell that stands for what is done. */
  onLine(listener: (line: string) => void): void {
    this.#onLine = listener
  }

  /** Told of what commands print. */
  onOutput(listener: (text: string) => void): void {
    this.#onOutput = listener
  }

  /** For what goes on behind a step: it ends with the drill. */
  atEnd(end: () => void): void {
    this.#ends.push(end)
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end()
  }

  line(text: string): void {
    this.#onLine(text)
  }

  output(text: string): void {
    this.#onOutput(text)
  }

  /** Operations as commands have them, shown as lines without secrets. */
  get runbook(): Runbook {
    const addressOf = (step: RunbookStep) => this.lab.cluster(step.cluster).apiAddress
    return this.lab.runbook({
      timeoutMs: this.timeoutMs,
      onProgress: () => undefined,
      onCall: (line) => this.line(line),
      onAnswer: (step, status, tookMs) => this.#note(step, lineOf(step, addressOf(step)), status, tookMs),
    })
  }

  /** Sends a request that is shown; any status is an answer. */
  async send(request: DrillRequest): Promise<ApiAnswer> {
    this.line(lineOf(request, this.lab.cluster(request.cluster).apiAddress))
    return this.ask(request)
  }

  /** Sends a request that is not shown, for questions that are asked again and again. */
  async ask(request: DrillRequest): Promise<ApiAnswer> {
    const { cluster, method, path, body, query, headers, namespace } = request
    const line = lineOf(request, this.lab.cluster(cluster).apiAddress)
    const client = await this.#clientFor(request)
    const sentMs = this.lab.clock.monotonic()
    const took = () => this.lab.clock.monotonic() - sentMs
    try {
      const answer = await client.send(method, path, {
        ...(body === undefined ? {} : { body }),
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

  /** A request that must be answered with a status below 400. */
  async ok(request: DrillRequest): Promise<Record<string, unknown>> {
    const answer = await this.send(request)
    if (answer.status >= 400) throw refusal(request, this.lab.cluster(request.cluster).apiAddress, answer)
    return answer.json ?? {}
  }

  /** Waits for a fact; ends early when the drill is interrupted. */
  async wait(what: string, fact: () => Promise<string | undefined>, timeoutMs = this.timeoutMs): Promise<void> {
    await waitFor(this.lab.clock, what, fact, timeoutMs, this.signal)
  }

  async #clientFor({ cluster, token = 'root', patienceMs = 0 }: DrillRequest): Promise<ApiClient> {
    const access = this.lab.cluster(cluster)
    const rootToken = token === 'none' ? '' : token === 'root' ? await this.lab.rootToken(cluster) : token
    return clientOf({ ...access, rootToken }, Math.max(patienceMs, ANSWER_MS))
  }

  /** Reads change nothing: a report has no use for them. */
  #note({ cluster, method, path }: DrillRequest | RunbookStep, command: string, status: number | null, tookMs: number) {
    if (method === 'GET' || method === 'LIST') return
    this.calls.push({ atMs: this.now() - tookMs, cluster, method, path, command, status, tookMs })
  }
}

const refusal = ({ method, path }: DrillRequest, address: string, answer: ApiAnswer): ApiError =>
  new ApiError(method, `${address}${path.startsWith('/') ? '' : '/v1/'}${path}`, answer.status, errorsOf(answer))
