import type { Log } from '../../base/log.js'
import { findFamily } from '../keys/key-families.js'
import type { Commit, KeyListener, KeyListeners } from '../keys/replicable.js'

/**
 * Reports the changed keys of every commit to the caches of stored values. Reports a key after its new value is
 * readable, before the writer gets its response, and before other commit listeners run. Reads are synchronous, so a
 * value read before a commit cannot enter a cache after it.
 */
export class ChangeFeed {
  readonly #subscribed = new Set<KeyListeners>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Subscribes to changes. Returns the unsubscribe function. */
  subscribe(listeners: KeyListeners): () => void {
    this.#subscribed.add(listeners)
    return () => void this.#subscribed.delete(listeners)
  }

  announce({ mutations, origin }: Pick<Commit, 'mutations' | 'origin'>): void {
    for (const { key } of mutations) {
      const owner = findFamily(key)?.owner
      if (!owner) continue
      for (const { [owner]: listener } of this.#subscribed) if (listener) this.#tell(listener, key, origin)
    }
  }

  /** Calls a listener. If it fails, the other listeners still run. */
  #tell(listener: KeyListener, key: string, origin: Commit['origin']): void {
    try {
      listener(key, origin)
    } catch (error) {
      this.#log.error('a cache could not process a changed key', {
        owner: findFamily(key)?.owner,
        error,
      })
    }
  }
}
