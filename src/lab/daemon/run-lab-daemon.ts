import { alternatives } from '../../base/counted.js'
import { messageOf } from '../../base/printable.js'
import { chmodSync, existsSync, unlinkSync } from 'node:fs'
import { type EventDraft, isEventKind } from '../events/event.js'
import { EventLog, EventStreams } from '../events/event-log.js'
import { packageVersion } from '../../base/package-version.js'
import { describeOwnApi, listLabDaemonApi } from '../../server/own-api/document.js'
import { LabError } from '../model/lab-error.js'
import { LabDaemon } from './lab-daemon.js'
import { openRoutes } from './open-routes.js'
import { parseFaultRequest } from './active-fault.js'
import { type Incoming, type JsonServer, type JsonService, readJson, type Reply, serveJson } from './json-server.js'
import { requireNoPage, ToxiproxyControl } from './toxiproxy-server.js'
import { ToxiproxyError } from './toxics.js'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { LabEtcdPlan } from '../model/daemon-record.js'
import type { Route } from '../model/routes.js'
import { Proxies } from './toxiproxy-proxies.js'
import { Watch, type WatchedCluster } from './watch.js'

/** The files of a server in the process of the lab daemon. */
export interface HostedFiles {
  readonly name: string
  /** The cluster of the server, if it is a node of a multi-node cluster. */
  readonly cluster?: string | undefined
  readonly configFile: string
  readonly logFile: string
}

const HOSTED_VERBS = ['start', 'stop', 'crash'] as const
export type HostedVerb = (typeof HOSTED_VERBS)[number]

/** The servers of an in-process lab, as its daemon controls them. */
export interface ServerHost {
  /**
   * Runs an action on a server. Does nothing if the server is already in this state. Rejects with LabError on failure.
   */
  work(name: string, verb: HostedVerb): Promise<void>
}

/** The configuration that the lab daemon reads when it starts. */
export interface LabDaemonConfig {
  readonly lab: string
  /** The directory of the lab. Event files are in it. */
  readonly directory: string
  /** The control API: the path of a socket file that only its owner can open, or a port. */
  readonly socket: string | number
  /** The address on which ports listen, such as 0.0.0.0 in a container. Default: 127.0.0.1. */
  readonly host?: string | undefined
  readonly routes: readonly Route[]
  readonly clusters: readonly WatchedCluster[]
  /** Port of the Toxiproxy API. Null: disabled. */
  readonly toxiproxyPort: number | null
  /** The servers that run in the process of the daemon. Only in an in-process lab. */
  readonly servers?: readonly HostedFiles[]
  /** Makes keys, tokens and faults of an in-process lab reproducible. */
  readonly seed?: string | undefined
  /** The etcd that the nodes share. Only in a lab of processes with multi-node clusters. */
  readonly etcd?: LabEtcdPlan | undefined
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** The servers in this process. Only in an in-process lab. */
  readonly servers?: ServerHost
}

/** Runs the link proxies of a lab, records its events and serves its socket, until it is closed. */
export const runLabDaemon = async (
  { lab, directory, socket, host, routes, clusters, toxiproxyPort, etcd }: LabDaemonConfig,
  { clock, random, servers }: Surroundings,
): Promise<{ close(): Promise<void> }> => {
  const log = new EventLog({ lab, directory, clock, skewMsOf: (cluster) => daemon.skewMsOf(cluster) })
  const isSuccessor = log.after(0).length > 0
  const emit = log.append.bind(log)
  const watch: Watch = new Watch({
    clusters,
    clock,
    emit,
    onSeen: (cluster) => daemon.restoreFaults(cluster),
    isFollowed: () => log.listenerCount > 1,
    reportsFirst: true,
  })
  log.listen(() => watch.wake())
  const open = await openRoutes(routes, { clock, random, host, isActive: (node) => watch.isActive(node) })
  const daemon = new LabDaemon(open, { clusters: () => clusters, clock, emit, isSuccessor })
  log.append({ kind: 'daemon-started', details: {} })
  const toxiproxy = new ToxiproxyControl(new Proxies(daemon, { clock, random, host }), host)
  if (toxiproxyPort !== null)
    await toxiproxy.listenOn(toxiproxyPort).catch((error: Error) => {
      log.append({ kind: 'note', details: { text: `the Toxiproxy API is not available: ${error.message}` } })
    })
  // Imported here, because most labs have no etcd, and the lab daemon should use little memory.
  const labEtcd = etcd && (await import('./lab-etcd.js')).startLabEtcd(etcd, { clock, random, emit })
  const control = await serveControl({ daemon, log, toxiproxy, servers }, socket, host)
  watch.start()
  return {
    close: async () => {
      watch.close()
      await control.close()
      await toxiproxy.listenOn(null)
      await daemon.close()
      await labEtcd?.stop()
    },
  }
}

const STATUS = { usage: 400, conflict: 409, remote: 500, timeout: 500, interrupted: 500 } as const

