import { chmodSync, existsSync, unlinkSync } from 'node:fs'
import http from 'node:http'
import { type EventDraft, isEventKind } from '../../events/event.js'
import type { EventLog } from '../../events/event-log.js'
import { packageVersion } from '../../../base/package-version.js'
import { describeOwnApi, listLabDaemonApi } from '../../../server/own-api/document.js'
import { LabError } from '../../model/lab-error.js'
import { EventStreams } from './event-streams.js'
import type { LabDaemon } from '../lab-daemon.js'
import { parseFaultRequest } from '../parse-fault.js'
import { readJson } from '../read-json.js'
import { HOSTED_VERBS, type ServerHost } from '../server-host.js'
import type { ToxiproxyControl } from '../toxiproxy/toxiproxy-control.js'

const STATUS = { usage: 400, conflict: 409, remote: 500, timeout: 500, interrupted: 500 } as const

/** Status and body of a response. Undefined if the handler streams the response itself. */
type Reply = { readonly status: number; readonly body: unknown } | undefined

/** The components that the API controls. */
interface Kept {
  readonly daemon: LabDaemon
  readonly log: EventLog
  readonly toxiproxy: ToxiproxyControl
  /** Only in an in-process lab. */
  readonly servers?: ServerHost | undefined
}

interface Control extends Kept {
  readonly streams: EventStreams
}

interface Incoming {
  readonly method: string
  /** The query without its question mark. */
  readonly query: string
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
}

/**
 * The control API of the lab daemon: HTTP with JSON bodies on a socket file that only its owner can open.
 * `GET /faults` lists faults, `POST /faults` sets one (a FaultRequest), `DELETE /faults` heals all, `DELETE /faults/<id>` one.
 * `GET /toxiproxy` returns the port of the Toxiproxy API (`port`, null if disabled), and `POST /toxiproxy` sets it. `POST
 * /servers/<cluster>` runs an action (`verb`) on a server in this process. `GET /` lists all of these, and `/openapi.json`
 * describes them. `GET /events?after=<id>` lists the events in memory, and with `&follow=1` streams new ones as lines. `POST
 * /events` adds one (an EventDraft).
 */
export const serveControl = async (kept: Kept, socket: string): Promise<{ close(): Promise<void> }> => {
  const streams = new EventStreams(kept.log)
  const control: Control = { ...kept, streams }
  const server = http.createServer((request, response) => {
    answer(control, request, response)
      .catch((error: unknown) => {
        const status = error instanceof LabError ? STATUS[error.code] : 500
        return { status, body: { errors: [error instanceof Error ? error.message : String(error)] } }
      })
      .then((reply) => reply && send(response, reply.status, reply.body))
      .catch(() => response.destroy())
  })
  // A killed lab daemon leaves its socket file behind.
  if (existsSync(socket)) unlinkSync(socket)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  chmodSync(socket, 0o600)
  return {
    close: async () => {
      streams.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const answer = async (
  control: Control,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<Reply> => {
  const { method = 'GET' } = request
  const [pathname = '/', query = ''] = (request.url ?? '/').split('?', 2)
  const incoming = { method, query, request, response }
  const [, room, id] = pathname.split('/')
  if (method === 'GET' && pathname === '/openapi.json') return { status: 200, body: describeOwnApi(packageVersion()) }
  if (method === 'GET' && pathname === '/')
    return { status: 200, body: listLabDaemonApi(control.servers !== undefined) }
  if (room === 'faults') return answerFaults(control, incoming, id)
  if (room === 'events' && id === undefined) return answerEvents(control, incoming)
  if (room === 'toxiproxy' && id === undefined) return answerToxiproxy(control, incoming)
  if (room === 'servers' && id !== undefined && control.servers) return workOn(control.servers, incoming, id)
  return { status: 404, body: { errors: [`there is no ${pathname}`] } }
}

const UNSUPPORTED: Reply = { status: 405, body: { errors: ['unsupported operation'] } }

const answerFaults = async ({ daemon }: Control, { method, request }: Incoming, id?: string): Promise<Reply> => {
  if (id !== undefined && !/^\d+$/.test(id)) return { status: 404, body: { errors: [`there is no fault ${id}`] } }
  if (method === 'GET' && id === undefined) return { status: 200, body: { faults: daemon.active } }
  if (method === 'POST' && id === undefined)
    return { status: 200, body: await daemon.set(parseFaultRequest(await readJson(request))) }
  if (method !== 'DELETE') return UNSUPPORTED
  const healed = await daemon.heal(id === undefined ? undefined : [Number(id)])
  if (id !== undefined && healed.length === 0) return { status: 404, body: { errors: [`there is no fault ${id}`] } }
  return { status: 200, body: { healed } }
}

const answerEvents = async (
  { log, streams }: Control,
  { method, query, request, response }: Incoming,
): Promise<Reply> => {
  if (method === 'POST') return { status: 200, body: log.append(await readDraft(request)) }
  if (method !== 'GET') return UNSUPPORTED
  const parameters = new URLSearchParams(query)
  const after = Number(parameters.get('after') ?? 0)
  if (!Number.isSafeInteger(after) || after < 0) throw new LabError('usage', '"after" is the number of an event')
  if (!parameters.has('follow'))
    return { status: 200, body: { events: log.after(after).map(({ line }) => JSON.parse(line) as unknown) } }
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
  return { status: 200, body: { port: toxiproxy.port } }
}

const workOn = async (servers: ServerHost, { method, request }: Incoming, name: string): Promise<Reply> => {
  if (method !== 'POST') return UNSUPPORTED
  const { verb } = ((await readJson(request)) ?? {}) as { verb?: unknown }
  const known = HOSTED_VERBS.find((one) => one === verb)
  if (!known) throw new LabError('usage', `"verb" is one of ${HOSTED_VERBS.join(', ')}`)
  await servers.work(name, known)
  return { status: 200, body: {} }
}

const send = (response: http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
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
