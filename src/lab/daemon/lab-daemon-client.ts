import { messageOf } from '../../base/printable.js'
import { createInterface } from 'node:readline'
import { callHttp, type HttpCall, openHttp } from '../../base/http-call.js'
import { parseJsonObject } from '../../base/json.js'
import { type EventDraft, type LabEvent, parseEvent } from '../events/event.js'
import { LabError } from '../model/lab-error.js'
import type { ActiveFault, FaultRequest } from './active-fault.js'
import type { HostedVerb } from './run-lab-daemon.js'
import type { Clock } from '../../base/clock.js'
import type { DaemonLab } from '../model/cluster.js'
import { commandIn, describeOthers, findIntactLab } from '../model/lab-directory.js'
import { readEvents } from '../events/event-log.js'

const TIMEOUT_MS = 5000

/** The base URL of requests to a socket file. The daemon ignores the host. */
const ROOT = 'http://lab'

/** Timeout of a request that records an event, in milliseconds. */
const EVENT_MS = 1000

/** A client of the lab daemon. Requests reject with LabError `conflict` if the daemon does not respond. */
export class LabDaemonClient {
  readonly #url: string
  /** Returns the error if the daemon does not respond. */
  readonly #unanswered: (error: unknown) => LabError
  /**
   * A daemon in a container accepts only the host `localhost`, but its address on this machine may have another host.
   */
  readonly #to: Pick<HttpCall, 'socketPath' | 'headers'>

  /**
   * `socket`: the path of a socket file, or the `http:` URL of a daemon in a container. `lab`: its name, for messages.
   */
  constructor(socket: string, lab?: string) {
    const isUrl = isInContainer(socket)
    this.#url = isUrl ? socket : ROOT
    this.#to = isUrl ? { headers: { host: 'localhost' } } : { socketPath: socket }
    this.#unanswered = (error) => unanswered(error, socket, lab)
  }

