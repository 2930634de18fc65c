import { chmodSync, existsSync, unlinkSync } from 'node:fs'
import type http from 'node:http'
import { type EventDraft, isEventKind } from '../events/event.js'
import { EventLog, EventStreams } from '../events/event-log.js'
import { packageVersion } from '../../base/package-version.js'
import { describeOwnApi, listLabDaemonApi } from '../../server/own-api/document.js'
import { LabError } from '../model/lab-error.js'
import { LabDaemon } from './lab-daemon.js'
import { openRoutes } from './open-routes.js'
import { parseFaultRequest } from './active-fault.js'
import { type JsonServer, readJson, type Reply, serveJson } from './json-server.js'
import { ToxiproxyControl } from './toxiproxy-server.js'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { LabEtcdPlan } from '../model/cluster.js'
import { LabEtcd } from './lab-etcd.js'
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
  /** Runs an action. Does nothing if the state is already reached. Rejects with LabError if the action fails. */
  work(name: string, verb: HostedVerb): Promise<void>
}

/** The configuration that the lab daemon reads when it starts. */
export interface LabDaemonConfig {
  readonly lab: string
  /** The directory of the lab. Event files are in it. */
  readonly directory: string
  readonly socket: string
  readonly routes: readonly Route[]
  readonly clusters: readonly WatchedCluster[]
  /** Port of the Toxiproxy API. Null: disabled. */
  readonly toxiproxyPort: number | null
  /** Only in an in-process lab. */
  readonly servers?: readonly HostedFiles[]
  /** Only in a lab of processes with multi-node clusters. */
  readonly etcd?: LabEtcdPlan | undefined
}

interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  /** The servers in this process. */
  readonly servers?: ServerHost
}

/** Runs the link proxies of a lab, records its events and serves its socket, until it is closed. */
export const runLabDaemon = async (
  { lab, directory, socket, routes, clusters, toxiproxyPort, etcd }: LabDaemonConfig,
  { clock, random, servers }: Surroundings,
): Promise<{ close(): Promise<void> }> => {
  const log = new EventLog({ lab, directory, clock, skewMsOf: (cluster) => daemon.skewMsOf(cluster) })
  const isSuccessor = log.after(0).length > 0
  const tell = log.append.bind(log)
  const watch: Watch = new Watch({ clusters, clock, tell, onSeen: (cluster) => daemon.remind(cluster) })
  const open = await openRoutes(routes, { clock, random, isActive: (node) => watch.isActive(node) })
  const daemon = new LabDaemon(open, { clusters: () => clusters, clock, tell, isSuccessor })
  log.append({ kind: 'keeper-started', details: {} })
  const toxiproxy = new ToxiproxyControl(new Proxies(daemon, { clock, random }))
  if (toxiproxyPort !== null)
    await toxiproxy.listenOn(toxiproxyPort).catch((error: Error) => {
      log.append({ kind: 'note', details: { text: `toxiproxy's control does not listen: ${error.message}` } })
    })
  const labEtcd = etcd && new LabEtcd(etcd, { clock, tell })
  const control = await serveControl({ daemon, log, toxiproxy, servers }, socket)
  watch.start()
  return {
    close: async () => {
      watch.close()
      await control.close()
      await toxiproxy.listenOn(null)
      await daemon.close()
      await labEtcd?.close()
    },
  }
}

const STATUS = { usage: 400, conflict: 409, remote: 500, timeout: 500, interrupted: 500 } as const

/** The components that the API controls. */
interface Controlled {
  readonly daemon: LabDaemon
  readonly log: EventLog
  readonly toxiproxy: ToxiproxyControl
  /** Only in an in-process lab. */
  readonly servers?: ServerHost | undefined
}

interface Control extends Controlled {
  readonly streams: EventStreams
}

interface Incoming {
  readonly method: string
  /** The query without its question mark. */
  readonly query: string
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
}

const json = (status: number, value: unknown): Reply => ({ status, text: JSON.stringify(value) })
const refusal = (status: number, text: string): Reply => json(status, { errors: [text] })

/**
 * The control API of the lab daemon: HTTP with JSON bodies on a socket file that only its owner can open.
 * `GET /faults` lists faults, `POST /faults` sets one (a FaultRequest), `DELETE /faults` heals all, `DELETE /faults/<id>` one.
 * `GET /toxiproxy` returns the port of the Toxiproxy API (`port`, null if disabled), and `POST /toxiproxy` sets it. `POST
 * /servers/<cluster>` runs an action (`verb`) on a server in this process. `GET /` lists all of these, and `/openapi.json`
 * describes them. `GET /events?after=<id>` lists the events in memory, and with `&follow=1` streams new ones as lines. `POST
 * /events` adds one (an EventDraft).
 */
