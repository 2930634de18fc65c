import type { Clock } from '../../base/clock.js'
import { dispatch, findPath } from '../../logical/dispatch.js'
import { canBeWrapped } from '../../logical/envelope.js'
import { invalid, isReadOnly, LogicalError, unwrapped } from '../../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest } from '../../logical/incoming.js'
import { NO_RULES } from '../../logical/path-rules.js'
import { isWrite, type NamespaceRef, type Request, type Response, ROOT_NAMESPACE } from '../../logical/request.js'
import type { AuditBroker } from '../audit/audit.js'
import { auditedRun } from './audited-run.js'
import { Authoriser, type AuthoriserOptions } from './authoriser.js'
import { checkGate, FULL_ALLOWANCE, GATES, isServedWhile, openAllowance, type OpenState } from './gate.js'
import { type AnsweredAlone, ForActiveNode, lookEarly } from './for-active-node.js'
import type { LogState } from '../../logical/log-state.js'
import type { Consistency } from './consistency.js'
import { LOGINS, type Meter } from '../status/metrics.js'
import { hasLogin, LoginIssuer } from '../tokens/login-issuer.js'
import { rawSize, readWithinBudget } from './large-answers.js'
import type { NamespaceStore } from '../namespaces/namespaces.js'
import type { LeaseQuotas } from '../quotas/lease-quotas.js'
import type { LeaseIssuer } from '../tokens/lease-issuer.js'
import { type RequestQuotas, withHeaders } from '../quotas/request-quotas.js'
import type { PrimaryEntities } from '../identity/primary-entities.js'
import type { Route, Router } from '../mounts/router.js'
import { namespaceIdOf } from '../tokens/token-format.js'

/** Sends an authorized request to the performance primary. `state` is the log position of the primary afterwards. */
export interface RequestForwarder {
  forward(request: Request): Promise<{ readonly response: Response | undefined; readonly state: LogState }>
}

interface RequestHandlerOptions extends AuthoriserOptions {
  /** Returns true on a fenced primary, which rejects writes because a newer primary exists and they would be lost. */
  readonly refusesWrites: () => boolean
  readonly namespaces: NamespaceStore
  /** Returns true for a namespace that a paths filter hides from this cluster. */
  readonly hidesNamespace: (path: string) => boolean
  readonly router: Router
  readonly audit: AuditBroker
  readonly forwarder: RequestForwarder
  readonly primaryEntities: PrimaryEntities
  /** Returns true for requests that a performance secondary forwards to its primary. */
  readonly mayForward: (asked: Route & { readonly request: Request }) => boolean
  readonly consistency: Consistency
  readonly requestQuotas: RequestQuotas
  readonly leaseQuotas: LeaseQuotas
  readonly leaseIssuer: LeaseIssuer
  /** Set on a performance standby: returns whether it answers a request. If not, `handle` throws `ForActiveNode`. */
  readonly answersAlone?: AnsweredAlone | undefined
  /** Returns the last index of this cluster's log. */
  readonly lastIndex: () => number
  readonly clock: Clock
  readonly recorder: Pick<Meter, 'record'>
}

/**
 * The request pipeline: gate, namespace, token, policies, uses, audit, dispatch, login, wrapping, audit. Every
 * rejection is a LogicalError, which the caller maps to an HTTP status code.
 */
export class RequestHandler {
  readonly #options: RequestHandlerOptions
  readonly #authoriser: Authoriser
  readonly #logins: LoginIssuer
  readonly #audited: ReturnType<typeof auditedRun>

  constructor(options: RequestHandlerOptions) {
    this.#options = options
    this.#authoriser = new Authoriser(options)
    this.#logins = new LoginIssuer(options)
    const isStandby = this.#isStandby
    this.#audited = auditedRun({ ...options, isStandby, execute: (...asked) => this.#execute(...asked) })
  }

