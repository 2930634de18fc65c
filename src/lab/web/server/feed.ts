import { attempt } from '../../../base/attempt.js'
import { isJsonObject } from '../../../base/json.js'
import { messageOf } from '../../../base/printable.js'
import type http from 'node:http'
import type { Clock } from '../../../base/clock.js'
import {
  type AnyLab,
  type ClusterAccess,
  hasDaemon,
  type DaemonLab,
  serversIn,
  withAnonymousClient,
} from '../../model/cluster.js'
import type { LabEvent } from '../../events/event.js'
import { followEvents, listEvents } from '../../daemon/lab-daemon-client.js'
import { requireAnyLab } from '../../model/lab-directory.js'
import type { LabHost } from '../../processes/lab-host.js'
import { askLosses } from '../../requests/losses.js'
import { ANSWER_MS, observe } from '../../status/observe.js'
import { describeEvent, describeLosses, describeSurvey, type ServerFacts } from './describe-page.js'
import { availableActions } from '../actions/available.js'
import type { PAGE_MESSAGES, PageEvent, PageLink, PageLosses, PageRequests } from '../page-facts.js'
import type { PageJob } from '../page-job.js'
import type { ClusterOfNodes, NodeAccess } from '../../nodes/nodes.js'

/** Interval between two surveys. The lag can change without an event. */
const SURVEY_EVERY_MS = 1000

/** Interval between two reads of the losses, which can be long lists. After an event, they are read at once. */
const LOSSES_EVERY_MS = 30_000

/** Maximum number of events that the feed keeps for new viewers. */
const EVENTS_KEPT = 1000

/** Number of actions that new viewers receive. */
const WORKS_KEPT = 20

/** Time in which a loading page is expected to connect to the feed. */
const EXPECTED_MS = 3000

const VIEWERS_MAX = 32

/** Unsent bytes after which a slow viewer is disconnected. Browsers reconnect automatically. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024

type Message = (typeof PAGE_MESSAGES)[number]

/**
 * Sends server-sent events to all viewers of the page: the events of the lab, and the state of all clusters, each
 * second and after each event. Queries the clusters only while there are viewers.
 */
export class Feed {
  readonly #name: string
  readonly #host: LabHost
  readonly #viewers = new Set<http.ServerResponse>()
  readonly #isReadOnly: boolean
  #events: readonly PageEvent[] = []
  #works: readonly PageJob[] = []
  #links: readonly PageLink[] = []
  #losses: readonly PageLosses[] = []
  #lossesUntilMs = Number.NEGATIVE_INFINITY
  #wake = new AbortController()
  /** The last survey that was sent, and its time. */
  #last = { text: '', atMs: Number.NEGATIVE_INFINITY }
  #expectedUntilMs = Number.NEGATIVE_INFINITY

  constructor(name: string, host: LabHost, { isReadOnly = false }: { readonly isReadOnly?: boolean } = {}) {
    this.#name = name
    this.#host = host
    this.#isReadOnly = isReadOnly
  }

  /** Runs until `signal` is aborted, then disconnects all viewers. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#survey(signal), this.#listen(signal)])
    for (const viewer of this.#viewers) viewer.destroy()
  }

  /** Starts a survey while the browser loads the page, so that the diagram is available when the browser connects. */
  expect(): void {
    this.#expectedUntilMs = this.#clock.monotonic() + EXPECTED_MS
    this.#wake.abort()
  }

