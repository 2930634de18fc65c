import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from '../../../base/random.js'
import { PAGE_HEADERS, readPageFiles } from '../../../server/page-files.js'
import { LabError } from '../../model/lab-error.js'
import { Access, findStranger } from './access.js'
import type { Workbench } from '../actions/workbench.js'
import { answerDoor, type Door, isOfDoor } from './door.js'
import { answerActions, isOfActions } from './page-api.js'
import { type Reply, refusal } from './reply.js'
import type { Feed } from './feed.js'

interface PageOptions {
  /** 0 chooses a free port. */
  readonly port: number
  readonly random: Random
  readonly feed: Feed
  /** Absent if the page is read-only. */
  readonly workbench?: Workbench | undefined
  readonly door: Door
}

export interface PageServer extends AsyncDisposable {
  /** Returns a single-use link. */
  newLink(): string
}

const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

const CONNECTIONS_MAX = 100

/**
 * Serves the page of a lab on 127.0.0.1 to browsers that open one of its links. Rejects with a conflict if the port is taken. The
 * caller must close the server, and owns the feed.
 */
export const servePage = async ({ port, random, feed, workbench, door }: PageOptions): Promise<PageServer> => {
  const files = readFiles()
  const server = http.createServer()
  server.maxConnections = CONNECTIONS_MAX
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new LabError('conflict', `port ${port} is taken: choose another one with --port`)
          : error,
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  const { port: own } = server.address() as AddressInfo
  const access = new Access(random, own)
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    answer({ access, feed, workbench, door, files, port: own }, request, response)
      .catch((error: unknown) => refusal(500, error instanceof Error ? error.message : String(error)))
      .then((reply) => reply && response.writeHead(reply.status, reply.headers).end(reply.body))
      .catch(() => response.destroy())
  })
  return {
    newLink: () => `http://127.0.0.1:${own}/?token=${access.newToken()}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

interface Page extends Pick<PageOptions, 'workbench' | 'door'> {
  readonly access: Access
  readonly feed: Feed
  readonly files: ReturnType<typeof readPageFiles>
  readonly port: number
}

/** Returns undefined if the handler streams the response itself. */
const answer = async (
  { access, feed, workbench, door, files, port }: Page,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<Reply | undefined> => {
  const { method, url = '/', headers } = request
  const [pathname = '/', query = ''] = url.split('?', 2)
  const stranger = findStranger(headers, port, method === 'GET' && pathname === '/')
  if (stranger !== undefined) return refusal(403, stranger)
  if (isOfActions(pathname))
    return access.hasSession(headers) ? answerActions(workbench, request, pathname) : refusal(401, NO_SESSION)
  if (isOfDoor(pathname))
    return access.hasSession(headers) ? answerDoor(door, request, query) : refusal(401, NO_SESSION)
  if (method !== 'GET') return refusal(405, 'this can only be read')
  const token = pathname === '/' ? new URLSearchParams(query).get('token') : null
  if (token !== null) return enter(access, token, headers)
  if (!access.hasSession(headers)) return refusal(401, NO_SESSION)
  if (pathname === '/_understudy/v1/events') {
    feed.add(response, Number(headers['last-event-id'] ?? 0))
    return undefined
  }
  if (pathname === '/') feed.expect()
  const file = files.get(pathname.slice(1))
  if (!file) return refusal(404, `there is no ${pathname}`)
  return { status: 200, headers: { 'Content-Type': file.contentType }, body: file.body }
}

const NO_SESSION = 'Open the link that "understudy web" printed. Each link works once, in one browser.'

/**
 * Ignores prefetches, which must not use up a link. Does not redirect to the page by HTTP: after a link on another site, this
 * would be a cross-site request, for which the browser omits the cookie.
 */
const enter = (access: Access, token: string, headers: http.IncomingHttpHeaders): Reply => {
  if (headers['sec-purpose'] !== undefined) return refusal(503, 'open the link to enter')
  const cookie = access.redeem(token)
  if (cookie === undefined && !access.hasSession(headers)) return refusal(401, NO_SESSION)
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', ...(cookie === undefined ? {} : { 'Set-Cookie': cookie }) },
    body: '<!doctype html><link rel="icon" href="/icon.svg"><meta http-equiv="refresh" content="0;url=/">',
  }
}

const readFiles = (): Page['files'] => {
  try {
    return readPageFiles()
  } catch (error) {
    throw new LabError('usage', 'the page is not there: "npm run build" makes it', { cause: error })
  }
}
