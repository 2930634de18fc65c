import type { MountEntry } from '../../core/mounts/mount-entry.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { KeyListeners } from '../../storage/keys/replicable.js'
import type { CoreServices } from './core-services.js'

/** What a change that this cluster has not made itself means for a mount. */
interface MountEvents {
  /** It left the path where it was. Tokens are of each cluster, so each has to remove those that it has issued on it. */
  readonly onLeft: (entry: MountEntry) => void
  /** It is gone. What it kept on this cluster alone is deleted by nobody else. */
  readonly onRemoved: (entry: MountEntry) => void
}

/**
 * Everything of the core that remembers stored values, by whose keys they are: it is filled by reads, and follows commits by
 * this alone. Whoever reads anew each time is not here.
 */
export const coreCaches = (services: CoreServices, { onLeft, onRemoved }: MountEvents) => {
  const { namespaces, table, router, policies, identity, tokens, audit } = services
  return {
    namespaces(key) {
      namespaces.refresh(key)
      // Its mounts may have arrived before it.
      router.openAll(key.slice(KEYS.namespaces.length))
    },
    mounts(key, origin) {
      const before = table.findByKey(key)
      const left = table.refresh(key)
      // What it means for a mount is for the node to do that has changed it.
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
