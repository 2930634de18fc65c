import type { Kind } from '../../replication/model/types.js'
import type { Category } from '../../storage/keys/key-families.js'
import type { Store } from '../../storage/store/store.js'
import type { RuntimeChanges } from '../parts/runtime-changes.js'

/** The categories of the log's entries that secondaries of each kind get. */
export const FENCED: Readonly<Record<Kind, ReadonlySet<Category>>> = {
  dr: new Set(['replicated', 'local']),
  performance: new Set(['replicated']),
}

/**
 * Clients' new writes wait, so that those under way can be finished; what is not in the log by then meets the fence and is
 * refused, whoever writes it, also what this cluster does by itself and what secondaries forward. The result lifts both.
 */
export const fenceWrites = async (
  kind: Kind,
  store: Pick<Store, 'fence' | 'lift'>,
  changes: Pick<RuntimeChanges, 'pauseWrites' | 'resumeWrites'>,
): Promise<() => void> => {
  const lift = () => {
    store.lift()
    changes.resumeWrites()
  }
  try {
    await changes.pauseWrites()
    await store.fence(FENCED[kind])
    return lift
  } catch (error) {
    lift()
    throw error
  }
}
