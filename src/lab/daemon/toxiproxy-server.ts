import type http from 'node:http'
import { LabError } from '../model/lab-error.js'
import { type JsonServer, type JsonService, readJson, type Reply, serveJson } from './json-server.js'
import type { Proxies } from './toxiproxy-proxies.js'
import { badRequest, ToxiproxyError } from './toxics.js'

/** The Toxiproxy version that this API implements. Clients check it. */
const VERSION = '2.12.0'

type Given = Readonly<Record<string, unknown>>

interface Asked {
  readonly proxies: Proxies
  readonly proxy: string
  readonly toxic: string
  readonly body: () => Promise<Given>
  readonly list: () => Promise<readonly Given[]>
}

type Answer = (asked: Asked) => Promise<Reply> | Reply

const json = (status: number, body: unknown): Reply => ({ status, text: `${JSON.stringify(body)}\n` })
const ok = (body: unknown): Reply => json(200, body)
const created = (body: unknown): Reply => json(201, body)

/** Returns a handler that sends no body. */
const done =
  (work: (asked: Asked) => Promise<void>): Answer =>
  async (asked) => {
    await work(asked)
    return { status: 204 }
  }

const updateProxy: Answer = async ({ proxies, proxy, body }) => ok(await proxies.update(proxy, await body()))
const updateToxic: Answer = async ({ proxies, proxy, toxic, body }) =>
  ok(await proxies.updateToxic(proxy, toxic, await body()))

/** Handlers by method and path. `*` stands for a name. */
const ROUTES: Readonly<Record<string, Answer>> = {
  'GET /version': () => ok({ version: VERSION }),
  'GET /metrics': ({ proxies }) => ({ status: 200, text: proxies.metrics(), type: 'text/plain; version=0.0.4' }),
  'POST /reset': done(({ proxies }) => proxies.reset()),
  'POST /populate': async ({ proxies, list }) => created({ proxies: await proxies.populate(await list()) }),
  'GET /proxies': ({ proxies }) => ok(Object.fromEntries(proxies.list().map((proxy) => [proxy.name, proxy]))),
  'POST /proxies': async ({ proxies, body }) => created(await proxies.create(await body())),
  'GET /proxies/*': ({ proxies, proxy }) => ok(proxies.show(proxy)),
  'POST /proxies/*': updateProxy,
  'PATCH /proxies/*': updateProxy,
  'DELETE /proxies/*': done(({ proxies, proxy }) => proxies.delete(proxy)),
  'GET /proxies/*/toxics': ({ proxies, proxy }) => ok(proxies.toxics(proxy)),
  'POST /proxies/*/toxics': async ({ proxies, proxy, body }) => ok(await proxies.addToxic(proxy, await body())),
  'GET /proxies/*/toxics/*': ({ proxies, proxy, toxic }) => ok(proxies.toxic(proxy, toxic)),
  'POST /proxies/*/toxics/*': updateToxic,
  'PATCH /proxies/*/toxics/*': updateToxic,
  'DELETE /proxies/*/toxics/*': done(({ proxies, proxy, toxic }) => proxies.removeToxic(proxy, toxic)),
}

/** The Toxiproxy API of a lab on 127.0.0.1, which can be enabled and disabled. */
export class ToxiproxyControl {
  readonly #service: JsonService
  #server: JsonServer | undefined

  constructor(proxies: Proxies) {
    this.#service = { answer: (request) => answer(proxies, request), refuse }
  }

  /** Null if the API is disabled. */
  get port(): number | null {
    return this.#server?.port ?? null
  }

  /** Changes the port; null disables the API. If the port is taken, changes nothing and rejects with a conflict. */
  async listenOn(port: number | null): Promise<void> {
    if (port !== null && port === this.port) return
    const next = port === null ? undefined : await serveJson(this.#service, { port, host: '127.0.0.1' })
    await this.#server?.close()
    this.#server = next
  }
}

const refuse = (error: unknown): Reply => {
  const status = error instanceof ToxiproxyError ? error.status : error instanceof LabError ? 400 : 500
  return json(status, { error: error instanceof Error ? error.message : String(error), status })
}

const answer = async (proxies: Proxies, request: http.IncomingMessage): Promise<Reply> => {
  requireNoPage(request.headers)
  const parts = (request.url ?? '/')
    .replace(/[?#].*$/s, '')
    .split('/')
    .slice(1)
  const pattern = parts.map((part, index) => (index === 1 || index === 3 ? '*' : part)).join('/')
  const name = `${request.method} /${pattern}`
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined
  if (!route) throw new ToxiproxyError(404, '404 page not found')
  const [, proxy = '', , toxic = ''] = parts.map(decode)
  return route({ proxies, proxy, toxic, body: () => readObject(request), list: () => readList(request) })
}

const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/

/**
 * Rejects requests from web pages. A page can reach this port directly, or through a DNS name of its own that resolves to
 * 127.0.0.1 (DNS rebinding), for which it controls the headers.
 */
const requireNoPage = ({ host = '', origin, 'user-agent': agent = '' }: http.IncomingHttpHeaders): void => {
  if (agent.startsWith('Mozilla/')) throw new ToxiproxyError(403, 'User agent not allowed')
  if (origin !== undefined || !LOCAL_HOST.test(host)) throw new ToxiproxyError(403, 'Host not allowed')
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const readObject = async (request: http.IncomingMessage): Promise<Given> => {
  const value = await read(request)
  if (!isObject(value) || Array.isArray(value)) throw badRequest('an object is expected')
  return value
}

const readList = async (request: http.IncomingMessage): Promise<readonly Given[]> => {
  const value = await read(request)
  if (!Array.isArray(value) || !value.every(isObject)) throw badRequest('a list of proxies is expected')
  return value
}

const isObject = (value: unknown): value is Given => typeof value === 'object' && value !== null

const read = (request: http.IncomingMessage): Promise<unknown> =>
  readJson(request).catch((error: unknown) => {
    throw badRequest(`${error instanceof Error ? error.message : String(error)}`)
  })
