import { type ApiAnswer, type ApiClient, errorsOf } from '../../../client/api-client.js'
import { clientOf } from '../../model/cluster.js'
import type { DrillContext } from '../context/drill-context.js'
import type { ClientKind } from '../context/result.js'

/** One request of a load client. */
export interface Attempt {
  readonly client: string
  readonly kind: ClientKind
  readonly action: 'write' | 'read'
  readonly cluster: string
  /** Milliseconds since the start of the drill. */
  readonly sentMs: number
  readonly endedMs: number
  readonly isAccepted: boolean
  /** Status and text of the rejection, or the reason for the missing response. Empty if accepted. */
  readonly reason: string
  /** The key that the request writes. */
  readonly key?: string
}
type Send = (connection: ApiClient) => Promise<ApiAnswer>

export interface ClientPlan extends Pick<Attempt, 'client' | 'kind' | 'action'> {
  /** The initial cluster. On failures, the client tries all clusters of the lab in order. */
  readonly home: string
  /** Returns the next request, and the key that it writes. Undefined while a reader has no key to read. */
  readonly next: () => { readonly send: Send; readonly key?: string } | undefined
}

export interface LoadClient {
  readonly kind: ClientKind
  /** Whether its last request was accepted. */
  readonly isServed: boolean
  /** Stops sending, and resolves when the last request has completed. */
  stop(): Promise<void>
}

/**
 * Starts a client with a list of addresses. The client uses one cluster until a request fails, then the next cluster.
 * It sends one request at a time, adds the result to `attempts`, and does not repeat requests.
 */
export const startClient = (
  context: DrillContext,
  attempts: Attempt[],
  { client: name, kind, action, home, next }: ClientPlan,
  { everyMs, patienceMs }: { readonly everyMs: number; readonly patienceMs: number },
): LoadClient => {
  const { lab } = context
  const names = lab.clusters.map((cluster) => cluster.name)
  const from = Math.max(0, names.indexOf(home))
  const connections = [...names.slice(from), ...names.slice(0, from)].flatMap((cluster) => {
    const access = lab.cluster(cluster)
    const { nodeAddresses = [access.apiAddress] } = access
    return nodeAddresses.map((apiAddress) => ({
      cluster,
      client: clientOf({ ...access, apiAddress, rootToken: '' }, patienceMs),
    }))
  })
  let at = 0
  let isServed = false
  const attempt = async (send: Send, key: string | undefined): Promise<void> => {
    const connection = connections[at]
    if (!connection) return
    const sentMs = context.now()
    const reason = await send(connection.client).then(reasonOf, (error: unknown) => String((error as Error).message))
    isServed = reason === ''
    const times = { sentMs, endedMs: context.now() }
    const result = { client: name, kind, action, cluster: connection.cluster, ...times, isAccepted: isServed, reason }
    attempts.push(key === undefined ? result : { ...result, key })
    if (!isServed) at = (at + 1) % connections.length
  }
  const stop = inBackground(async (signal) => {
    while (!signal.aborted) {
      const request = next()
      if (request) await attempt(request.send, request.key)
      await lab.clock.sleep(everyMs, signal).catch(() => undefined)
    }
  })
  return {
    kind,
    get isServed() {
      return isServed
    },
    async stop() {
      await stop()
      for (const { client } of connections) client.close()
    },
  }
}

/** Starts work. The returned function aborts its signal, and resolves when the work has ended. */
export const inBackground = (work: (signal: AbortSignal) => Promise<void>): (() => Promise<void>) => {
  const controller = new AbortController()
  const running = work(controller.signal)
  return () => {
    controller.abort()
    return running
  }
}

/** Returns why a request failed, or an empty string. A missing secret is not a failure, since a secondary may lag. */
const reasonOf = (answer: ApiAnswer): string => {
  const errors = errorsOf(answer)
  const isAnswer = answer.status < 400 || (answer.status === 404 && errors.length === 0)
  return isAnswer ? '' : `${answer.status} ${errors.join('; ')}`
}
