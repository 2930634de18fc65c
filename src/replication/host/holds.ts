import { nextChange } from '../../base/await-change.js'
import type { HoldState, Kind } from '../model/types.js'

export const HOLD_STATES: readonly HoldState[] = ['bootstrapping', 'merkle-diff', 'merkle-sync', 'reindex', 'apply']

/** Lets a lab hold replication: replication stops when it next enters a held state, until the state is released. */
export class Holds {
  readonly #held = new Map<string, Set<() => void>>()

  hold(kind: Kind, state: HoldState): void {
    const key = `${kind}/${state}`
    if (!this.#held.has(key)) this.#held.set(key, new Set())
  }

  /** Releases the matching holds, or all holds if called without arguments. */
  release(kind?: Kind, state?: HoldState): void {
    for (const [key, waiting] of [...this.#held]) {
      const [heldKind, heldState] = key.split('/')
      if ((kind !== undefined && heldKind !== kind) || (state !== undefined && heldState !== state)) continue
      this.#held.delete(key)
      for (const go of waiting) go()
    }
  }

  /** Returns the held states. `isReached` is true if replication is stopped there. */
  list(): { kind: string; state: string; isReached: boolean }[] {
    return [...this.#held].map(([key, waiting]) => {
      const [kind = '', state = ''] = key.split('/')
      return { kind, state, isReached: waiting.size > 0 }
    })
  }

  /** Waits while a state is held. Rejects with the signal's reason. */
  async pass(kind: Kind, state: HoldState, signal: AbortSignal): Promise<void> {
    const waiting = this.#held.get(`${kind}/${state}`)
    if (!waiting) return
    signal.throwIfAborted()
    await nextChange((go) => {
      waiting.add(go)
      return () => void waiting.delete(go)
    }, signal)
    signal.throwIfAborted()
  }
}
