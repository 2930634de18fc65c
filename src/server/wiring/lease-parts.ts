import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { LeaseStore } from '../../core/leases/leases.js'
import { type MountEntry, routePath } from '../../core/mounts/mount-entry.js'
import type { Router } from '../../core/mounts/router.js'
import type { Storage } from '../../logical/storage.js'
import type { ReplicationParts } from './replication-parts.js'

interface LeasePartsOptions {
  readonly storage: Storage
  readonly router: Router
  readonly replication: ReplicationParts
  /** Returns true if this node cannot write the entry of the mount. */
  readonly isReadOnly: (entry: Pick<MountEntry, 'isLocal'>) => boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Creates the leases of secrets, and the removal of the leases of a mount before the mount changes. */
export const createLeaseParts = ({ router, replication, isReadOnly, ...options }: LeasePartsOptions) => {
  const leases = new LeaseStore({
    ...options,
    findMount: (accessor) => {
      const mount = router.findByAccessor(accessor)
      if (mount) router.requirePresent(mount.entry, {}, mount.view.path)
      return mount
    },
    isPaused: () => replication.view.refusesWrites,
  })
  return {
    leases,
    /** Leaves the leases if the primary decides about the mount: it may reject the change. */
    withoutLeases: <T>(entry: MountEntry, change: () => Promise<T>): Promise<T> =>
      isReadOnly(entry) ? change() : leases.whileClosed(entry.namespaceId, routePath(entry), change),
  }
}
