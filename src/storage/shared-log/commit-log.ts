import type { LogicalError } from '../../logical/errors.js'
import type { Engine, EngineBatch } from '../engine/engine.js'

/** Commits the batches of the writer of a store, and decides whether this store may write. */
export interface CommitLog {
  /** True if only this engine holds the acknowledged writes; false if other nodes have copies. */
  readonly isLocal: boolean
  /** The error that a write would get now; undefined while this store may write. */
  readonly refusal: LogicalError | undefined
  batch(): EngineBatch
  /** Commits a batch of `batch()`. With `isDurable`, resolves when the batch survives a power loss. */
  commit(batch: EngineBatch, options: { readonly isDurable: boolean }): Promise<void>
  /** Must be called after the engine is reopened, because the engine may contain a batch whose write failed. */
  reopened(): void
}

/** The commit log of a standalone store. It writes batches to the engine only. */
export class LocalCommitLog implements CommitLog {
  readonly isLocal = true
  readonly refusal = undefined
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  batch(): EngineBatch {
    return this.#engine.batch()
  }

  commit(batch: EngineBatch, options: { readonly isDurable: boolean }): Promise<void> {
    return batch.write(options)
  }

  reopened(): void {}
}