  async handle(state: OpenState, request: IncomingRequest): Promise<Response | undefined> {
    const { router, consistency, requestQuotas } = this.#options
    if (this.#isStandby) await this.#requireAlone(state, request)
    let route = this.#admit(state, request)
    const limited = requestQuotas.limit(request, route, this.#audited.unexecuted)
    const headers = limited && (await limited)
    if (request.headers['x-vault-index'] !== undefined && !this.#isStandby) {
      await consistency.require(request)
      route = router.find(request.namespace, request.path)
    }
    const isBodied = request.operation === 'update' || request.operation === 'patch'
    if (isBodied && request.path.endsWith('/')) throw invalid("cannot write to a path ending in '/'")
    const answer =
      route && isOpen(state, route) ? this.#handleOpen(request, route) : this.#handleProtected(request, route)
    return headers ? withHeaders(headers, answer) : answer
  }

  /** Authorizes a request that another node executes, and consumes a use of its token. Rejects with LogicalError. */
  async requireRights(state: OpenState, request: IncomingRequest): Promise<void> {
    const route = this.#admit(state, request)
    const authorised = await this.#authoriser.authorise(request, route)
    try {
      await this.#audited.unexecuted(request, route, authorised)
      if (authorised.failure) throw authorised.failure
    } finally {
      if (authorised.isLastUse && authorised.token) await this.#options.tokens.revokeTree(authorised.token)
    }
  }

  /** Returns the limits of a request body, before it is read. */
  allowBody(state: OpenState, sender: BodySender): BodyAllowance {
    const { namespaces } = this.#options
    const resolve = () => namespaces.resolve(sender.namespaceHeader, sender.path)
    const found = GATES[state].hasNoCopy ? undefined : lookEarly(resolve)
    if (!found) return openAllowance()
    const route = this.#options.router.find(found.namespace, found.path)
    if (route && isOpen(state, route)) return openAllowance(findPath(route.mount.backend, route.path)?.spec)
    return this.#authoriser.isKnown(sender, found.namespace) ? FULL_ALLOWANCE : openAllowance()
  }

  get #isStandby(): boolean {
    return this.#options.answersAlone !== undefined
  }

  /**
   * On a performance standby, waits until this node has the data that the token and the headers refer to. Rejects with
   * `ForActiveNode` if the active node must answer. Decides again after the wait if the route was unknown.
   */
  async #requireAlone(state: OpenState, request: IncomingRequest): Promise<void> {
    const { consistency, tokens } = this.#options
    const early = this.#isAnsweredAlone(state, request)
    if (!(early ?? !isWrite(request.operation))) throw new ForActiveNode()
    if (request.clientToken !== undefined) await consistency.requireToken(request.clientToken, tokens)
    await consistency.require(request)
    if (early === undefined && this.#isAnsweredAlone(state, request) === false) throw new ForActiveNode()
  }

  /** Returns whether this standby answers the request itself. Returns undefined if the route is unknown. */
  #isAnsweredAlone(state: OpenState, asked: IncomingRequest): boolean | undefined {
    const request = { ...asked }
    const route = lookEarly(() => this.#admit(state, request))
    return route && this.#options.answersAlone?.({ ...route, request })
  }

  /** Returns the route of a request. Throws errors that apply to every caller. */
  #admit(state: OpenState, request: IncomingRequest): Route | undefined {
    const hasCopy = !GATES[state].hasNoCopy
    const route = hasCopy ? this.#locate(request) : this.#options.router.find(ROOT_NAMESPACE, request.path)
    const { rules = NO_RULES } = route ?? {}
    if (rules.isRootOnly && request.namespace.id !== ROOT_NAMESPACE.id) {
      throw invalid('operation unavailable in namespaces')
    }
    checkGate(state, rules, request)
    return route
  }

