import { type ApiAnswer, type ApiClient, errorsOf } from '../../../client/api-client.js'
import { clientOf } from '../../model/cluster.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { ClientKind } from '../context/result.js'
import type { Ledger } from './ledger.js'

/** Sends one request of a client to its current cluster. */
export type Send = (connection: ApiClient) => Promise<ApiAnswer>

export interface LoadClientOptions {
  readonly lab: LiveLab
  readonly ledger: Ledger
  readonly name: string
  readonly kind: ClientKind
  readonly action: 'write' | 'read'
  /** The initial cluster. On failures, the client tries all clusters of the lab in order. */
  readonly home: string
  readonly everyMs: number
  readonly patienceMs: number
  /** Milliseconds since the start of the drill. */
  readonly now: () => number
  /** Returns the next request, and the key that it writes. Undefined if there is nothing to request yet. */
  readonly next: () => { readonly send: Send; readonly key?: string } | undefined
}

/**
 * A client with a list of addresses: it uses one cluster until a request is rejected or gets no response, then the next cluster.
 * It sends one request at a time and retries none.
 */
export class LoadClient {
  readonly #options: LoadClientOptions
  readonly #connections: readonly { readonly cluster: string; readonly client: ApiClient }[]
  readonly #stop = new AbortController()
  /** Whether its last request was accepted. */
  isServed = false
  #at = 0
  #running: Promise<void> = Promise.resolve()

  constructor(options: LoadClientOptions) {
    this.#options = options
    const { lab, home, patienceMs } = options
    const names = lab.clusters.map(({ name }) => name)
    const from = Math.max(0, names.indexOf(home))
    this.#connections = [...names.slice(from), ...names.slice(0, from)].flatMap((cluster) => {
      const access = lab.cluster(cluster)
      const { nodeAddresses = [access.apiAddress] } = access
      return nodeAddresses.map((apiAddress) => ({
        cluster,
        client: clientOf({ ...access, apiAddress, rootToken: '' }).with({ timeoutMs: patienceMs }),
      }))
    })
  }

  get kind(): ClientKind {
    return this.#options.kind
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Stops sending, and resolves when the last request has completed. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    for (const { client } of this.#connections) client.close()
  }

  async #run(): Promise<void> {
    const { lab, everyMs, next } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      const request = next()
      if (request) await this.#try(request.send, request.key)
      await lab.clock.sleep(everyMs, signal).catch(() => undefined)
    }
  }

  async #try(send: Send, key: string | undefined): Promise<void> {
    const { ledger, name, kind, action, now } = this.#options
    const connection = this.#connections[this.#at]
    if (!connection) return
    const sentMs = now()
    const reason = await send(connection.client).then(reasonOf, (error: unknown) => String((error as Error).message))
    this.isServed = reason === ''
    ledger.attempts.push({
      client: name,
      kind,
      action,
      cluster: connection.cluster,
      sentMs,
      endedMs: now(),
      isAccepted: reason === '',
      reason,
      ...(key === undefined ? {} : { key }),
    })
    if (!this.isServed) this.#at = (this.#at + 1) % this.#connections.length
  }
}

/** Returns why a response failed, or an empty string. A missing secret is no failure, since a secondary may lag. */
const reasonOf = (answer: ApiAnswer): string => {
  const errors = errorsOf(answer)
  const isAnswer = answer.status < 400 || (answer.status === 404 && errors.length === 0)
  return isAnswer ? '' : `${answer.status} ${errors.join('; ')}`
}
