import { isListed, decideWriteOperation, dispatch } from '../logical/dispatch.js'
import { invalid, LogicalError, permissionDenied } from '../logical/errors.js'
import { RawJson } from '../logical/json.js'
import type { LoginAuth, Request, Response } from '../logical/request.js'
import type { AclVerdict } from './acl.js'
import type { AuditBroker } from './audit.js'
import { checkGate, type GateState } from './gate.js'
import type { IdentityStore } from './identity.js'
import type { NamespaceStore } from './namespaces.js'
import type { PolicyStore } from './policies.js'
import type { OpenMount, Route, Router } from './router.js'
import { WRAPPING_PATHS } from './system/wrapping-paths.js'
import type { TokenEntry, TokenStore } from './tokens.js'
import type { Wrapping } from './wrapping.js'

/** Sends a backend request to the performance primary, which executes it without asking for rights again. */
export interface RequestForwarder {
  forward(request: Request): Promise<Response | undefined>
}

export interface RequestHandlerOptions {
  readonly gateState: () => GateState
  readonly drAllowed: readonly string[]
  readonly namespaces: NamespaceStore
  readonly router: Router
  readonly tokens: TokenStore
  readonly policies: PolicyStore
  readonly identity: IdentityStore
  readonly wrapping: Wrapping
  readonly audit: AuditBroker
  readonly forwarder: RequestForwarder
}

/** Paths below `sys/` that exist in the root namespace alone. */
const ROOT_NAMESPACE_ONLY = [
  'init',
  'unseal',
  'seal',
  'step-down',
  'rotate',
  'rekey/*',
  'rekey-recovery-key/*',
  'generate-root/*',
  'audit',
  'audit/*',
  'audit-hash/*',
  'storage/*',
  'metrics',
  'license/*',
  'config/auditing/*',
  'config/state/*',
  'host-info',
  'in-flight-req',
  'replication/primary/*',
  'replication/secondary/*',
  'replication/recover',
  'replication/reindex',
  'replication/merkle-check',
  'replication/dr/primary/*',
  'replication/dr/secondary/*',
  'replication/performance/primary/*',
  'replication/performance/secondary/*',
  'replication/dr/reindex',
  'replication/performance/reindex',
] as const

interface Authorised {
  readonly token: TokenEntry | undefined
  readonly verdict: AclVerdict | undefined
  readonly isLastUse: boolean
  readonly failure: LogicalError | undefined
}

/**
 * The pipeline of a request: gate, namespace, token, rights, uses, audit, dispatch, login, wrapping, audit. Everything that
 * is refused is a LogicalError; the caller turns it into a status.
 */
export class RequestHandler {
  readonly #options: RequestHandlerOptions

  constructor(options: RequestHandlerOptions) {
    this.#options = options
  }

  async handle(request: Request, namespaceHeader: string | undefined): Promise<Response | undefined> {
    const { gateState, drAllowed, namespaces, router } = this.#options
    const resolved = namespaces.resolve(namespaceHeader, request.path)
    request.namespace = resolved.namespace
    request.path = resolved.path
    if (request.namespace.id !== 'root') refuseOutsideRoot(request.path)
    checkGate(request.path, request.operation, gateState(), drAllowed)
    const isWrite = request.operation === 'update' || request.operation === 'patch'
    if (isWrite && request.path.endsWith('/')) throw invalid("cannot write to a path ending in '/'")
    const route = router.find(request.namespace, request.path)
    if (route && isListed(route.mount.backend.unauthenticated, withoutSlash(route.path))) {
      return this.#handleOpen(request, route)
    }
    return this.#handleProtected(request, route)
  }

  /** Executes a request that another cluster has authorised. */
  async handleForwarded(request: Request): Promise<Response | undefined> {
    const route = this.#routeOrFail(request, this.#options.router.find(request.namespace, request.path))
    return dispatch(route.mount.backend, request, route.path)
  }

