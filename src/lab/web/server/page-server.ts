import http from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express, type Request, type RequestHandler } from 'express'
import type { Random } from '../../../base/random.js'
import { PAGE_HEADERS, readPageFiles } from '../../../server/page-files.js'
import { LabError } from '../../model/lab-error.js'
import type { JobRunner } from '../actions/job-runner.js'
import { Access, findForeignRequest } from './access.js'
import { actionRoutes } from './action-routes.js'
import { type ProxiedLab, proxyClusters } from './cluster-proxy.js'
import type { Feed } from './feed.js'
import { Refusal, refuseAsJson, sendRefusal } from './refusal.js'

interface PageOptions {
  /** 0 chooses a free port. */
  readonly port: number
  readonly random: Random
  readonly feed: Feed
  /** Absent if the page is read-only. */
  readonly jobs?: JobRunner | undefined
  readonly proxied: ProxiedLab
}

export interface PageServer extends AsyncDisposable {
  /** Returns a single-use link. */
  newLink(): string
}

const HEADERS = { ...PAGE_HEADERS, 'Cache-Control': 'no-store' }

const CONNECTIONS_MAX = 100

/**
 * Serves the page of a lab on 127.0.0.1 to browsers that open one of its links. Rejects with LabError `conflict` if the
 * port is in use. The caller must close the server, and owns the feed.
 */
export const servePage = async (options: PageOptions): Promise<PageServer> => {
  const { port, random } = options
  const files = readFiles()
  const server = http.createServer()
  server.maxConnections = CONNECTIONS_MAX
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new LabError('conflict', `port ${port} is in use: choose another port with --port`)
          : error,
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  const { port: own } = server.address() as AddressInfo
  const access = new Access(random, own)
  server.on('request', routesOf(options, access, files))
  return {
    newLink: () => `http://127.0.0.1:${own}/?token=${access.newToken()}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const NO_SESSION = 'Open the link that "understudy web" printed. Each link works once, in one browser.'

const routesOf = (
  { feed, jobs, proxied }: PageOptions,
  access: Access,
  files: ReturnType<typeof readFiles>,
): Express => {
  const app = express()
  for (const setting of ['x-powered-by', 'etag']) app.disable(setting)
  for (const setting of ['case sensitive routing', 'strict routing']) app.enable(setting)
  const requireSession: RequestHandler = ({ headers }, _, next) => {
    if (!access.hasSession(headers)) throw new Refusal(401, NO_SESSION)
    next()
  }
  app.use((request, response, next) => {
    response.set(HEADERS)
    const reason = findForeignRequest(request.headers, access.port, request.method === 'GET' && request.path === '/')
    if (reason !== undefined) throw new Refusal(403, reason)
    next()
  })
  app.use(['/_understudy/v1/actions', '/_understudy/v1/clusters'], requireSession, refuseAsJson)
  app.use('/_understudy/v1/actions', actionRoutes(jobs))
  app.use('/_understudy/v1/clusters', proxyClusters(proxied))
  app.use(({ method }, _, next) => {
    if (method !== 'GET') throw new Refusal(405, 'only GET is allowed here')
    next()
  })
  app.get('/', enter(access))
  app.use(requireSession)
  app.get('/_understudy/v1/events', ({ headers }, response) =>
    feed.add(response, Number(headers['last-event-id'] ?? 0)),
  )
  app.use(({ path }, response) => {
    if (path === '/') feed.expect()
    const file = files.get(path.slice(1))
    if (!file) throw new Refusal(404, `there is no ${path}`)
    response.type(file.contentType).send(file.body)
  })
  app.use(sendRefusal)
  return app
}

/**
 * Exchanges the token of a link for a session cookie, and loads the page. Rejects prefetches: they would use up the
 * link. Uses no HTTP redirect: after a link on another site, the browser would omit the cookie.
 */
const enter =
  (access: Access): RequestHandler =>
  ({ headers, query: { token } }: Request, response, next) => {
    if (typeof token !== 'string') return next()
    if (headers['sec-purpose'] !== undefined)
      throw new Refusal(503, 'a prefetch cannot open the link: open it in a browser')
    const cookie = access.redeem(token)
    if (cookie === undefined && !access.hasSession(headers)) throw new Refusal(401, NO_SESSION)
    if (cookie !== undefined) response.set('Set-Cookie', cookie)
    response
      .type('html')
      .send('<!doctype html><link rel="icon" href="/icon.svg"><meta http-equiv="refresh" content="0;url=/">')
  }

const readFiles = (): ReturnType<typeof readPageFiles> => {
  try {
    return readPageFiles()
  } catch (error) {
    throw new LabError('usage', 'the page is missing: "npm run build" creates it', { cause: error })
  }
}
