import type { Engine, EngineSnapshot } from '../engine/engine.js'
import { categoryOf, FAMILIES } from '../keys/key-families.js'
import { chain, mutationsOf, type Staged } from '../commit/stage.js'

const REPLICATED = FAMILIES.filter(({ category }) => category === 'replicated')

/**
 * Pins reads of replicated keys to one snapshot while a resync overwrites these keys in several batches, so that
 * readers never see a half-applied transaction. Only the batch that completes the resync announces the changes. A crash
 * during the resync loses the snapshot.
 */
export class PinnedReads {
  readonly #engine: Engine
  #isWanted = false
  #snapshot: EngineSnapshot | undefined
  #unannounced: string[] = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Pins reads from the next batch of a resync on. No other batch is in flight when the snapshot is taken. */
  request(): void {
    this.#isWanted = true
  }

  /** Returns the snapshot from which a key must be read, or undefined if the current value must be read. */
  snapshotFor(key: string): EngineSnapshot | undefined {
    return this.#snapshot && categoryOf(key) === 'replicated' ? this.#snapshot : undefined
  }

  /** Returns the snapshot from which all keys below a prefix must be read, or undefined. */
  snapshotBelow(prefix: string): EngineSnapshot | undefined {
    return this.#snapshot && REPLICATED.some((row) => prefix.startsWith(row.at)) ? this.#snapshot : undefined
  }

  /**
   * Adapts a batch of a resync before it is written. Removes its announcement, except from the batch that completes the
   * resync, which announces all changes.
   */
  stage(staged: Staged): Staged {
    if (staged.state.isResyncing) return this.#stageStep(staged)
    const keys = this.#unannounced
    const { commit } = staged
    const after = () => {
      staged.after?.()
      this.release()
    }
    if (commit === undefined || keys.length === 0) return { ...staged, after }
    const mutations = chain(mutationsOf(keys), commit.mutations)
    return { ...staged, after, commit: { ...commit, mutations } }
  }

  /** Stops pinning. Reads return current values. */
  release(): void {
    const snapshot = this.#snapshot
    this.#isWanted = false
    this.#snapshot = undefined
    this.#unannounced = []
    void snapshot?.close().catch(() => undefined)
  }

  /**
   * Drops the snapshot after the engine was reopened. Reads return current values until the next batch of the resync,
   * as after a crash. Returns the keys whose values change for readers.
   */
  invalidate(): readonly string[] {
    const shown = this.#snapshot === undefined ? [] : this.#unannounced
    this.#snapshot = undefined
    return shown
  }

  #stageStep(staged: Staged): Staged {
    if (!this.#isWanted && !this.#snapshot) return staged
    this.#snapshot ??= this.#engine.snapshot()
    const { commit, ...silent } = staged
    for (const { key } of commit?.mutations ?? []) this.#unannounced.push(key)
    return silent
  }
}