interface Controlled {
  readonly daemon: LabDaemon
  readonly log: EventLog
  readonly toxiproxy: ToxiproxyControl
  /** Only in an in-process lab. */
  readonly servers?: ServerHost | undefined
}

const json = (status: number, value: unknown): Reply => ({ status, text: JSON.stringify(value) })
const ok = (value: unknown): Reply => json(200, value)
const refusal = (status: number, text: string): Reply => json(status, { errors: [text] })

/**
 * The control API of the lab daemon: HTTP with JSON bodies, on a socket file that only its owner can open, or on a
 * port.
 */
const serveControl = async (
  controlled: Controlled,
  socket: LabDaemonConfig['socket'],
  host = '127.0.0.1',
): Promise<Pick<JsonServer, 'close'>> => {
  const streams = new EventStreams(controlled.log)
  const miss = (pathname: string, isKnown: boolean) =>
    isKnown ? refusal(405, 'unsupported operation') : refusal(404, `there is no path ${pathname}; see GET /`)
  const service = { routes: routesOf(controlled, streams), miss, refuse }
  const server = await (typeof socket === 'number'
    ? serveJson({ ...service, guard: requireNoPage }, { port: socket, host })
    : serveOnFile(service, socket))
  return {
    close: async () => {
      streams.close()
      await server.close()
    },
  }
}

const refuse = (error: unknown): Reply => {
  const status = error instanceof ToxiproxyError ? error.status : error instanceof LabError ? STATUS[error.code] : 500
  return refusal(status, messageOf(error))
}

const serveOnFile = async (service: JsonService, socket: string): Promise<JsonServer> => {
  // A killed lab daemon leaves its socket file behind.
  if (existsSync(socket)) unlinkSync(socket)
  const server = await serveJson(service, { path: socket })
  chmodSync(socket, 0o600)
  return server
}

const routesOf = ({ daemon, log, toxiproxy, servers }: Controlled, streams: EventStreams): JsonService['routes'] => ({
  'GET /': () => ok(listLabDaemonApi(servers !== undefined)),
  'GET /openapi.json': () => ok(describeOwnApi(packageVersion())),
  'GET /faults': () => ok({ faults: daemon.active }),
  /** The body is a FaultRequest. */
  'POST /faults': async ({ request }) => ok(await daemon.set(parseFaultRequest(await readJson(request)))),
  'DELETE /faults': async () => ok({ healed: await daemon.heal() }),
  'DELETE /faults/*': async ({ names: [id = ''] }) => {
    const healed = /^\d+$/.test(id) ? await daemon.heal([Number(id)]) : []
    return healed.length === 0 ? refusal(404, `there is no fault ${id}`) : ok({ healed })
  },
  /**
   * Lists the events in memory; `after=<id>` limits them to later events. With `follow`, also streams new events, one
   * per line.
   */
  'GET /events': ({ query, response }) => {
    const after = Number(query.get('after') ?? 0)
    if (!Number.isSafeInteger(after) || after < 0) throw new LabError('usage', '"after" must be 0 or an event ID')
    if (!query.has('follow')) return ok({ events: log.after(after).map(({ line }) => JSON.parse(line) as unknown) })
    streams.add(response, after)
    return undefined
  },
  /** The body is an EventDraft. */
  'POST /events': async ({ request }) => ok(log.append(parseDraft(await readJson(request)))),
  'GET /toxiproxy': () => ok({ port: toxiproxy.port }),
  /** `port`: null disables the Toxiproxy API. */
  'POST /toxiproxy': async ({ request }) => {
    const { port = null } = ((await readJson(request)) ?? {}) as { port?: unknown }
    if (port !== null && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
      throw new LabError('usage', '"port" must be a number from 0 to 65535, or null')
    await toxiproxy.listenOn(port as number | null)
    return ok({ port: toxiproxy.port })
  },
  ...(servers && {
    /** Runs the action `verb` on a server in this process. */
    'POST /servers/*': async ({ names: [name = ''], request }: Incoming) => {
      const { verb } = ((await readJson(request)) ?? {}) as { verb?: unknown }
      const known = HOSTED_VERBS.find((one) => one === verb)
      if (!known) throw new LabError('usage', `"verb" must be ${alternatives(HOSTED_VERBS)}`)
      await servers.work(name, known)
      return ok({})
    },
  }),
})

const parseDraft = (value: unknown): EventDraft => {
  const { kind, cluster, details, command } = (value ?? {}) as Partial<EventDraft>
  const isDraft =
    isEventKind(kind) &&
    typeof details === 'object' &&
    details !== null &&
    [cluster, command].every((text) => text === undefined || typeof text === 'string')
  if (!isDraft) throw new LabError('usage', 'the body is not an event: specify an object with "kind" and "details"')
  return { kind, details, ...(cluster === undefined ? {} : { cluster }), ...(command === undefined ? {} : { command }) }
}