  /**
   * Sets the namespace of a request and returns the route. If header and path name no namespace and the request is
   * about the caller's own token, the namespace is that of the token.
   */
  #locate(request: IncomingRequest): Route | undefined {
    const { namespaces, router } = this.#options
    const { path, namespace } = namespaces.resolve(request.namespaceHeader, request.path)
    request.path = path
    const route = router.find(namespace, path)
    const isNamed = Boolean(request.namespaceHeader) || namespace.id !== ROOT_NAMESPACE.id
    // The suffix of a token is its namespace ID. The token itself may not exist.
    const isAtHome = !isNamed && route?.rules.isForSelf && request.clientToken !== undefined
    const home = isAtHome ? namespaces.findById(namespaceIdOf(request.clientToken)) : undefined
    request.namespace = home ?? namespace
    this.#requireNamespace(request.namespace, request)
    return home ? router.find(home, path) : route
  }

  /** Executes a forwarded request, limited to the data that its secondary may see. Rejects with LogicalError. */
  async handleForwarded(request: Request): Promise<Response | undefined> {
    const { namespaces, router, mayForward } = this.#options
    const namespace = namespaces.findById(request.namespace.id)
    if (namespace?.path !== request.namespace.path) throw new LogicalError('not-found', 'namespace not found')
    this.#requireNamespace(namespace, request)
    const found = router.find(namespace, request.path)
    if (found && !mayForward({ ...found, request })) {
      throw new LogicalError('permission-denied', 'a secondary cannot send this request', { wrapped: true })
    }
    const entity = await this.#logins.answerPrimary(request)
    if (entity) return entity
    const route = this.#routeOrFail(request, found)
    const response = await dispatch(route.mount.backend, request, route.path)
    if (hasLogin(response)) await this.#logins.addEntity(request, route.mount, response)
    return response
  }

  async #handleOpen(request: Request, route: Route): Promise<Response | undefined> {
    const { clock, recorder } = this.#options
    const startedMs = clock.monotonic()
    try {
      const found = this.#routeOrFail(request, route)
      return await this.#audited.run(request, found, this.#authoriser.identify(request))
    } catch (error) {
      throw unwrapped(error)
    } finally {
      if (route.mount.entry.kind === 'auth') recorder.record(LOGINS, clock.monotonic() - startedMs)
    }
  }

  async #handleProtected(request: Request, route: Route | undefined): Promise<Response | undefined> {
    const authorised = await this.#authoriser.authorise(request, route)
    try {
      if (authorised.failure) {
        await this.#audited.unexecuted(request, route, authorised)
        throw authorised.failure
      }
      return await this.#audited.run(request, this.#routeOrFail(request, route), authorised)
    } finally {
      if (authorised.isLastUse && authorised.token) await this.#options.tokens.revokeTree(authorised.token)
    }
  }

  /** Throws LogicalError 404 for a namespace that a paths filter hides from this cluster or from the caller. */
  #requireNamespace({ path }: NamespaceRef, { visibility }: Request): void {
    if (path === '' || !(this.#options.hidesNamespace(path) || visibility?.hidesNamespace(path))) return
    throw new LogicalError('not-found', 'namespace not found')
  }

  #routeOrFail(request: Request, route: Route | undefined): Route {
    if (!route) throw new LogicalError('not-found', `no handler for route "${request.path}". route entry not found.`)
    this.#options.router.requirePresent(route.mount.entry, request, request.path)
    return route
  }

  async #execute(request: Request, route: Route): Promise<Response | undefined> {
    const { wrapping, lastIndex, consistency, leaseQuotas, leaseIssuer } = this.#options
    const before = changes(request, route) ? lastIndex() : undefined
    const dispatched = () => this.#dispatch(request, route)
    const granted = () => leaseIssuer.grant(request, route.mount, dispatched)
    const done = await (route.rules.createsLease ? leaseQuotas.guard(request, route, granted) : dispatched())
    let { response } = done
    if (hasLogin(response)) {
      const login = response
      const issue = () => this.#logins.issue(request, route.mount, login, done.state)
      response = await leaseQuotas.guard(request, route, issue)
    }
    if (response) {
      response.mountType ??= response.auth && !request.token ? '' : route.mount.entry.type
      const wrap = response.wrap ?? request.wrap
      if (wrap && !response.wrapInfo && canBeWrapped(response)) response = await wrapping.wrap(request, response, wrap)
    }
    if (before === undefined || this.#isStandby || (!done.state && lastIndex() === before)) return response
    const answer = response ?? {}
    answer.headers = { ...answer.headers, 'X-Vault-Index': consistency.print(done.state) }
    return answer
  }

  async #dispatch(request: Request, route: Route): Promise<{ response: Response | undefined; state?: LogState }> {
    const { operation } = request
    if (changes(request, route) && this.#options.refusesWrites() && !isServedWhile('fenced', route.rules, operation)) {
      throw new LogicalError('unavailable', 'this primary is fenced: a newer epoch of its replication set exists')
    }
    try {
      const run = () => dispatch(route.mount.backend, request, route.path)
      return { response: await readWithinBudget(request, run, rawSize) }
    } catch (error) {
      if (!isReadOnly(error)) throw error
      if (!this.#options.mayForward({ ...route, request })) {
        throw new LogicalError(
          'invalid-request',
          'this cluster is a performance secondary; send the request to its primary',
        )
      }
      return this.#options.forwarder.forward(request)
    }
  }
}

const changes = ({ operation }: Request, { rules }: Route): boolean => rules.createsLease === true || isWrite(operation)

const isOpen = (state: OpenState, { rules }: Route): boolean =>
  rules.access === 'open' || GATES[state].isTokenless === true
