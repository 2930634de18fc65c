import type { Log } from '../../base/log.js'
import { findFamily } from '../keys/key-families.js'
import type { Commit, KeyListener, KeyListeners } from '../keys/replicable.js'

/**
 * Reports the changed keys of every commit to the caches of stored values. Reports a key after its new value is
 * readable, before the writer gets its response, and before other commit listeners run. Reads are synchronous, so a
 * cache cannot store an old value after the commit that replaced this value.
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
      for (const { [owner]: listener } of this.#subscribed) if (listener) this.#notify(listener, key, origin)
    }
  }

  /** Calls a listener. If the listener throws, logs the error, so that the other listeners still run. */
  #notify(listener: KeyListener, key: string, origin: Commit['origin']): void {
    try {
      listener(key, origin)
    } catch (error) {
      this.#log.error('a cache failed to process a changed key and may return old values', {
        owner: findFamily(key)?.owner,
        error,
      })
    }
  }
}
