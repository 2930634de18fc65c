import type http from 'node:http'
import { ApiError, ApiUnreachable } from '../../../client/api-client.js'
import { readJson } from '../../daemon/json-server.js'
import { LabError } from '../../model/lab-error.js'
import type { Workbench } from '../actions/workbench.js'
import { json, type Reply } from './reply.js'
import { KINDS } from '../../model/kinds.js'
import type { PageAction, PageKind, PageVerb } from '../page-facts.js'
import { VERBS } from '../actions/verbs.js'

const ROOT = '/_understudy/v1/actions'

const STATUS = { usage: 400, conflict: 409, remote: 502, timeout: 504, interrupted: 500 } as const

export const isOfActions = (pathname: string): boolean => pathname === ROOT || pathname.startsWith(`${ROOT}/`)

/**
 * Handles actions of the page. `GET` lists the choices, `POST` starts an action, `POST plan` returns what it would do, `DELETE
 * <id>` stops it. Error responses have their reasons in `errors`.
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
  // A form of another site cannot send this content type.
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

/** Maps errors of clusters, including missing responses, to statuses other than 500. */
const statusOf = (error: unknown): number => {
  if (error instanceof LabError) return STATUS[error.code]
  return error instanceof ApiError || error instanceof ApiUnreachable ? 502 : 500
}

const refuse = (status: number, text: string): Reply => json(status, { errors: [text] })

/** One hour. For longer delays, use a partition. */
const LATENCY_MS_MAX = 3_600_000

/** Names of bundled drills and stored snapshots. The page cannot access files. */
const NAME = /^[A-Za-z0-9][\w.-]{0,99}$/

/** Parses an action. Throws a usage error with the reason if it is invalid. */
const parseAction = (value: unknown): PageAction => {
  const { verb, clusters = [], kind, ms, isForced, name, ...others } = asObject(value)
  const [stranger] = Object.keys(others)
  if (stranger !== undefined) throw new LabError('usage', `"${stranger}" is no part of an action`)
  if (typeof verb !== 'string' || !Object.hasOwn(VERBS, verb))
    throw new LabError('usage', `"verb" is one of ${Object.keys(VERBS).join(', ')}`)
  const known = verb as PageVerb
  const { needs = [] } = VERBS[known]
  return {
    verb: known,
    clusters: parseClusters(clusters, VERBS[known].clusters),
    ...(needs.includes('kind') ? { kind: parseKind(kind) } : {}),
    ...(needs.includes('ms') ? { ms: parseMs(ms) } : {}),
    ...(needs.includes('name') ? { name: parseName(name) } : {}),
    ...(isForced === true ? { isForced } : {}),
  }
}

const asObject = (value: unknown): Record<string, unknown> => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new LabError('usage', 'an action is an object')
}

const parseClusters = (value: unknown, count: number): readonly string[] => {
  const isList = Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (!isList || value.length !== count)
    throw new LabError('usage', `"clusters" has the names of ${count} clusters for this`)
  if (new Set(value).size < count) throw new LabError('usage', 'name two clusters')
  return value as string[]
}

const parseKind = (value: unknown): PageKind => {
  const found = KINDS.find((kind) => kind === value)
  if (found) return found
  throw new LabError('usage', `"kind" is one of ${KINDS.join(', ')}`)
}

const parseMs = (value: unknown): number => {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LATENCY_MS_MAX) return Number(value)
  throw new LabError('usage', `"ms" is a whole number of milliseconds from 1 to ${LATENCY_MS_MAX}`)
}

const parseName = (value: unknown): string => {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw new LabError('usage', '"name" has letters, digits, "_", "." and "-", and a letter or digit first')
}