  /** Adds a viewer, and sends the current state. `after`: the number of the last event that the viewer has. */
  add(response: http.ServerResponse, after: number): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    // An error status would not reach the page: EventSource reports only that the connection failed.
    if (this.#viewers.size >= VIEWERS_MAX) {
      response.end(
        encode('full', {
          reason: `the maximum of ${VIEWERS_MAX} open pages is reached: close another page, then reload this page`,
        }),
      )
      return
    }
    response.on('error', () => undefined)
    response.on('close', () => this.#viewers.delete(response))
    this.#viewers.add(response)
    response.write(`retry: ${SURVEY_EVERY_MS}\n\n`)
    const missed = this.#events.filter(({ id }) => id > after)
    if (missed.length > 0) response.write(encode('events', missed))
    for (const work of this.#works) response.write(encode('work', work))
    if (this.#clock.monotonic() - this.#last.atMs < SURVEY_EVERY_MS) response.write(this.#last.text)
    else this.#wake.abort()
  }

  /** Sends the start or progress of an action to all viewers. */
  sendWork(work: PageJob): void {
    const isKnown = this.#works.some(({ id }) => id === work.id)
    this.#works = isKnown
      ? this.#works.map((one) => (one.id === work.id ? work : one))
      : [...this.#works, work].slice(-WORKS_KEPT)
    this.#send('work', work)
  }

  #send(message: Message, value: unknown): void {
    const text = encode(message, value)
    if (message === 'survey') this.#last = { text, atMs: this.#clock.monotonic() }
    for (const viewer of this.#viewers) {
      viewer.write(text)
      if (viewer.writableLength > BEHIND_BYTES_MAX) viewer.destroy()
    }
  }

  async #survey(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController()
      if (this.#viewers.size > 0 || this.#clock.monotonic() < this.#expectedUntilMs) await this.#sendSurvey()
      await this.#pause(SURVEY_EVERY_MS, AbortSignal.any([signal, this.#wake.signal]))
    }
  }

  async #sendSurvey(): Promise<void> {
    try {
      const lab = requireAnyLab(this.#name)
      const [survey, servers, losses] = await Promise.all([
        observe(lab, this.#host),
        askServers(lab),
        this.#readLosses(lab),
      ])
      const shown = describeSurvey(lab, survey, { atMs: this.#clock.now(), servers, before: this.#links, losses })
      this.#links = shown.links
      this.#send('survey', { ...shown, actions: this.#isReadOnly ? {} : availableActions(lab, shown) })
    } catch (error) {
      this.#send('gone', { reason: messageOf(error) })
    }
  }

  async #readLosses(lab: AnyLab): Promise<readonly PageLosses[]> {
    const nowMs = this.#clock.monotonic()
    if (nowMs < this.#lossesUntilMs) return this.#losses
    this.#lossesUntilMs = nowMs + LOSSES_EVERY_MS
    // A viewer of a read-only page has the rights of a client without a token.
    this.#losses = describeLosses(lab.name, await askLosses(lab, !this.#isReadOnly))
    return this.#losses
  }

  /**
   * Follows the events of the lab. A removed lab may be created again, with a daemon that numbers events from the
   * start.
   */
  async #listen(signal: AbortSignal): Promise<void> {
    let socket = ''
    while (!signal.aborted) {
      const lab = this.#findWithDaemon()
      if (lab) {
        if (socket !== '' && socket !== lab.keeper.socket) this.#forget()
        socket = lab.keeper.socket
        await this.#follow(lab, signal)
      }
      await this.#pause(SURVEY_EVERY_MS, signal)
    }
  }

  async #follow(lab: DaemonLab, signal: AbortSignal): Promise<void> {
    const last = this.#events.at(-1)?.id ?? 0
    this.#addEvents((await listEvents(lab)).filter(({ id }) => id > last))
    await followEvents(lab, this.#events.at(-1)?.id ?? 0, {
      clock: this.#clock,
      signal,
      onEvent: (event) => this.#addEvents([event]),
      onLost: () => this.#wake.abort(),
    })
  }

  #findWithDaemon(): DaemonLab | undefined {
    const lab = attempt(() => requireAnyLab(this.#name))
    return lab && hasDaemon(lab) ? lab : undefined
  }

  #addEvents(happened: readonly LabEvent[]): void {
    if (happened.length === 0) return
    this.#lossesUntilMs = Number.NEGATIVE_INFINITY
    const events = happened.slice(-EVENTS_KEPT).map(describeEvent)
    this.#events = [...this.#events, ...events].slice(-EVENTS_KEPT)
    this.#send('events', events)
    this.#wake.abort()
  }

  #forget(): void {
    this.#events = []
    this.#links = []
    this.#send('reset', {})
  }

  get #clock(): Clock {
    return this.#host.clock
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal).catch(() => undefined)
  }
}

/** Formats a server-sent event. A line break would end its data, but JSON text contains none. */
const encode = (message: Message, value: unknown): string => {
  const last = message === 'events' ? (value as readonly PageEvent[]).at(-1)?.id : undefined
  const id = message === 'reset' ? 0 : last
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${message}\ndata: ${JSON.stringify(value)}\n\n`
}

/** Returns the facts of each server by name. Null if the server does not respond, or is not an Understudy server. */
const askServers = async (lab: AnyLab): Promise<ReadonlyMap<string, ServerFacts | null>> => {
  const asked = (lab.clusters as readonly ClusterOfNodes[]).flatMap((cluster) =>
    serversIn<NodeAccess>(cluster).map(async ({ name, apiAddress }) => {
      const facts = await askServer(name, { ...cluster, apiAddress }).catch(() => null)
      return [name, facts] as const
    }),
  )
  return new Map(await Promise.all(asked))
}

const askServer = (server: string, cluster: ClusterAccess): Promise<ServerFacts> =>
  withAnonymousClient(
    cluster,
    async (client) => {
      const { json = {} } = await client.send('GET', '/_understudy/v1/info')
      const { handled, refused } = (json.requests ?? {}) as Partial<PageRequests>
      const isCounted = typeof handled === 'number' && typeof refused === 'number'
      return { requests: isCounted ? { server, handled, refused } : null, isFenced: isJsonObject(json.fenced) }
    },
    ANSWER_MS,
  )