  async list(): Promise<readonly ActiveFault[]> {
    return ((await this.#send('GET', '/faults')) as { faults: ActiveFault[] }).faults
  }

  async set(request: FaultRequest): Promise<ActiveFault> {
    return (await this.#send('POST', '/faults', request)) as ActiveFault
  }

  /** Heals one fault, or all if `id` is absent. */
  async heal(id?: number): Promise<readonly ActiveFault[]> {
    const path = id === undefined ? '/faults' : `/faults/${id}`
    return ((await this.#send('DELETE', path)) as { healed: ActiveFault[] }).healed
  }

  /** Returns the port of the Toxiproxy API on 127.0.0.1. Null: disabled. */
  async toxiproxyPort(): Promise<number | null> {
    return ((await this.#send('GET', '/toxiproxy')) as { port: number | null }).port
  }

  /**
   * Enables the Toxiproxy API on this port (0: any free port), or disables the API (null). Resolves to the port.
   * Rejects with LabError `conflict` if the port is in use.
   */
  async setToxiproxyPort(port: number | null): Promise<number | null> {
    return ((await this.#send('POST', '/toxiproxy', { port })) as { port: number | null }).port
  }

  /** Runs an action on a server in the process of the lab daemon. */
  async work(cluster: string, verb: HostedVerb, timeoutMs: number): Promise<void> {
    await this.#send('POST', `/servers/${cluster}`, { verb }, timeoutMs)
  }

  async append(event: EventDraft): Promise<LabEvent> {
    return (await this.#send('POST', '/events', event, EVENT_MS)) as LabEvent
  }

  /** Records an event like `append`, but ignores failures: without a lab daemon, the event is lost. */
  async emit(event: EventDraft): Promise<void> {
    await this.append(event).catch(() => undefined)
  }

  /** Returns the events in the memory of the lab daemon with an ID greater than `after`. */
  async events(after = 0): Promise<readonly LabEvent[]> {
    return ((await this.#send('GET', `/events?after=${after}`)) as { events: LabEvent[] }).events
  }

  /**
   * Calls `onEvent` for each event with an ID greater than `after`, including new events. Resolves when `signal` is
   * aborted or the lab daemon closes the stream. Rejects with LabError `conflict` if the daemon does not respond.
   */
  async follow(after: number, onEvent: (event: LabEvent) => void, signal: AbortSignal): Promise<void> {
    const call = { method: 'GET', url: `${this.#url}/events?after=${after}&follow=1`, ...this.#to }
    try {
      const answer = await openHttp(call, signal)
      answer.on('error', () => undefined)
      if (answer.statusCode !== 200) {
        answer.destroy()
        throw new LabError(
          'conflict',
          `the lab daemon does not stream its events: it responded with status ${answer.statusCode}`,
        )
      }
      const closed = new Promise((resolve) => answer.on('close', resolve))
      const lines = createInterface({ input: answer })
      lines.on('error', () => undefined)
      lines.on('line', (line) => {
        const event = parseEvent(line)
        if (event) onEvent(event)
      })
      await closed
    } catch (error) {
      if (error instanceof LabError) throw error
      if (!signal.aborted) throw this.#unanswered(error)
    }
  }

  async #send(method: string, path: string, body?: unknown, timeoutMs = TIMEOUT_MS): Promise<unknown> {
    const call = { method, url: this.#url + path, ...this.#to, timeoutMs }
    const sent = body === undefined ? call : { ...call, body: JSON.stringify(body) }
    const { status, bytes } = await callHttp(sent).catch((error: unknown) => {
      throw this.#unanswered(error)
    })
    const answer = parseJsonObject(bytes) ?? {}
    if (status !== 200) throw refusal(status, answer)
    return answer
  }
}

const isInContainer = (socket: string): boolean => socket.startsWith('http:')

/** Returns the advice to restart the lab daemon. `start`: the command for a daemon that is a process. */
export const describeRestart = (socket: string, start = 'understudy start'): string =>
  isInContainer(socket) ? 'start its container again' : `"${start}" restarts it`

const unanswered = (error: unknown, socket: string, lab: string | undefined): LabError => {
  const [of, start, others] =
    lab === undefined ? ['', undefined, ''] : [` of the lab "${lab}"`, commandIn(lab, 'start'), describeOthers(lab)]
  const fix = `${describeRestart(socket, start)}: ${messageOf(error)}`
  return new LabError('conflict', `the lab daemon${of} does not respond, so every link is down; ${fix}${others}`, {
    cause: error,
  })
}

const refusal = (status: number, { errors }: { errors?: string[] }): LabError => {
  const code = status === 409 ? 'conflict' : status >= 500 ? 'remote' : 'usage'
  return new LabError(code, errors?.join('; ') ?? `the lab daemon responded with status ${status}`)
}

/** Returns all events of a lab, from its files and from the memory of its daemon, in order. */
export const listEvents = async (lab: DaemonLab): Promise<LabEvent[]> => {
  const kept = await new LabDaemonClient(lab.keeper.socket).events().catch((): LabEvent[] => [])
  const known = new Map([...readEvents(lab.directory), ...kept].map((event) => [event.id, event]))
  return [...known.values()].sort((one, other) => one.id - other.id)
}

interface FollowOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onEvent: (event: LabEvent) => void
  /** Called with the reason when the connection to the lab daemon is lost. */
  readonly onLost: (reason: string) => void
}

/** Pause before a new connection, in milliseconds. */
const RETRY_MS = 250

/**
 * Calls `onEvent` for each event with an ID greater than `after`, until `signal` is aborted or the lab is removed.
 * Reconnects if the lab daemon has exited or has disconnected a slow reader.
 */
export const followEvents = async (lab: DaemonLab, after: number, options: FollowOptions): Promise<void> => {
  const { clock, signal, onEvent, onLost } = options
  let last = after
  let isLost = false
  while (!signal.aborted && isThere(lab)) {
    try {
      await new LabDaemonClient(lab.keeper.socket).follow(
        last,
        (event) => {
          last = event.id
          isLost = false
          onEvent(event)
        },
        signal,
      )
    } catch (error) {
      if (!isLost) onLost(messageOf(error))
      isLost = true
    }
    await clock.sleep(RETRY_MS, signal).catch(() => undefined)
  }
}

/** Whether this lab still exists. A new lab with the same name has another daemon. */
const isThere = ({ name, keeper }: DaemonLab): boolean => {
  const lab = findIntactLab(name)
  return lab?.keeper?.socket === keeper.socket
}
