import type { Ingredients } from './roles/apply-effect.js'
import type { FilterStore } from './filter/filter-store.js'
import type { SettledFilter } from './filter/settled-filter.js'
import type { ReplicationHost } from './host.js'
import { uuid } from '../base/id.js'
import type { Manager } from './roles/manager.js'
import type { OperationTokens } from './credentials/operation-token.js'
import type { Roles } from './roles/roles.js'
import type { DataPlane } from './services.js'
import type { Kind } from './types.js'
import type { Upkeep } from './roles/upkeep.js'

/** What the operations of the API work with. */
export interface ReplicationContext {
  readonly host: ReplicationHost
  readonly roles: Roles
  readonly dataPlane: DataPlane
  readonly filters: FilterStore
  readonly settledFilter: SettledFilter
  readonly upkeep: Upkeep
  readonly operationTokens: OperationTokens
  readonly managers: Readonly<Record<Kind, Manager>>
}

/** What every effect may need; the fork is where the log of the epoch before ends here. */
export const baseIngredients = ({ host, roles }: ReplicationContext, kind: Kind): Ingredients => {
  const record = roles.record(kind)
  const hasFollowed = record.mode !== 'disabled' && record.mode !== 'primary' && record.hasFollowed
  const place = host.store.remotePosition
  return {
    newId: () => uuid(host.random),
    forkIndex: hasFollowed ? (place?.index ?? 0) : host.store.position.index,
    forkEpoch: hasFollowed ? place?.epoch : undefined,
  }
}
