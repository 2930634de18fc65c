import { isJsonObject } from '../../base/json.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import type { LogState } from '../../logical/log-state.js'
import type { IdentityStore } from './identity.js'

type EntityForwarder = (
  request: Request,
) => Promise<{ readonly response: Response | undefined; readonly state: LogState }>

/**
 * The internal path at which a secondary requests an entity from its primary. Clients cannot reach it, since no mount
 * can have this path.
 */
export const ENTITY_PATH = 'sys/internal/replicated-entity'

/** What a login reports about the user besides the name, as in `LoginAuth.alias`. */
export interface ReportedAlias {
  readonly metadata: Readonly<Record<string, string>>
  readonly groups?: readonly string[] | undefined
}

interface PrimaryAlias extends Partial<ReportedAlias> {
  readonly accessor: string
  readonly name: string
}

interface PrimaryEntitiesOptions {
  readonly identity: IdentityStore
  readonly askPrimary: EntityForwarder
  /**
   * Returns the primary's cluster ID and the last index of its log applied here; undefined if this cluster has no
   * primary.
   */
  readonly upstream: () => { readonly clusterId: string; readonly appliedIndex: number } | undefined
}

/** Parses what a secondary sends about a login. Throws LogicalError 400 if it has another form. */
export const parseReportedAlias = ({ metadata = {}, groups }: JsonObject): ReportedAlias => {
  const isText = (value: unknown): value is string => typeof value === 'string'
  if (!isJsonObject(metadata) || !Object.values(metadata).every(isText)) {
    throw invalid('the request for an entity has invalid metadata')
  }
  if (groups !== undefined && !(Array.isArray(groups) && groups.every(isText))) {
    throw invalid('the request for an entity has invalid groups')
  }
  return { metadata: metadata as Record<string, string>, groups }
}

/** The entities that a secondary receives from its primary during a request, before they replicate. */
export class PrimaryEntities {
  readonly #options: PrimaryEntitiesOptions

  constructor(options: PrimaryEntitiesOptions) {
    this.#options = options
  }

  /**
   * Asks the primary to find or create the entity of an alias and to update its external groups, and returns the entity
   * ID. Waits until this cluster has applied the result, for a limited time. Rejects with LogicalError 503
   * if the primary is unreachable, because a token that is issued without its entity can never receive it.
   */
  async ask(
    { id, namespace }: Pick<Request, 'id' | 'namespace'>,
    { accessor, name, metadata = {}, groups }: PrimaryAlias,
  ): Promise<string> {
    const { response, state } = await this.#options.askPrimary({
      id,
      namespace,
      operation: 'update',
      path: ENTITY_PATH,
      data: { accessor, name, metadata: { ...metadata }, ...(groups && { groups: [...groups] }) },
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
   * Records that the primary had the entity at this log state. Until that state is applied here, a missing entity does
   * not count as deleted.
   */
  expect(entityId: string, state: LogState): void {
    const { identity, upstream } = this.#options
    identity.expect(entityId, () => {
      const now = upstream()
      return now?.clusterId === state.clusterId && now.appliedIndex < state.localIndex
    })
  }
}