  /** Paths that need no token still see one that is good, and ignore one that is not. */
  async #handleOpen(request: Request, route: Route): Promise<Response | undefined> {
    const { tokens } = this.#options
    const presented = request.clientToken
    const token = presented === undefined ? undefined : tokens.find(presented)
    if (token && tokens.isAddressAllowed(token, request.remoteAddress)) request.token = token
    try {
      return await this.#run(request, route, { token, verdict: undefined, isLastUse: false, failure: undefined })
    } catch (error) {
      throw unwrapped(error)
    }
  }

  async #handleProtected(request: Request, route: Route | undefined): Promise<Response | undefined> {
    const authorised = await this.#authorise(request, route)
    try {
      if (authorised.failure) {
        await this.#auditRefusal(request, route, authorised)
        throw authorised.failure
      }
      return await this.#run(request, this.#routeOrFail(request, route), authorised)
    } finally {
      if (authorised.isLastUse && authorised.token) await this.#options.tokens.finishLastUse(authorised.token)
    }
  }

  async #authorise(request: Request, route: Route | undefined): Promise<Authorised> {
    const { tokens, wrapping } = this.#options
    const isWrapping = WRAPPING_PATHS.has(request.path)
    const presented =
      isWrapping && request.clientToken ? await wrapping.resolve(request.clientToken) : request.clientToken
    const refuse = (failure: LogicalError): Authorised => ({
      token: undefined,
      verdict: undefined,
      isLastUse: false,
      failure,
    })
    const token = presented ? tokens.find(presented) : undefined
    if (!token) {
      if (isWrapping && presented !== undefined && request.clientToken) wrapping.find('')
      return refuse(tokenMissing(request.clientToken))
    }
    if (isWrapping) this.#validateWrapped(request, token)
    request.token = token
    if (!tokens.isAddressAllowed(token, request.remoteAddress)) return refuse(permissionDenied())
    if (!request.namespace.path.startsWith(token.namespace.path)) return refuse(permissionDenied())
    if (route && request.operation === 'update') {
      request.operation = decideWriteOperation(route.mount.backend, request, route.path)
    }
    const verdict = this.#check(request, token, route)
    const use = token.numUses === 0 ? 'free' : await tokens.use(token)
    if (use === 'spent') {
      if (isWrapping) wrapping.find('')
      return refuse(tokenMissing(request.clientToken))
    }
    const failure = verdict.isAllowed ? undefined : permissionDenied()
    return { token, verdict, isLastUse: use === 'last', failure }
  }

  /** A wrapping token named in the body is judged before the rights of whoever names it. */
  #validateWrapped(request: Request, token: TokenEntry): void {
    const named = request.data.token
    if (typeof named === 'string' && named !== '') {
      if (named.split('.').length !== 3) this.#options.wrapping.find(named)
    } else if (request.path !== 'sys/wrapping/rewrap') this.#options.wrapping.find(token.id)
  }

  #check(request: Request, token: TokenEntry, route: Route | undefined): AclVerdict {
    const acl = this.#options.policies.aclFor(
      token.policies,
      token.namespace,
      this.#options.identity.findEntity(token.entityId),
    )
    const prefix = request.namespace.path.slice(token.namespace.path.length)
    return acl.check({
      path: prefix + pathWithMount(request.path, route),
      operation: request.operation,
      data: request.data,
      wrap: request.wrap,
      needsSudo: route !== undefined && isListed(route.mount.backend.sudo, route.path),
    })
  }

  #routeOrFail(request: Request, route: Route | undefined): Route {
    if (!route) throw new LogicalError('not-found', `no handler for route "${request.path}". route entry not found.`)
    if (this.#options.router.isHeldBack(route.mount)) {
      throw new LogicalError(
        'not-found',
        `no handler for route "${request.path}". route entry found, but backend is nil.`,
      )
    }
    return route
  }

  async #auditRefusal(
    request: Request,
    route: Route | undefined,
    { token, verdict, failure }: Authorised,
  ): Promise<void> {
    const { audit } = this.#options
    if (!audit.isEnabled) return
    const entry = { request, mount: route?.mount, token, verdict, error: failure }
    await audit.logRequest(entry)
    await audit.logResponse({ ...entry, response: undefined })
  }

  async #run(request: Request, route: Route, { token, verdict }: Authorised): Promise<Response | undefined> {
    const { audit, router } = this.#options
    if (router.isHeldBack(route.mount)) this.#routeOrFail(request, route)
    if (!audit.isEnabled) return this.#execute(request, route)
    const entry = { request, mount: route.mount, token, verdict, error: undefined }
    await audit.logRequest(entry)
    try {
      const response = await this.#execute(request, route)
      await audit.logResponse({ ...entry, response })
      return response
    } catch (error) {
      await audit.logResponse({ ...entry, response: undefined, error })
      throw error
    }
  }

  async #execute(request: Request, route: Route): Promise<Response | undefined> {
    let response = await this.#dispatch(request, route)
    if (response?.login) response = await this.#logIn(request, route.mount, response, response.login)
    if (!response) return undefined
    response.mountType ??= response.auth && !request.token ? '' : route.mount.entry.type
    const wrap = response.wrap ?? request.wrap
    if (!wrap || response.bare || response.wrapInfo || !hasBody(response)) return response
    return this.#options.wrapping.wrap(request, response, wrap)
  }

  async #dispatch(request: Request, route: Route): Promise<Response | undefined> {
    try {
      return await dispatch(route.mount.backend, request, route.path)
    } catch (error) {
      if (!(error instanceof LogicalError && error.code === 'read-only')) throw error
      return this.#options.forwarder.forward(request)
    }
  }

  /** The token of a login is made by the cluster that answers, whoever examined the credentials. */
  async #logIn(request: Request, mount: OpenMount, response: Response, login: LoginAuth): Promise<Response> {
    const { tokens } = this.#options
    const { auth, warnings } = await tokens.issueLogin({
      mount: {
        path: mount.view.path,
        accessor: mount.entry.accessor,
        view: mount.view,
        tokenType: mount.entry.config.tokenType,
      },
      namespace: request.namespace,
      login,
      path: request.path,
    })
    const { login: _login, ...rest } = response
    return { ...rest, auth, warnings: [...(response.warnings ?? []), ...warnings], mountType: '' }
  }
}

/** A mount that is named without its slash is judged as the mount it is. */
const pathWithMount = (path: string, route: Route | undefined): string =>
  route?.path === '' && !path.endsWith('/') ? `${path}/` : path

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)

const hasBody = (response: Response): boolean =>
  response.raw === undefined &&
  (response.data instanceof RawJson ||
    response.data != null ||
    response.auth !== undefined ||
    (response.warnings?.length ?? 0) > 0)

const refuseOutsideRoot = (path: string): void => {
  if (path.startsWith('sys/') && isListed(ROOT_NAMESPACE_ONLY, path.slice('sys/'.length))) {
    throw invalid('operation unavailable in namespaces')
  }
}

const tokenMissing = (presented: string | undefined): LogicalError =>
  presented
    ? new LogicalError('permission-denied', '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n')
    : new LogicalError('permission-denied', 'permission denied')

/** On paths without a token no text is wrapped in a list. */
const unwrapped = (error: unknown): unknown =>
  error instanceof LogicalError && error.wrapped
    ? new LogicalError(error.code, error.message, { cause: error.cause })
    : error
