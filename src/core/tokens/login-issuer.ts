import { invalid, isReadOnly } from '../../logical/errors.js'
import type { LoginAuth, Request, Response } from '../../logical/request.js'
import type { LogState } from '../../logical/log-state.js'
import { routePath } from '../mounts/mount-entry.js'
import { ENTITY_PATH, parseReportedAlias, type PrimaryEntities } from '../identity/primary-entities.js'
import type { OpenMount, Router } from '../mounts/router.js'
import type { TokenStore } from './tokens.js'

type LoginResponse = Response & { login: LoginAuth }

export const hasLogin = (response: Response | undefined): response is LoginResponse => response?.login !== undefined

interface LoginIssuerOptions {
  readonly tokens: TokenStore
  readonly router: Router
  readonly primaryEntities: PrimaryEntities
}

/**
 * Issues the token of a successful login. The cluster that responds to the client creates the token, even if its
 * primary verified the credentials. The entity is replicated, so the primary creates it for a login on a performance
 * secondary.
 */
export class LoginIssuer {
  readonly #options: LoginIssuerOptions

  constructor(options: LoginIssuerOptions) {
    this.#options = options
  }

  /** Issues the token. `primaryState` is the primary's log position, if the primary verified the credentials. */
  issue(request: Request, mount: OpenMount, response: LoginResponse, primaryState?: LogState): Promise<Response> {
    return onceStored(response, () => this.#issue(request, mount, response, primaryState))
  }

  async #issue(
    request: Request,
    mount: OpenMount,
    response: LoginResponse,
    primaryState?: LogState,
  ): Promise<Response> {
    const { login } = response
    if (login.entityId !== undefined && primaryState) this.#options.primaryEntities.expect(login.entityId, primaryState)
    const { auth, warnings } = await this.#options.tokens.issueLogin({
      mount: mountOf(mount),
      namespace: request.namespace,
      login,
      path: request.path,
      entityId: login.entityId ?? (await this.#entityId(request, mount, login)),
    })
    const answer: Response = response
    answer.login = undefined
    answer.auth = auth
    answer.warnings = answer.warnings ? [...answer.warnings, ...warnings] : warnings
    answer.mountType = ''
    return answer
  }

  /** Finds or creates the entity of a login that a secondary has forwarded. Runs on the primary before it responds. */
  addEntity(request: Request, mount: OpenMount, response: LoginResponse): Promise<void> {
    const { login } = response
    return onceStored(response, async () => {
      login.entityId = await this.#options.tokens.loginEntityId({
        login,
        mount: mountOf(mount),
        namespace: request.namespace,
      })
    })
  }

  /**
   * Returns the primary's response to a secondary that requests an entity; undefined for any other request. Rejects
   * with LogicalError 400 for an invalid alias.
   */
  async answerPrimary(request: Request): Promise<Response | undefined> {
    if (request.path !== ENTITY_PATH) return undefined
    const { accessor, name } = request.data
    const entry = typeof accessor === 'string' ? this.#options.router.findByAccessor(accessor)?.entry : undefined
    if (typeof name !== 'string') throw invalid('the request for an entity has no alias name')
    if (!entry || entry.isLocal || entry.kind !== 'auth' || entry.namespaceId !== request.namespace.id) {
      throw invalid('the request for an entity names no replicated auth method')
    }
    this.#options.router.requirePresent(entry, request, routePath(entry))
    const reported = parseReportedAlias(request.data)
    const id = await this.#options.tokens.aliasEntityId(entry.accessor, name, request.namespace.id, reported)
    return { data: { id } }
  }

  async #entityId(request: Request, mount: OpenMount, login: LoginAuth): Promise<string> {
    try {
      return await this.#options.tokens.loginEntityId({ login, mount: mountOf(mount), namespace: request.namespace })
    } catch (error) {
      if (!isReadOnly(error) || !login.alias) throw error
      return this.#options.primaryEntities.ask(request, { ...login.alias, accessor: mount.entry.accessor })
    }
  }
}

/** Delays both the result and the error of `work` until the login's queued write is durable. */
const onceStored = async <T>(response: LoginResponse, work: () => Promise<T>): Promise<T> => {
  const { loginStored } = response
  response.loginStored = undefined
  try {
    return await work()
  } finally {
    await loginStored
  }
}

const mountOf = (mount: OpenMount) => ({
  path: mount.view.path,
  accessor: mount.entry.accessor,
  view: mount.view,
  tokenType: mount.entry.config.tokenType,
})
