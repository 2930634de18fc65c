import http from 'node:http'
import { createInterface } from 'node:readline'
import { type EventDraft, type LabEvent, parseEvent } from '../events/event.js'
import { LabError } from '../lab-error.js'
import type { ActiveFault, FaultRequest } from './active-fault.js'
import type { HostedVerb } from './server-host.js'

const ANSWER_MS = 5000

/** Nobody waits longer for an event to be noted than this. */
const TELL_MS = 1000

/** Talks to the keeper of a lab. Rejects with a conflict when none answers. */
export class KeeperClient {
  readonly #socket: string

  constructor(socket: string) {
    this.#socket = socket
  }

  async list(): Promise<readonly ActiveFault[]> {
    return ((await this.#send('GET', '/faults')) as { faults: ActiveFault[] }).faults
  }

  async set(request: FaultRequest): Promise<ActiveFault> {
    return (await this.#send('POST', '/faults', request)) as ActiveFault
  }

  /** Heals one fault, or all. */
  async heal(id?: number): Promise<readonly ActiveFault[]> {
    const path = id === undefined ? '/faults' : `/faults/${id}`
    return ((await this.#send('DELETE', path)) as { healed: ActiveFault[] }).healed
  }

  /** Where toxiproxy's control listens on 127.0.0.1; null: nowhere. */
  async toxiproxyPort(): Promise<number | null> {
    return ((await this.#send('GET', '/toxiproxy')) as { port: number | null }).port
  }

  /** Lets it listen on this port, or on a free one (0), or no longer (null). Rejects with a conflict when it is taken. */
  async setToxiproxyPort(port: number | null): Promise<number | null> {
    return ((await this.#send('POST', '/toxiproxy', { port })) as { port: number | null }).port
  }

  /** Does something to a server that shares the process of the keeper. */
  async work(cluster: string, verb: HostedVerb, timeoutMs: number): Promise<void> {
    await this.#send('POST', `/servers/${cluster}`, { verb }, timeoutMs)
  }

  async append(event: EventDraft): Promise<LabEvent> {
    return (await this.#send('POST', '/events', event, TELL_MS)) as LabEvent
  }

  /** As `append`, for those who have other things to do: without a keeper nobody notes it, and nothing fails. */
  async tell(event: EventDraft): Promise<void> {
    await this.append(event).catch(() => undefined)
  }

  /** Events that the keeper has in memory, after the one with this number. */
  async events(after = 0): Promise<readonly LabEvent[]> {
    return ((await this.#send('GET', `/events?after=${after}`)) as { events: LabEvent[] }).events
  }

  /**
   * Calls `onEvent` with everything that the keeper has after the event of this number and with what goes on happening.
   * Resolves when `signal` is aborted or the keeper has ended the stream; rejects with a conflict when none answers.
   */
  follow(after: number, onEvent: (event: LabEvent) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const path = `/events?after=${after}&follow=1`
      const request = http.request({ socketPath: this.#socket, path, signal }, (response) => {
        response.on('error', () => undefined)
        response.on('close', resolve)
        if (response.statusCode !== 200) {
          reject(new LabError('conflict', `the keeper lets nobody follow (status ${response.statusCode})`))
          response.destroy()
          return
        }
        const lines = createInterface({ input: response })
        lines.on('error', () => undefined)
        lines.on('line', (line) => {
          const event = parseEvent(line)
          if (event) onEvent(event)
        })
      })
      request.on('error', (error) => (signal.aborted ? resolve() : reject(unanswered(error))))
      request.end()
    })
  }

  #send(method: string, path: string, body?: unknown, timeoutMs = ANSWER_MS): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(unanswered(error))
      const request = http.request({ socketPath: this.#socket, method, path, timeout: timeoutMs }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', fail)
        response.on('end', () => {
          const answer = parse(Buffer.concat(chunks))
          if (response.statusCode === 200) resolve(answer)
          else reject(refusal(response.statusCode ?? 0, answer))
        })
      })
      request.on('timeout', () => request.destroy(new Error(`nothing within ${timeoutMs} ms`)))
      request.on('error', fail)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

const unanswered = (error: Error): LabError =>
  new LabError(
    'conflict',
    `the keeper of the lab does not answer, so every link is cut; "understudy start" on that lab brings it back: ${error.message}`,
    { cause: error },
  )

const refusal = (status: number, { errors }: { errors?: string[] }): LabError => {
  const code = status === 409 ? 'conflict' : status >= 500 ? 'remote' : 'usage'
  return new LabError(code, errors?.join('; ') ?? `status ${status}`)
}

const parse = (bytes: Buffer): { errors?: string[] } => {
  try {
    return JSON.parse(bytes.toString('utf8')) as { errors?: string[] }
  } catch {
    return {}
  }
}
