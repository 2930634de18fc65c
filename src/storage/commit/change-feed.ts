import type { Log } from '../../base/log.js'
import { findFamily, type Owner } from '../keys/key-families.js'
import type { Commit, KeyListener, KeyListeners } from '../keys/replicable.js'

/**
 * Tells whoever remembers stored values which keys have changed, with every commit and whoever made it: once they can be
 * read, before the writer is answered, and before anybody else hears of the commit. Reads take no turn, so nothing that
 * was read before a commit can be remembered after it.
 */
export class ChangeFeed {
  readonly #byOwner = new Map<Owner, Set<KeyListener>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Returns the unsubscribe function. */
  subscribe(listeners: KeyListeners): () => void {
    const all = Object.entries(listeners) as [Owner, KeyListener][]
    for (const [owner, listener] of all) this.#of(owner).add(listener)
    return () => {
      for (const [owner, listener] of all) this.#of(owner).delete(listener)
    }
  }

  announce({ mutations, origin }: Pick<Commit, 'mutations' | 'origin'>): void {
    for (const { key } of mutations) {
      const owner = findFamily(key)?.owner
      const listeners = owner && this.#byOwner.get(owner)
      if (listeners) for (const listener of listeners) this.#tell(listener, key, origin)
    }
  }

  /** One that fails keeps no other from what follows. */
  #tell(listener: KeyListener, key: string, origin: Commit['origin']): void {
    try {
      listener(key, origin)
    } catch (error) {
      this.#log.error('what is remembered of a key could not follow its change', {
        owner: findFamily(key)?.owner,
        error,
      })
    }
  }

  #of(owner: Owner): Set<KeyListener> {
    let listeners = this.#byOwner.get(owner)
    if (!listeners) {
      listeners = new Set()
      this.#byOwner.set(owner, listeners)
    }
    return listeners
  }
}
