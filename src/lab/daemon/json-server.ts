import http from 'node:http'
import type net from 'node:net'
import { attempt } from '../../base/attempt.js'
import { LabError } from '../model/lab-error.js'

export interface Reply {
  readonly status: number
  readonly text?: string
  /** Content type. Default: JSON. */
  readonly type?: string
}

/** A request for a route. */
export interface Incoming {
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
  /** The decoded path segments that match `*`, in order. */
  readonly names: readonly string[]
  readonly query: URLSearchParams
}

/** Returns the response to a request. Undefined if the handler writes the response itself, for example as a stream. */
type Handler = (incoming: Incoming) => Promise<Reply | undefined> | Reply | undefined

export interface JsonService {
  /** Handlers by method and path, such as `GET /faults/*`. Every second segment of a path is a name (`*`). */
  readonly routes: Readonly<Record<string, Handler>>
  /** Returns the response if no route fits. `isKnown`: the path has a route for another method. */
  readonly miss: (pathname: string, isKnown: boolean) => Reply
  /** Returns the response for an error of a handler. */
  readonly refuse: (error: unknown) => Reply
  /** Throws for requests that no handler may see. */
  readonly guard?: (request: http.IncomingMessage) => void
}

export interface JsonServer {
  /** The port on which the server listens. 0 for a server on a socket file. */
  readonly port: number
  close(): Promise<void>
}

const answer = async (
  { routes, miss, guard }: JsonService,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<Reply | undefined> => {
  guard?.(request)
  const [pathname = '/', query = ''] = (request.url ?? '/').split(/[?#]/, 2)
  const parts = pathname.split('/')
  const pattern = parts.map((part, index) => (index > 0 && index % 2 === 0 ? '*' : part)).join('/')
  const name = `${request.method} ${pattern}`
  const handle = Object.hasOwn(routes, name) ? routes[name] : undefined
  if (!handle)
    return miss(
      pathname,
      Object.keys(routes).some((route) => route.endsWith(` ${pattern}`)),
    )
  const names = parts.filter((_, index) => index > 0 && index % 2 === 0).map(decode)
  return handle({ request, response, names, query: new URLSearchParams(query) })
}

const decode = (part: string): string => attempt(() => decodeURIComponent(part)) ?? part

/** Serves a local API. Rejects with LabError `conflict` if the port is in use. The caller must close the server. */
export const serveJson = async (service: JsonService, at: net.ListenOptions): Promise<JsonServer> => {
  const server = http.createServer((request, response) => {
    answer(service, request, response)
      .catch(service.refuse)
      .then((reply) => {
        if (!reply) return
        response.writeHead(reply.status, { 'Content-Type': reply.type ?? 'application/json' })
        response.end(reply.text)
      })
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isInUse = error.code === 'EADDRINUSE' && at.port !== undefined
      reject(isInUse ? new LabError('conflict', `port ${at.port} is in use: choose another port`) : error)
    })
    server.listen(at, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const BODY_BYTES_MAX = 64 * 1024

/** Reads the body of a request. Rejects with LabError `usage` if the body is too large or incomplete. */
export const readBytes = async (request: http.IncomingMessage, bytesMax: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new LabError('usage', `the body is larger than ${bytesMax} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    // The client has disconnected, so only this request fails.
    throw request.complete || error instanceof LabError
      ? error
      : new LabError('usage', 'the body is incomplete', { cause: error })
  }
  return Buffer.concat(chunks)
}

/** Reads a JSON body. Rejects with LabError `usage` if the body is too large or not JSON. */
export const readJson = async (request: http.IncomingMessage): Promise<unknown> => {
  const bytes = await readBytes(request, BODY_BYTES_MAX)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new LabError('usage', 'the body is not JSON')
  }
}
