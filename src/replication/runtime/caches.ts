import type { KeyListeners } from '../../storage/keys/replicable.js'
import type { ReplicationContext } from '../roles/context.js'
import { recordKey } from '../model/state.js'

/** Everything of replication that remembers stored values, by whose keys they are: it follows commits by this alone. */
export const replicationCaches = ({
  filters,
  settledFilter,
  roles,
}: Pick<ReplicationContext, 'filters' | 'settledFilter' | 'roles'>) =>
  ({
    filters(key, origin) {
      filters.invalidate(key)
      settledFilter.invalidate(key)
      // Whoever asked for it was told that it failed, and no secondary was told of it.
      if (origin === 'recovered' && roles.record('performance').mode === 'primary') roles.beginAnew()
    },
    roles(key, origin) {
      // On a standby every record is the active node's; a change of role that is made here takes effect with its step.
      if (origin === 'followed') roles.follow()
      else if (origin === 'recovered') roles.recover()
      else if (key === recordKey('performance') && origin !== 'own') roles.reload()
    },
  }) satisfies KeyListeners
