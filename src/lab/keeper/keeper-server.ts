import { chmodSync, rmSync } from 'node:fs'
import http from 'node:http'
import { LabError } from '../lab-error.js'
import type { FaultRequest, Keeper } from './keeper.js'

const BODY_BYTES_MAX = 64 * 1024

const STATUS = { usage: 400, conflict: 409, remote: 500, timeout: 500, interrupted: 500 } as const

/**
 * The keeper's control: HTTP with JSON bodies on a socket file that only its owner can open.
 *
 * `GET /faults` lists, `POST /faults` sets one (a FaultRequest), `DELETE /faults` heals all, `DELETE /faults/<id>` one.
 */
export const serveKeeper = async (keeper: Keeper, socket: string): Promise<{ close(): Promise<void> }> => {
  const server = http.createServer((request, response) => {
    answer(keeper, request).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => {
        const status = error instanceof LabError ? STATUS[error.code] : 500
        send(response, status, { errors: [error instanceof Error ? error.message : String(error)] })
      },
    )
  })
  // A keeper that was killed leaves its socket behind.
  rmSync(socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  chmodSync(socket, 0o600)
  return {
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const answer = async (keeper: Keeper, request: http.IncomingMessage): Promise<{ status: number; body: unknown }> => {
  const { method, url = '/' } = request
  const [, , id] = url.split('/')
  if (!/^\/faults(?:\/\d+)?$/.test(url)) return { status: 404, body: { errors: [`there is no ${url}`] } }
  if (method === 'GET' && id === undefined) return { status: 200, body: { faults: keeper.active } }
  if (method === 'POST' && id === undefined) return { status: 200, body: await keeper.set(await readJson(request)) }
  if (method === 'DELETE') {
    const healed = await keeper.heal(id === undefined ? undefined : [Number(id)])
    if (id !== undefined && healed.length === 0) return { status: 404, body: { errors: [`there is no fault ${id}`] } }
    return { status: 200, body: { healed } }
  }
  return { status: 405, body: { errors: ['unsupported operation'] } }
}

const send = (response: http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** The command line is the only caller, so its words are checked there; here only that it is the form at all. */
const readJson = async (request: http.IncomingMessage): Promise<FaultRequest> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new LabError('usage', 'the body is too large')
    chunks.push(chunk)
  }
  const value = parse(Buffer.concat(chunks).toString('utf8')) as Partial<FaultRequest> | null
  const isForm =
    Array.isArray(value?.between) &&
    value.between.length === 2 &&
    typeof value.fault === 'object' &&
    value.fault !== null
  if (!isForm) throw new LabError('usage', 'this is not a fault')
  return { ...(value as FaultRequest), isOneWay: value.isOneWay === true }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new LabError('usage', 'the body is not JSON')
  }
}
