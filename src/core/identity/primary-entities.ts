import type { Request, Response } from '../../logical/request.js'
import type { LogState } from '../../logical/log-state.js'
import type { IdentityStore } from './identity.js'

type EntityForwarder = (
  request: Request,
) => Promise<{ readonly response: Response | undefined; readonly state: LogState }>

/**
 * The path where a secondary asks its primary for the entity of a login; no client can name it, since no mount may lie
 * there.
 */
export const ENTITY_PATH = 'sys/internal/replicated-entity'

interface PrimaryEntitiesOptions {
  readonly identity: IdentityStore
  /** Hands a request on to the primary that this cluster follows. */
  readonly askPrimary: EntityForwarder
  /** The cluster that is followed, and how much of its log is applied here; undefined for one that follows nobody. */
  readonly upstream: () => { readonly clusterId: string; readonly appliedIndex: number } | undefined
}

/** The entities that a secondary has from its primary in the middle of a request, before replication brings them. */
export class PrimaryEntities {
  readonly #options: PrimaryEntitiesOptions

  constructor(options: PrimaryEntitiesOptions) {
    this.#options = options
  }

  /** Has the primary find or make the entity of an alias. Unreachable is 503: a token without its entity would stay without it. */
  async ask(
    { id, namespace }: Pick<Request, 'id' | 'namespace'>,
    alias: { readonly accessor: string; readonly name: string },
  ): Promise<string> {
    const { response, state } = await this.#options.askPrimary({
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
    const entityId = String((response?.data as { id?: unknown } | undefined)?.id ?? '')
    this.expect(entityId, state)
    return entityId
  }

  /**
   * The primary had the entity when its log was in this state: until that state is applied here, the absence of the
   * entity means nothing.
   */
  expect(entityId: string, state: LogState): void {
    const { identity, upstream } = this.#options
    identity.expect(entityId, () => {
      const now = upstream()
      return now?.clusterId === state.clusterId && now.appliedIndex < state.localIndex
    })
  }
}
