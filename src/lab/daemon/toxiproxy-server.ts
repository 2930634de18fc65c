import { messageOf } from '../../base/printable.js'
import type http from 'node:http'
import { LabError } from '../model/lab-error.js'
import { type Incoming, type JsonServer, type JsonService, readJson, type Reply, serveJson } from './json-server.js'
import type { Proxies } from './toxiproxy-proxies.js'
import { badRequest, ToxiproxyError } from './toxics.js'

/** The Toxiproxy version that this API implements. Clients check it. */
const VERSION = '2.12.0'

type Given = Readonly<Record<string, unknown>>

const json = (status: number, body: unknown): Reply => ({ status, text: `${JSON.stringify(body)}\n` })
const ok = (body: unknown): Reply => json(200, body)
const DONE: Reply = { status: 204 }

const routesOf = (proxies: Proxies): JsonService['routes'] => {
  const updateProxy = async ({ names: [proxy = ''], request }: Incoming) =>
    ok(await proxies.update(proxy, await readObject(request)))
  const updateToxic = async ({ names: [proxy = '', toxic = ''], request }: Incoming) =>
    ok(await proxies.updateToxic(proxy, toxic, await readObject(request)))
  return {
    'GET /version': () => ok({ version: VERSION }),
    'GET /metrics': () => ({ status: 200, text: proxies.metrics(), type: 'text/plain; version=0.0.4' }),
    'POST /reset': () => proxies.reset().then(() => DONE),
    'POST /populate': async ({ request }) => json(201, { proxies: await proxies.populate(await readList(request)) }),
    'GET /proxies': () => ok(Object.fromEntries(proxies.list().map((proxy) => [proxy.name, proxy]))),
    'POST /proxies': async ({ request }) => json(201, await proxies.create(await readObject(request))),
    'GET /proxies/*': ({ names: [proxy = ''] }) => ok(proxies.show(proxy)),
    'POST /proxies/*': updateProxy,
    'PATCH /proxies/*': updateProxy,
    'DELETE /proxies/*': ({ names: [proxy = ''] }) => proxies.delete(proxy).then(() => DONE),
    'GET /proxies/*/toxics': ({ names: [proxy = ''] }) => ok(proxies.show(proxy).toxics),
    'POST /proxies/*/toxics': async ({ names: [proxy = ''], request }) =>
      ok(await proxies.addToxic(proxy, await readObject(request))),
    'GET /proxies/*/toxics/*': ({ names: [proxy = '', toxic = ''] }) => ok(proxies.toxic(proxy, toxic)),
    'POST /proxies/*/toxics/*': updateToxic,
    'PATCH /proxies/*/toxics/*': updateToxic,
    'DELETE /proxies/*/toxics/*': ({ names: [proxy = '', toxic = ''] }) =>
      proxies.removeToxic(proxy, toxic).then(() => DONE),
  }
}

/** The Toxiproxy API of a lab, which can be enabled and disabled. */
export class ToxiproxyControl {
  readonly #service: JsonService
  readonly #host: string
  #server: JsonServer | undefined

  /** `host`: the address on which it listens. */
  constructor(proxies: Proxies, host = '127.0.0.1') {
    this.#host = host
    this.#service = { routes: routesOf(proxies), miss: () => NO_PAGE, refuse, guard: requireNoPage }
  }

  /** Null if the API is disabled. */
  get port(): number | null {
    return this.#server?.port ?? null
  }

  /**
   * Changes the port. Null disables the API. If the port is in use, changes nothing and rejects with LabError
   * `conflict`.
   */
  async listenOn(port: number | null): Promise<void> {
    if (port !== null && port === this.port) return
    const next = port === null ? undefined : await serveJson(this.#service, { port, host: this.#host })
    await this.#server?.close()
    this.#server = next
  }
}

const NO_PAGE = json(404, { error: '404 page not found', status: 404 })

const refuse = (error: unknown): Reply => {
  const status = error instanceof ToxiproxyError ? error.status : error instanceof LabError ? 400 : 500
  return json(status, { error: messageOf(error), status })
}

const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/

/**
 * Rejects requests from web pages. A page can reach this port directly, or through a DNS name of its own that resolves
 * to 127.0.0.1 (DNS rebinding). With DNS rebinding, a page can set most headers, but the browser sets `Host` to this
 * name.
 */
export const requireNoPage = ({ headers }: http.IncomingMessage): void => {
  const { host = '', origin, 'user-agent': agent = '' } = headers
  if (agent.startsWith('Mozilla/')) throw new ToxiproxyError(403, 'User agent not allowed')
  if (origin !== undefined || !LOCAL_HOST.test(host)) throw new ToxiproxyError(403, 'Host not allowed')
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
    throw badRequest(messageOf(error))
  })
