import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { Request, Response } from '../../logical/request.js'
import type { Route } from '../mounts/router.js'
import type { RateQuota } from './quota-record.js'
import type { QuotaQuery } from './quota-index.js'
import type { Quotas } from './quotas.js'
import { RateLimiter } from './rate-limiter.js'

type Headers = Readonly<Record<string, string>>

/** Audits a request that is rejected before its token is checked. */
type AuditRejection = (
  request: Request,
  route: Route | undefined,
  caller: { token: undefined; verdict: undefined; isLastUse: false; failure: LogicalError },
) => Promise<void>

/** Applies the rate limit quotas to the requests of this node. */
export class RequestQuotas {
  readonly #quotas: Quotas
  readonly #clock: Pick<Clock, 'monotonic'>
  /** A changed quota is a new object, so its clients start again. */
  readonly #limiters = new WeakMap<RateQuota, RateLimiter>()

  constructor({ quotas, clock }: { readonly quotas: Quotas; readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#quotas = quotas
    this.#clock = clock
  }

  /**
   * Counts a request. Returns undefined at once if no quota applies to it. Resolves to the headers that describe its
   * quota, if responses have them. Rejects with LogicalError 429 if the client has exceeded the quota.
   */
  limit(request: Request, route: Route | undefined, audit: AuditRejection): Promise<Headers | undefined> | undefined {
    const index = this.#quotas.indexOf('rate-limit')
    const quota = index.isEmpty || this.#isExempt(request) ? undefined : index.find(queryOf(request, route))
    return quota && this.#take(quota, { request, route, audit })
  }

  async #take(
    quota: RateQuota,
    { request, route, audit }: { request: Request; route: Route | undefined; audit: AuditRejection },
  ): Promise<Headers | undefined> {
    const { isAuditing, sendsHeaders } = this.#quotas.config
    const decision = this.#limiterOf(quota).take(request.remoteAddress)
    const headers = sendsHeaders ? decision.headers : undefined
    if (decision.isAllowed) return headers
    const failure = exceeded(request, headers)
    if (isAuditing) await audit(request, route, { token: undefined, verdict: undefined, isLastUse: false, failure })
    throw failure
  }

  #limiterOf(quota: RateQuota): RateLimiter {
    const known = this.#limiters.get(quota)
    if (known) return known
    const limiter = new RateLimiter(quota, this.#clock)
    this.#limiters.set(quota, limiter)
    return limiter
  }

  #isExempt({ path, namespace }: Request): boolean {
    const { exemptPaths, absoluteExemptPaths } = this.#quotas.config
    const absolute = namespace.path + path
    return exemptPaths.some((at) => covers(at, path)) || absoluteExemptPaths.some((at) => covers(at, absolute))
  }
}

/** Adds headers to a response or to its error. */
export const withHeaders = async (
  headers: Headers,
  answer: Promise<Response | undefined>,
): Promise<Response | undefined> => {
  try {
    const response = (await answer) ?? {}
    response.headers = { ...headers, ...response.headers }
    return response
  } catch (error) {
    if (!(error instanceof LogicalError)) throw error
    throw error.with({ headers: { ...headers, ...error.headers } })
  }
}

const exceeded = ({ operation, path }: Request, headers: Headers | undefined): LogicalError => {
  const shown = operation === 'list' && !path.endsWith('/') ? `${path}/` : path
  return new LogicalError('too-many-requests', `request path ${JSON.stringify(shown)}: rate limit quota exceeded`, {
    ...(headers && { headers: { ...headers } }),
  })
}

const queryOf = (request: Request, route: Route | undefined): QuotaQuery => ({
  namespace: request.namespace,
  mountUuid: route?.mount.entry.uuid ?? '',
  path: route?.path ?? '',
  role: () => route?.mount.backend.roles?.find(request, route.path),
})

const covers = (exempt: string, path: string): boolean => {
  if (exempt.endsWith('*')) return path.startsWith(exempt.slice(0, -1))
  return exempt.endsWith('/') ? path.startsWith(exempt) : path === exempt
}
