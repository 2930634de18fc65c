import type { KeyListeners } from '../../storage/keys/replicable.js'
import type { ReplicationContext } from '../roles/context.js'
import { recordKey } from '../model/state.js'

/**
 * Returns the listeners that update the replication caches, by the owner of the keys. Caches are updated only by
 * commits.
 */
export const replicationCaches = ({
  filters,
  settledFilter,
  roles,
}: Pick<ReplicationContext, 'filters' | 'settledFilter' | 'roles'>) =>
  ({
    filters(key, origin) {
      filters.invalidate(key)
      settledFilter.invalidate(key)
      // The caller of this change received an error, and no secondary was informed of the change.
      if (origin === 'recovered' && roles.record('performance').mode === 'primary') roles.beginAnew()
    },
    roles(key, origin) {
      // On a standby, every record comes from the active node. On the active node, a role change takes effect with its
      // own steps.
      if (origin === 'followed') roles.follow()
      else if (origin === 'recovered') roles.recover()
      else if (key === recordKey('performance') && origin !== 'own') roles.reload()
    },
  }) satisfies KeyListeners
