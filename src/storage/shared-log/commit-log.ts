import type { LogicalError } from '../../logical/errors.js'
import type { Engine, EngineBatch } from '../engine/engine.js'

/** Makes the batches of a store's single writer durable, and decides whether the store can write. */
export interface CommitLog {
  /** True if acknowledged writes exist on this engine only. */
  readonly isLocal: boolean
  /** The error with which a write would fail now; undefined while this store is the writer. */
  readonly refusal: LogicalError | undefined
  batch(): EngineBatch
  /** Resolves when a batch of `batch()` is applied, or with `isDurable` when it survives a power loss. */
  commit(batch: EngineBatch, options: { readonly isDurable: boolean }): Promise<void>
  /** Must be called after the engine is reopened: the engine may have applied a batch whose write failed. */
  reopened(): void
}

/** The commit log of a standalone store: the batch itself is the log. */
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
