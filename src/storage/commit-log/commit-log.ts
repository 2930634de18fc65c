import type { LogicalError } from '../../logical/errors.js'
import type { Engine, EngineBatch } from '../engine/engine.js'

/** How the single writer of a store makes a batch durable, and whether it may write at all. */
export interface CommitLog {
  /** True when what was acknowledged is on this engine and nowhere else. */
  readonly isLocal: boolean
  /** What a write would be refused with now; undefined while this store writes. */
  readonly refusal: LogicalError | undefined
  batch(): EngineBatch
  /** Resolves when a batch of `batch()` is applied; with `isDurable` when it survives power loss. */
  commit(batch: EngineBatch, options: { readonly isDurable: boolean }): Promise<void>
  /** To be called when the engine was opened again: what failed may be on it. */
  reopened(): void
}

/** A store by itself: the batch is the log. */
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
