import { LIMITS } from '../base/limits.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { LoginAuth, Request, Response } from '../logical/request.js'
import type { LogState } from './consistency.js'
import { routePath } from './mount-entry.js'
import type { OpenMount, Router } from './router.js'
import type { TokenStore } from './tokens.js'

export type EntityForwarder = (
  request: Request,
) => Promise<{ readonly response: Response | undefined; readonly state: LogState }>

/** What a secondary asks its primary for the entity of a login; no client can name it, since no mount may lie there. */
const ENTITY_PATH = 'sys/internal/replicated-entity'

/**
 * From a good login to a token. The token is made by the cluster that answers, whoever examined the credentials; the entity
 * behind it is shared, so on a performance secondary the primary makes it.
 */
export class LoginIssuer {
  readonly #tokens: TokenStore
  readonly #router: Router
  readonly #askPrimary: EntityForwarder

  constructor(options: {
    readonly tokens: TokenStore
    readonly router: Router
    readonly askPrimary: EntityForwarder
  }) {
    this.#tokens = options.tokens
    this.#router = options.router
    this.#askPrimary = options.askPrimary
  }

  async issue(request: Request, mount: OpenMount, response: Response, login: LoginAuth): Promise<Response> {
    const { auth, warnings } = await this.#tokens.issueLogin({
      mount: mountOf(mount),
      namespace: request.namespace,
      login,
      path: request.path,
      entityId: login.entityId ?? (await this.#entityId(request, mount, login)),
    })
    const { login: _login, ...rest } = response
    return { ...rest, auth, warnings: [...(response.warnings ?? []), ...warnings], mountType: '' }
  }

  /** On the primary: finds or makes the entity of a login that a secondary forwarded, before the answer goes back. */
  async addEntity(request: Request, mount: OpenMount, login: LoginAuth): Promise<void> {
    login.entityId = await this.#tokens.loginEntityId({ login, mount: mountOf(mount), namespace: request.namespace })
  }

  /** On the primary: answers a secondary that asks for an entity; undefined for any other request. */
  async answerPrimary(request: Request): Promise<Response | undefined> {
    if (request.path !== ENTITY_PATH) return undefined
    const { accessor, name } = request.data
    const entry = typeof accessor === 'string' ? this.#router.findByAccessor(accessor)?.entry : undefined
    if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > LIMITS.aliasNameBytesMax) {
      throw invalid('an entity is asked for without a name')
    }
    if (!entry || entry.isLocal || entry.kind !== 'auth' || entry.namespaceId !== request.namespace.id) {
      throw invalid('an entity is asked for without an auth method that is shared')
    }
    this.#router.requirePresent(entry, request, routePath(entry))
    const id = await this.#tokens.aliasEntityId(entry.accessor, name, request.namespace.id)
    return { data: { id } }
  }

  async #entityId(request: Request, mount: OpenMount, login: LoginAuth): Promise<string> {
    try {
      return await this.#tokens.loginEntityId({ login, mount: mountOf(mount), namespace: request.namespace })
    } catch (error) {
      if (!(error instanceof LogicalError && error.code === 'read-only') || !login.alias) throw error
      const alias = { accessor: mount.entry.accessor, name: login.alias.name }
      return askEntity(this.#askPrimary, request, alias)
    }
  }
}

/** Unreachable is 503: a token without its entity would stay without it. */
export const askEntity = async (
  askPrimary: EntityForwarder,
  { id, namespace }: Pick<Request, 'id' | 'namespace'>,
  alias: { readonly accessor: string; readonly name: string },
): Promise<string> => {
  const { response } = await askPrimary({
    id,
    namespace,
    operation: 'update',
    path: ENTITY_PATH,
    data: { accessor: alias.accessor, name: alias.name },
    headers: {},
    remoteAddress: '',
    remotePort: 0,
    clientToken: undefined,
    wrap: undefined,
  })
  return String((response?.data as { id?: unknown } | undefined)?.id ?? '')
}

const mountOf = (mount: OpenMount) => ({
  path: mount.view.path,
  accessor: mount.entry.accessor,
  view: mount.view,
  tokenType: mount.entry.config.tokenType,
})
