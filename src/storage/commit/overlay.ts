import { TransientMap } from '../../base/transient-map.js'
import { type Change, changeOf, type FindLeaf } from '../trees/change.js'
import type { Engine } from '../engine/engine.js'
import { leafHash } from '../trees/leaf.js'
import type { LeafFinder } from '../trees/leaf-finder.js'
import { dataKey } from '../keys/raw-keys.js'

/** A change of one key that is queued or being written. An undefined value deletes the key. */
export interface Pending {
  readonly key: string
  readonly value: Buffer | undefined
  readonly leaf: Buffer | undefined
}

/** The data that transactions read: the queued value of a key if there is one, otherwise the committed value. */
export class Overlay {
  readonly #engine: Engine
  readonly #leaves: LeafFinder
  readonly #pending = new TransientMap<string, Pending>()

  constructor(engine: Engine, leaves: LeafFinder) {
    this.#engine = engine
    this.#leaves = leaves
  }

  get(key: string): Buffer | undefined {
    const pending = this.#pending.get(key)
    return pending === undefined ? this.#engine.get(dataKey(key)) : pending.value
  }

  /** Returns true if any of the keys has a queued change, so that a read of this key returns uncommitted data. */
  hasAnyOf(keys: Iterable<string>): boolean {
    if (this.#pending.size > 0) for (const key of keys) if (this.#pending.has(key)) return true
    return false
  }

  leaf: FindLeaf = (key, tree, subPage) => {
    const pending = this.#pending.get(key)
    return pending === undefined ? this.#leaves.find(key, tree, subPage) : pending.leaf
  }

  publish(pending: readonly Pending[]): void {
    for (const one of pending) this.#pending.set(one.key, one)
  }

  /** Drops changes that were written, unless a newer change of the key is queued. */
  settle(pending: readonly Pending[]): void {
    for (const one of pending) this.#leaves.remember(one.key, one.leaf)
    this.drop(pending)
  }

  /** Drops changes, for example because their batch failed. Newer changes of the same keys stay queued. */
  drop(pending: readonly Pending[]): void {
    for (const one of pending) if (this.#pending.get(one.key) === one) this.#pending.delete(one.key)
  }

  /** Clears the cached leaves. Must be called if leaves changed on disk without a call of `settle`. */
  forgetLeaves(): void {
    this.#leaves.clear()
  }

  clear(): void {
    this.#pending.clear()
    this.#leaves.clear()
  }
}

/** The changes of one transaction. Other transactions cannot read them until they are published. */
export class WriteSet {
  readonly #overlay: Overlay
  readonly #pending = new Map<string, Pending>()
  readonly changes: Change[] = []

  constructor(overlay: Overlay) {
    this.#overlay = overlay
  }

  get pending(): readonly Pending[] {
    return [...this.#pending.values()]
  }

  /** Adds a change of a key. `read` is the value of the key before this write set, if known. It saves a leaf lookup. */
  add(key: string, value: Buffer | undefined, read?: Buffer): Change {
    const change = changeOf(key, value, (name, tree, subPage) => {
      const own = this.#pending.get(name)
      if (own !== undefined) return own.leaf
      return read === undefined ? this.#overlay.leaf(name, tree, subPage) : leafHash(key, read)
    })
    this.#pending.set(key, { key, value, leaf: change.place?.leaf })
    this.changes.push(change)
    return change
  }
}