const serveControl = async (controlled: Controlled, socket: string): Promise<Pick<JsonServer, 'close'>> => {
  const streams = new EventStreams(controlled.log)
  const control: Control = { ...controlled, streams }
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const [pathname = '/', query = ''] = (request.url ?? '/').split('?', 2)
    return answerPath(control, { method: request.method ?? 'GET', query, request, response }, pathname)
  }
  const refuse = (error: unknown) =>
    refusal(
      error instanceof LabError ? STATUS[error.code] : 500,
      error instanceof Error ? error.message : String(error),
    )
  // A killed lab daemon leaves its socket file behind.
  if (existsSync(socket)) unlinkSync(socket)
  const server = await serveJson({ answer, refuse }, { path: socket })
  chmodSync(socket, 0o600)
  return {
    close: async () => {
      streams.close()
      await server.close()
    },
  }
}

const answerPath = async (control: Control, incoming: Incoming, pathname: string): Promise<Reply | undefined> => {
  const { method } = incoming
  const [, first, id] = pathname.split('/')
  if (method === 'GET' && pathname === '/openapi.json') return json(200, describeOwnApi(packageVersion()))
  if (method === 'GET' && pathname === '/') return json(200, listLabDaemonApi(control.servers !== undefined))
  if (first === 'faults') return answerFaults(control, incoming, id)
  if (first === 'events' && id === undefined) return answerEvents(control, incoming)
  if (first === 'toxiproxy' && id === undefined) return answerToxiproxy(control, incoming)
  if (first === 'servers' && id !== undefined && control.servers) return workOn(control.servers, incoming, id)
  return refusal(404, `there is no ${pathname}`)
}

const UNSUPPORTED = refusal(405, 'unsupported operation')

const answerFaults = async ({ daemon }: Control, { method, request }: Incoming, id?: string): Promise<Reply> => {
  const missing = refusal(404, `there is no fault ${id}`)
  if (id !== undefined && !/^\d+$/.test(id)) return missing
  if (method === 'GET' && id === undefined) return json(200, { faults: daemon.active })
  if (method === 'POST' && id === undefined)
    return json(200, await daemon.set(parseFaultRequest(await readJson(request))))
  if (method !== 'DELETE') return UNSUPPORTED
  const healed = await daemon.heal(id === undefined ? undefined : [Number(id)])
  return id !== undefined && healed.length === 0 ? missing : json(200, { healed })
}

const answerEvents = async (
  { log, streams }: Control,
  { method, query, request, response }: Incoming,
): Promise<Reply | undefined> => {
  if (method === 'POST') return json(200, log.append(await readDraft(request)))
  if (method !== 'GET') return UNSUPPORTED
  const parameters = new URLSearchParams(query)
  const after = Number(parameters.get('after') ?? 0)
  if (!Number.isSafeInteger(after) || after < 0) throw new LabError('usage', '"after" is the number of an event')
  if (!parameters.has('follow'))
    return json(200, { events: log.after(after).map(({ line }) => JSON.parse(line) as unknown) })
  streams.add(response, after)
  return undefined
}

const answerToxiproxy = async ({ toxiproxy }: Control, { method, request }: Incoming): Promise<Reply> => {
  if (method !== 'GET' && method !== 'POST') return UNSUPPORTED
  if (method === 'POST') {
    const { port = null } = ((await readJson(request)) ?? {}) as { port?: unknown }
    if (port !== null && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
      throw new LabError('usage', '"port" is a port, or null')
    await toxiproxy.listenOn(port as number | null)
  }
  return json(200, { port: toxiproxy.port })
}

const workOn = async (servers: ServerHost, { method, request }: Incoming, name: string): Promise<Reply> => {
  if (method !== 'POST') return UNSUPPORTED
  const { verb } = ((await readJson(request)) ?? {}) as { verb?: unknown }
  const known = HOSTED_VERBS.find((one) => one === verb)
  if (!known) throw new LabError('usage', `"verb" is one of ${HOSTED_VERBS.join(', ')}`)
  await servers.work(name, known)
  return json(200, {})
}

const readDraft = async (request: http.IncomingMessage): Promise<EventDraft> => {
  const value = (await readJson(request)) as Partial<EventDraft> | null
  const { kind, cluster, details, command } = value ?? {}
  const isForm =
    isEventKind(kind) &&
    typeof details === 'object' &&
    details !== null &&
    [cluster, command].every((text) => text === undefined || typeof text === 'string')
  if (!isForm) throw new LabError('usage', 'this is not an event')
  return { kind, details, ...(cluster === undefined ? {} : { cluster }), ...(command === undefined ? {} : { command }) }
}
