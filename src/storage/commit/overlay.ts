import { TransientMap } from '../../base/transient-map.js'
import { type Change, changeOf, type FindLeaf } from '../trees/change.js'
import type { Engine } from '../engine/engine.js'
import { leafHash } from '../trees/leaf.js'
import type { LeafFinder } from '../trees/leaf-finder.js'
import { dataKey } from '../keys/raw-keys.js'

/** A key's value that is queued or being written. */
export interface Pending {
  readonly key: string
  readonly value: Buffer | undefined
  readonly leaf: Buffer | undefined
}

/** The data as transactions see it: committed values overlaid with queued ones. */
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

  /** Returns true if a queued value exists for any of the keys: a transaction may then read uncommitted data. */
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

  /** Drops values that are durable, unless a newer value is queued. */
  settle(pending: readonly Pending[]): void {
    for (const one of pending) this.#leaves.remember(one.key, one.leaf)
    this.drop(pending)
  }

  /** Drops values that failed to become durable. */
  drop(pending: readonly Pending[]): void {
    for (const one of pending) if (this.#pending.get(one.key) === one) this.#pending.delete(one.key)
  }

  /** Clears the cached leaves. Needed when leaves changed without an announcement. */
  forgetLeaves(): void {
    this.#leaves.clear()
  }

  clear(): void {
    this.#pending.clear()
    this.#leaves.clear()
  }
}

/** Pending changes of one transaction, visible only to it until they are published. */
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

  /** Adds a change. `read`: the key's value before all changes of this set, if known; this saves a leaf look-up. */
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
