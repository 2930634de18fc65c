import http from 'node:http'
import { LabError } from '../../model/lab-error.js'
import { readJson } from '../read-json.js'
import type { Proxies } from './proxies.js'
import { ToxiproxyError } from './toxiproxy-error.js'

/** The Toxiproxy version that this API implements. Clients check it. */
const VERSION = '2.12.0'

interface Reply {
  readonly status: number
  readonly body?: unknown
}

type Given = Readonly<Record<string, unknown>>

interface Asked {
  readonly proxies: Proxies
  readonly proxy: string
  readonly toxic: string
  readonly body: () => Promise<Given>
  readonly list: () => Promise<readonly Given[]>
}

type Answer = (asked: Asked) => Promise<Reply> | Reply

const ok = (body: unknown): Reply => ({ status: 200, body })
const created = (body: unknown): Reply => ({ status: 201, body })
const DONE: Reply = { status: 204 }

const updateProxy: Answer = async ({ proxies, proxy, body }) => ok(await proxies.update(proxy, await body()))
const updateToxic: Answer = async ({ proxies, proxy, toxic, body }) =>
  ok(await proxies.updateToxic(proxy, toxic, await body()))

/** Returns the content type. Text bodies are Prometheus metrics. */
const typeOf = (body: unknown): string => (typeof body === 'string' ? 'text/plain; version=0.0.4' : 'application/json')

/** Handlers by method and path. `*` stands for a name. */
const ROUTES: Readonly<Record<string, Answer>> = {
  'GET /version': () => ok({ version: VERSION }),
  'GET /metrics': ({ proxies }) => ok(proxies.metrics()),
  'POST /reset': async ({ proxies }) => {
    await proxies.reset()
    return DONE
  },
  'POST /populate': async ({ proxies, list }) => created({ proxies: await proxies.populate(await list()) }),
  'GET /proxies': ({ proxies }) => ok(Object.fromEntries(proxies.list().map((proxy) => [proxy.name, proxy]))),
  'POST /proxies': async ({ proxies, body }) => created(await proxies.create(await body())),
  'GET /proxies/*': ({ proxies, proxy }) => ok(proxies.show(proxy)),
  'POST /proxies/*': updateProxy,
  'PATCH /proxies/*': updateProxy,
  'DELETE /proxies/*': async ({ proxies, proxy }) => {
    await proxies.delete(proxy)
    return DONE
  },
  'GET /proxies/*/toxics': ({ proxies, proxy }) => ok(proxies.toxics(proxy)),
  'POST /proxies/*/toxics': async ({ proxies, proxy, body }) => ok(await proxies.addToxic(proxy, await body())),
  'GET /proxies/*/toxics/*': ({ proxies, proxy, toxic }) => ok(proxies.toxic(proxy, toxic)),
  'POST /proxies/*/toxics/*': updateToxic,
  'PATCH /proxies/*/toxics/*': updateToxic,
  'DELETE /proxies/*/toxics/*': async ({ proxies, proxy, toxic }) => {
    await proxies.removeToxic(proxy, toxic)
    return DONE
  },
}

export interface ToxiproxyServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves the Toxiproxy API on 127.0.0.1. Rejects with a conflict if the port is taken. */
export const serveToxiproxy = async (proxies: Proxies, port: number): Promise<ToxiproxyServer> => {
  const server = http.createServer((request, response) => {
    answer(proxies, request)
      .catch((error: unknown) => {
        const status = error instanceof ToxiproxyError ? error.status : error instanceof LabError ? 400 : 500
        return { status, body: { error: error instanceof Error ? error.message : String(error), status } }
      })
      .then(({ status, body }: Reply) => send(response, status, body))
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new LabError('conflict', `the port ${port} is taken`) : error),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
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
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ToxiproxyError(400, 'bad request body: an object is expected')
  return value as Given
}

const readList = async (request: http.IncomingMessage): Promise<readonly Given[]> => {
  const value = await read(request)
  if (!Array.isArray(value) || value.some((one) => typeof one !== 'object' || one === null))
    throw new ToxiproxyError(400, 'bad request body: a list of proxies is expected')
  return value as readonly Given[]
}

const read = (request: http.IncomingMessage): Promise<unknown> =>
  readJson(request).catch((error: unknown) => {
    throw new ToxiproxyError(400, `bad request body: ${error instanceof Error ? error.message : String(error)}`)
  })

const send = (response: http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'Content-Type': typeOf(body) })
  response.end(body === undefined ? undefined : typeof body === 'string' ? body : `${JSON.stringify(body)}\n`)
}
