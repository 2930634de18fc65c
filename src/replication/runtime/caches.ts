import type { KeyListeners } from '../../storage/keys/replicable.js'
import type { ReplicationContext } from '../roles/context.js'
import { recordKey } from '../model/state.js'

/** Returns the listeners that update the caches of replication after commits, by the owner of the changed keys. */
export const replicationCaches = ({
  filters,
  settledFilter,
  roles,
}: Pick<ReplicationContext, 'filters' | 'settledFilter' | 'roles'>) =>
  ({
    filters(key, origin) {
      filters.invalidate(key)
      settledFilter.invalidate(key)
      // The caller of this change received an error, so no secondary was informed of it. A restart informs them.
      if (origin === 'recovered' && roles.record('performance').mode === 'primary') roles.restartAfterRecovery()
    },
    roles(key, origin) {
      // On a standby, every change comes from the active node. On the active node, a role change updates the records
      // itself.
      if (origin === 'followed') roles.follow()
      else if (origin === 'recovered') roles.recover()
      else if (key === recordKey('performance') && origin !== 'own') roles.reload()
    },
  }) satisfies KeyListeners
