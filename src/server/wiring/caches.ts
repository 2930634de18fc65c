import type { MountEntry } from '../../core/mounts/mount-entry.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { KeyListeners } from '../../storage/keys/replicable.js'
import type { CoreServices } from './core-services.js'

interface MountEvents {
  /** The mount left its path. Each cluster has its own tokens, so each must remove those issued by the mount. */
  readonly onLeft: (entry: MountEntry) => void
  /** The mount was removed. Only this cluster can delete its local data. */
  readonly onRemoved: (entry: MountEntry) => void
}

/**
 * Returns all caches of stored values in the core, by key prefix. They are filled by reads, and invalidated only through
 * this list. Parts that read storage every time are not listed.
 */
export const coreCaches = (services: CoreServices, { onLeft, onRemoved }: MountEvents) => {
  const { namespaces, table, router, policies, identity, tokens, audit } = services
  return {
    namespaces(key) {
      namespaces.refresh(key)
      // Its mounts may have arrived first.
      router.openAll(key.slice(KEYS.namespaces.length))
    },
    mounts(key, origin) {
      const before = table.findByKey(key)
      const left = table.refresh(key)
      // The node that made the change handles its effects on mounts.
      if (origin === 'own' || origin === 'followed') return
      if (left) onLeft(left)
      if (before && !table.findByKey(key)) onRemoved(before)
    },
    backends: (key) => router.invalidate(key),
    policies: (key) => policies.invalidate(key.slice(KEYS.policies.length)),
    identity: (key) => identity.invalidate(key.slice(KEYS.identity.length)),
    tokens: (key) => tokens.invalidate(key),
    audit: (key) => audit.invalidate(key),
  } satisfies KeyListeners
}
