import { type Request, type Response, Router } from 'express'
import { readJson } from '../../daemon/json-server.js'
import { KINDS } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { ACTIONS } from '../actions/actions.js'
import type { JobRunner } from '../actions/job-runner.js'
import type { PageAction, PageKind, PageVerb } from '../page-facts.js'
import { ONLY_TO_LOOK_AT, Refusal } from './refusal.js'

/**
 * Routes of the actions of the page. `GET` lists the choices, `POST` starts an action, `POST plan` returns what it would do,
 * `DELETE <id>` stops it. Error responses have their reasons in `errors`. `jobs`: absent if the page is read-only.
 */
export const actionRoutes = (jobs: JobRunner | undefined): Router => {
  const router = Router()
  const route =
    (work: (jobs: JobRunner, request: Request) => unknown) =>
    async (request: Request, response: Response): Promise<void> => {
      if (!jobs) throw new Refusal(403, ONLY_TO_LOOK_AT)
      // A form of another site cannot send this content type.
      if (request.method === 'POST' && !request.is('application/json'))
        throw new Refusal(415, 'an action is sent as application/json')
      const answer = await work(jobs, request)
      if (answer === undefined) response.status(204).end()
      else response.json(answer)
    }
  router.get(
    '/',
    route((runner) => runner.choices()),
  )
  router.post(
    '/',
    route(async (runner, request) => runner.begin(parseAction(await readJson(request)))),
  )
  router.post(
    '/plan',
    route(async (runner, request) => runner.plan(parseAction(await readJson(request)))),
  )
  router.delete(
    /^\/(\d+)$/,
    route((runner, { params }) => runner.stop(Number(params[0]))),
  )
  router.use(({ method, path, originalUrl }) => {
    throw new Refusal(path === '/' ? 405 : 404, `there is no ${method} ${originalUrl.split('?', 1)[0]}`)
  })
  return router
}

/** One hour. For longer delays, use a partition. */
const LATENCY_MS_MAX = 3_600_000

/** Names of bundled drills and stored snapshots. The page cannot access files. */
const NAME = /^[A-Za-z0-9][\w.-]{0,99}$/

/** Parses an action. Throws a usage error with the reason if it is invalid. */
const parseAction = (value: unknown): PageAction => {
  const { verb, clusters = [], kind, ms, isForced, name, ...others } = asObject(value)
  const [stranger] = Object.keys(others)
  if (stranger !== undefined) throw new LabError('usage', `"${stranger}" is no part of an action`)
  if (typeof verb !== 'string' || !Object.hasOwn(ACTIONS, verb))
    throw new LabError('usage', `"verb" is one of ${Object.keys(ACTIONS).join(', ')}`)
  const known = verb as PageVerb
  const { clusters: count, hasKind, asks } = ACTIONS[known]
  return {
    verb: known,
    clusters: parseClusters(clusters, count),
    ...(hasKind && { kind: parseKind(kind) }),
    ...(asks && (asks === 'ms' ? { ms: parseMs(ms) } : { name: parseName(name) })),
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
