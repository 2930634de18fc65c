import type { Engine, EngineSnapshot } from '../engine/engine.js'
import { categoryOf, FAMILIES } from '../keys/key-families.js'
import { chain, mutationsOf, type Staged } from '../commit/stage.js'

const REPLICATED = FAMILIES.filter(({ category }) => category === 'replicated')

/**
 * Pins reads of replicated keys to one snapshot while a resync overwrites these keys in several batches, so that readers
 * never see half a transaction. Only the batch that completes the resync announces the changes. A crash during the
 * resync loses the snapshot.
 */
export class PinnedReads {
  readonly #engine: Engine
  #isWanted = false
  #snapshot: EngineSnapshot | undefined
  #unannounced: string[] = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Starts pinning with the next batch of a resync. The snapshot is taken when no other batch is in flight. */
  want(): void {
    this.#isWanted = true
  }

  /** Returns the snapshot from which to read a key; undefined to read the current value. */
  snapshotFor(key: string): EngineSnapshot | undefined {
    return this.#snapshot && categoryOf(key) === 'replicated' ? this.#snapshot : undefined
  }

  /** Returns the snapshot for all keys below a prefix. */
  snapshotBelow(prefix: string): EngineSnapshot | undefined {
    return this.#snapshot && REPLICATED.some((row) => prefix.startsWith(row.at)) ? this.#snapshot : undefined
  }

  /** Records a batch of a resync just before it is written. */
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

  /** Ends pinning: reads return current values. */
  release(): void {
    const snapshot = this.#snapshot
    this.#isWanted = false
    this.#snapshot = undefined
    this.#unannounced = []
    void snapshot?.close().catch(() => undefined)
  }

  /**
   * Drops the snapshot after the engine is reopened. As after a crash, reads return current values until the resync
   * continues. Returns the keys whose read values change as a result.
   */
  lose(): readonly string[] {
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
