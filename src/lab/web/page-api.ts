import type http from 'node:http'
import { ApiError, ApiUnreachable } from '../../client/api-client.js'
import { readJson } from '../keeper/read-json.js'
import { LabError } from '../lab-error.js'
import { parseAction } from './actions/parse-action.js'
import type { Workbench } from './actions/workbench.js'
import { json, type Reply } from './reply.js'

const ROOT = '/_understudy/v1/actions'

const STATUS = { usage: 400, conflict: 409, remote: 502, timeout: 504, interrupted: 500 } as const

export const isOfActions = (pathname: string): boolean => pathname === ROOT || pathname.startsWith(`${ROOT}/`)

/**
 * What somebody with the page asks to be done. `GET` lists what there is to choose from, `POST` begins an action, `POST plan`
 * says what it would do, `DELETE <id>` stops it. Refusals have their reasons in `errors`.
 */
export const answerActions = async (
  workbench: Workbench | undefined,
  request: http.IncomingMessage,
  pathname: string,
): Promise<Reply> => {
  const name = `${request.method} ${pathname.slice(ROOT.length + 1).replace(/^\d+$/, '{id}')}`
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined
  if (!route) return refuse(pathname === ROOT ? 405 : 404, `there is no ${request.method} ${pathname}`)
  if (!workbench) return refuse(403, 'this page is only to look at')
  // A form of another site can send anything but this.
  if (request.method === 'POST' && !/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    return refuse(415, 'an action is sent as application/json')
  try {
    return await route(workbench, request, pathname)
  } catch (error) {
    return refuse(statusOf(error), error instanceof Error ? error.message : String(error))
  }
}

type Route = (workbench: Workbench, request: http.IncomingMessage, pathname: string) => Promise<Reply>

const ROUTES: Readonly<Record<string, Route>> = {
  'GET ': async (workbench) => json(200, await workbench.choices()),
  'POST ': async (workbench, request) => json(200, workbench.begin(parseAction(await readJson(request)))),
  'POST plan': async (workbench, request) => json(200, await workbench.plan(parseAction(await readJson(request)))),
  'DELETE {id}': async (workbench, _, pathname) => {
    workbench.stop(Number(pathname.slice(ROOT.length + 1)))
    return { status: 204, headers: {} }
  },
}

/** What a cluster refuses, or does not answer, is none of our mistakes. */
const statusOf = (error: unknown): number => {
  if (error instanceof LabError) return STATUS[error.code]
  return error instanceof ApiError || error instanceof ApiUnreachable ? 502 : 500
}

const refuse = (status: number, text: string): Reply => json(status, { errors: [text] })
