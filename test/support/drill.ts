import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { type ApiCall, type ApiClient, errorsOf } from '../../src/client/api-client.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { operationToken } from './ceremony.js'
import type { Cluster } from './clusters.js'

/** The response of a step. A rejected request is a response as well, not an exception. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, unknown>>
  readonly errors: string
  readonly warnings: readonly string[]
}

export interface CallOptions extends Omit<ApiCall, 'body'> {
  /** Sends the call without the root token of the cluster. */
  readonly isAnonymous?: boolean
}

const SHOWN = 110
export const DR_GATE = 'path disabled in replication DR secondary mode'

/**
 * Steps of a drill, each recorded as a line that a reader can repeat with curl. `print` prints all lines with their
 * times.
 */
export class Drill {
  readonly #name: string
  readonly #lines: string[] = []
  readonly #startedMs = systemClock.monotonic()

  constructor(name: string) {
    this.#name = name
  }

  /** Adds a heading to the record. */
  step(text: string): void {
    this.#lines.push(`${this.#time()} # ${text}`)
  }

  async call(
    cluster: Cluster,
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<Answer> {
    const { isAnonymous = false, ...call } = options
    const client: ApiClient = isAnonymous || cluster.rootToken === '' ? cluster.anonymous : cluster.client
    const answer = await client.send(method, path, body === undefined ? call : { ...call, body })
    const json = answer.json ?? {}
    const shown = errorsOf(answer).join('; ') || JSON.stringify(json.warnings ?? json.data ?? json)
    const sent = body === undefined ? '' : ` ${JSON.stringify(body)}`
    this.#lines.push(
      `${this.#time()}   ${method} ${cluster.name} ${path}${shorten(sent)} -> ${answer.status} ${shorten(shown)}`,
    )
    return {
      status: answer.status,
      headers: answer.headers,
      body: json,
      data: (json.data ?? {}) as Record<string, unknown>,
      errors: errorsOf(answer).join('; '),
      warnings: Array.isArray(json.warnings) ? json.warnings.map(String) : [],
    }
  }

  /** Sends a call that must succeed. */
  async ok(cluster: Cluster, method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    const answer = await this.call(cluster, method, path, body, options)
    expect(answer.status, `${method} ${cluster.name} ${path}: ${answer.errors}`).toBeLessThan(300)
    return answer
  }

  /** Sends a role change. Expects 200, no data, and a warning that contains `fragment`. */
  async change(cluster: Cluster, path: string, body: unknown, fragment: string): Promise<Answer> {
    const answer = await this.ok(cluster, 'POST', `sys/replication/${path}`, body)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toBeNull()
    expect(answer.warnings[0]).toContain(fragment)
    return answer
  }

  /** Sends a call that must be rejected with this status and text. */
  async refused(
    cluster: Cluster,
    method: string,
    path: string,
    body: unknown,
    status: number,
    text: string,
    options?: CallOptions,
  ): Promise<Answer> {
    const answer = await this.call(cluster, method, path, body, options)
    expect([answer.status, answer.errors], `${method} ${cluster.name} ${path}`).toEqual([
      status,
      expect.stringContaining(text),
    ])
    return answer
  }

  /** Waits for a condition, and records the duration. */
  async wait(
    cluster: Cluster,
    what: string,
    fact: () => Promise<string | undefined>,
    timeoutMs?: number,
  ): Promise<void> {
    const startedMs = systemClock.monotonic()
    await cluster.until(what, fact, timeoutMs)
    this.#lines.push(
      `${this.#time()}   ${cluster.name}: ${what} after ${Math.round(systemClock.monotonic() - startedMs)} ms`,
    )
  }

  /** Waits until the replication status has these values. */
  async status(
    cluster: Cluster,
    kind: Kind,
    wanted: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>> {
    const startedMs = systemClock.monotonic()
    await cluster.untilStatus(kind, wanted)
    const took = Math.round(systemClock.monotonic() - startedMs)
    this.#lines.push(
      `${this.#time()}   GET ${cluster.name} ${kind}/status -> ${shorten(JSON.stringify(wanted))} after ${took} ms`,
    )
    return cluster.status(kind)
  }

  /** Waits until sys/health responds with this status. */
  async health(cluster: Cluster, status: number): Promise<Record<string, unknown>> {
    let body: Record<string, unknown> = {}
    await this.wait(cluster, `health ${status}`, async () => {
      const answer = await cluster.anonymous.send('GET', 'sys/health')
      body = answer.json ?? {}
      return answer.status === status ? undefined : `it is ${answer.status}`
    })
    return body
  }

  /** Waits until a new DR secondary rejects client requests. */
  async gated(cluster: Cluster): Promise<void> {
    await this.wait(cluster, 'clients to be refused', async () => {
      const answer = await cluster.anonymous.send('GET', 'sys/mounts')
      return errorsOf(answer).includes(DR_GATE) ? undefined : `it answers ${answer.status} ${errorsOf(answer).join()}`
    })
  }

  /** Generates an operation token with the key shares of the cluster. */
  async ceremony(cluster: Cluster): Promise<string> {
    await this.gated(cluster)
    const token = await operationToken(cluster)
    this.#lines.push(
      `${this.#time()}   ${cluster.name}: generate-operation-token with ${cluster.threshold} share(s) -> ${token.slice(0, 8)}...`,
    )
    return token
  }

  /** Issues an activation token for a secondary. */
  async token(primary: Cluster, kind: Kind, id: string, fields: object = {}): Promise<string> {
    const answer = await this.ok(primary, 'POST', `sys/replication/${kind}/primary/secondary-token`, { id, ...fields })
    const wrapped = answer.body.wrap_info as { readonly token?: unknown } | null
    if (typeof wrapped?.token !== 'string') throw new Error('no activation token')
    return wrapped.token
  }

  /** Returns the value at a path of a KV version 1 mount, or undefined. */
  async read(cluster: Cluster, path: string): Promise<unknown> {
    const answer = await this.call(cluster, 'GET', path)
    return answer.status === 404 ? undefined : answer.data.value
  }

  async write(cluster: Cluster, path: string, value: unknown): Promise<Answer> {
    return this.ok(cluster, 'PUT', path, { value })
  }

  /** Waits until a path of a KV version 1 mount has this value. */
  async reads(cluster: Cluster, path: string, value: unknown): Promise<void> {
    await this.wait(cluster, `${path} to be ${JSON.stringify(value)}`, async () => {
      const answer = await cluster.client.send('GET', path)
      const read = (answer.json?.data as { value?: unknown } | null | undefined)?.value
      return JSON.stringify(read) === JSON.stringify(value) ? undefined : `${answer.status} ${JSON.stringify(read)}`
    })
  }

  /** Adds a measured value to the record. */
  note(text: string): void {
    this.#lines.push(`${this.#time()}   ${text}`)
  }

  get elapsedMs(): number {
    return systemClock.monotonic() - this.#startedMs
  }

  print(): void {
    console.log([`${this.#name} (${(this.elapsedMs / 1000).toFixed(1)} s)`, ...this.#lines].join('\n'))
  }

  #time(): string {
    return `${(this.elapsedMs / 1000).toFixed(2).padStart(6)}`
  }
}

const shorten = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text)

/** Runs a drill and prints its record, even if the drill fails. */
export const drill = async (name: string, run: (drill: Drill) => Promise<void>): Promise<void> => {
  const made = new Drill(name)
  try {
    await run(made)
  } finally {
    made.print()
  }
}
