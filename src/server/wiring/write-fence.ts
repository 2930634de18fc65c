import type { Kind } from '../../replication/model/types.js'
import type { Category } from '../../storage/keys/key-families.js'
import type { Store } from '../../storage/store/store.js'
import type { RuntimeChanges } from '../parts/parts.js'

/** The categories of log entries that secondaries of each kind receive. */
const FENCED: Readonly<Record<Kind, ReadonlySet<Category>>> = {
  dr: new Set(['replicated', 'local']),
  performance: new Set(['replicated']),
}

/**
 * Pauses new client writes, so that the writes in progress can complete. Then sets a fence, which rejects every write
 * that is not in the log yet. The fence applies to writes of clients, of this cluster itself and of secondaries that
 * forward. The returned function removes the pause and the fence.
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
