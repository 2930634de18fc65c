import { alternatives } from '../../../base/counted.js'
import { type Request, Router } from 'express'
import { readJson } from '../../daemon/json-server.js'
import { KINDS } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { ACTIONS } from '../actions/actions.js'
import type { JobRunner } from '../actions/job-runner.js'
import type { PageAction, PageKind, PageVerb } from '../page-facts.js'
import { READ_ONLY, Refusal } from './refusal.js'

type Work = (jobs: JobRunner, request: Request) => unknown

const ROUTES: readonly (readonly [method: 'get' | 'post' | 'delete', path: string | RegExp, work: Work])[] = [
  ['get', '/', (jobs) => jobs.choices()],
  ['post', '/', async (jobs, request) => jobs.begin(parseAction(await readJson(request)))],
  ['post', '/plan', async (jobs, request) => jobs.plan(parseAction(await readJson(request)))],
  ['post', '/root-token', async (jobs, request) => jobs.rootToken(parseCluster(await readJson(request)))],
  ['delete', /^\/(\d+)$/, (jobs, { params }) => jobs.stop(Number(params[0]))],
]

/**
 * Routes of the actions of the page. `GET` lists the choices, `POST` starts an action, `POST plan` returns what it
 * would do, `POST root-token` returns a root token of the lab, `DELETE <id>` stops an action. Error responses have
 * their reasons in `errors`. `jobs`: absent if the page is read-only, which then permits none of them.
 */
export const actionRoutes = (jobs: JobRunner | undefined): Router => {
  const router = Router({ caseSensitive: true, strict: true })
  for (const [method, path, work] of ROUTES)
    router[method](path, async (request, response) => {
      if (!jobs) throw new Refusal(403, READ_ONLY)
      // A form of another site cannot send this content type.
      if (request.method === 'POST' && !request.is('application/json'))
        throw new Refusal(415, 'an action must be sent as application/json')
      const answer = await work(jobs, request)
      if (answer === undefined) response.status(204).end()
      else response.json(answer)
    })
  router.use(({ method, path, originalUrl }) => {
    throw new Refusal(path === '/' ? 405 : 404, `there is no ${method} ${originalUrl.split('?', 1)[0]}`)
  })
  return router
}

/** Maximum latency that a user can set: one hour. */
const LATENCY_MS_MAX = 3_600_000

/** A name of an included drill or a stored snapshot. Has no slash, so that the page cannot access other files. */
const NAME = /^[A-Za-z0-9][\w.-]{0,99}$/

/** Throws LabError `usage` with the reason unless a part of a request is valid. */
const requireThat = (isValid: boolean, reason: string): void => {
  if (!isValid) throw new LabError('usage', reason)
}

const parseCluster = (value: unknown): string => {
  const { cluster } = (value ?? {}) as { readonly cluster?: unknown }
  requireThat(typeof cluster === 'string', '"cluster" must be the name of a cluster')
  return String(cluster)
}

/** Parses an action. Throws LabError `usage` with the reason if it is invalid. */
const parseAction = (value: unknown): PageAction => {
  requireThat(typeof value === 'object' && value !== null && !Array.isArray(value), 'an action must be a JSON object')
  const { verb, clusters = [], kind, ms, isForced, acceptsLoss, name, ...others } = value as Record<string, unknown>
  const [unknown] = Object.keys(others)
  requireThat(unknown === undefined, `an action has no field "${unknown}"`)
  const isKnown = typeof verb === 'string' && Object.hasOwn(ACTIONS, verb)
  requireThat(isKnown, `"verb" must be ${alternatives(Object.keys(ACTIONS))}`)
  const known = verb as PageVerb
  const { clusters: count, hasKind, asks } = ACTIONS[known]
  const isList =
    Array.isArray(clusters) && clusters.length === count && clusters.every((one) => typeof one === 'string')
  requireThat(isList, `"clusters" must contain ${count} names`)
  requireThat(new Set(clusters as string[]).size === count, 'specify two different clusters')
  const options = { ...(isForced === true && { isForced }), ...(acceptsLoss === true && { acceptsLoss }) }
  const action = { verb: known, clusters: clusters as string[], ...options }
  if (hasKind) {
    requireThat(KINDS.includes(kind as PageKind), `"kind" must be ${alternatives(KINDS)}`)
    return { ...action, kind: kind as PageKind }
  }
  if (asks === 'ms') {
    const isDuration = Number.isInteger(ms) && Number(ms) >= 1 && Number(ms) <= LATENCY_MS_MAX
    requireThat(isDuration, `"ms" must be a whole number of milliseconds from 1 to ${LATENCY_MS_MAX}`)
    return { ...action, ms: Number(ms) }
  }
  if (!asks) return action
  const isName = typeof name === 'string' && NAME.test(name)
  requireThat(isName, '"name" must have letters, digits, "_", "." and "-" only, and begin with a letter or digit')
  return { ...action, name: String(name) }
}
