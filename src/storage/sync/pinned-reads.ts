import type { Engine, EngineSnapshot } from '../engine/engine.js'
import { categoryOf, FAMILIES } from '../keys/key-families.js'
import { chain, mutationsOf, type Staged } from '../commit/stage.js'

const REPLICATED = FAMILIES.filter(({ category }) => category === 'replicated')

/**
 * Keeps what is read of replicated keys at one moment while a resync writes over them in several batches: readers see all
 * of it or nothing, never a transaction whose other half is still on its way. Nobody is told of the keys meanwhile; the
 * batch that completes the resync announces them all. After a crash in between there is no such moment to go back to.
 */
export class PinnedReads {
  readonly #engine: Engine
  #isWanted = false
  #snapshot: EngineSnapshot | undefined
  #unannounced: string[] = []

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** From the next batch of a resync on. It takes its own moment, when no other batch is on its way. */
  want(): void {
    this.#isWanted = true
  }

  /** Where a key is to be read; undefined: as it is now. */
  snapshotFor(key: string): EngineSnapshot | undefined {
    return this.#snapshot && categoryOf(key) === 'replicated' ? this.#snapshot : undefined
  }

  /** The snapshot for all keys below a prefix. */
  snapshotBelow(prefix: string): EngineSnapshot | undefined {
    return this.#snapshot && REPLICATED.some((row) => prefix.startsWith(row.at)) ? this.#snapshot : undefined
  }

  /** A batch of a resync, just before it is written. */
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

  /** Reads show everything as it is now. */
  release(): void {
    const snapshot = this.#snapshot
    this.#isWanted = false
    this.#snapshot = undefined
    this.#unannounced = []
    void snapshot?.close().catch(() => undefined)
  }

  /** The engine was opened again, and its snapshots are lost: as after a crash, until the resync goes on. Returns what shows by that. */
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
