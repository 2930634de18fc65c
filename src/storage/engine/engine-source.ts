import type { Engine } from './engine.js'

/**
 * The storage location of a server: a sequence of generations, exactly one of them live. A wipe creates a new
 * generation, because deleting keys is not atomic and does not erase data from disk.
 */
export interface EngineSource {
  /** Number of the live generation, from 1. */
  readonly generation: number
  readonly engine: Engine
  /** True if the data was not closed cleanly before it was opened here, so it is not fully verified. */
  readonly isUnchecked?: boolean
  /**
   * Creates a new generation, fills it with `prepare` (durable writes), makes it live and destroys the old one.
   * Everything that uses the old engine must be stopped first. If `prepare` throws, the old generation stays live. A
   * crash leaves one of the two generations, complete.
   */
  replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine>
  /**
   * Begins a generation that will replace the live generation, which stays in use. Only one such generation can exist at
   * a time, until `takeOver` or `abandon` is called.
   */
  begin(): Promise<Successor>
  close(): Promise<void>
  /**
   * From now on, leaves everything on disk unchanged, as after the death of the process. `close` then writes no seal. A
   * pending replacement is neither completed nor undone.
   */
  die(): void
}

/** A generation that is being prepared beside the live one. A crash leaves one of the two, complete. */
export interface Successor {
  /** The engine to fill with durable writes. */
  readonly engine: Engine
  /** Starts recording the keys that are written in the live generation. Must be called while no batch is written. */
  follow(): void
  readonly writtenCount: number
  /** Returns the keys that were written, or may have been written, since the last call. */
  takeWritten(): ReadonlySet<string>
  /** Throws if the remaining disk space is too low for the live generation to continue safely. */
  requireRoom(): Promise<void>
  /**
   * Makes this generation live: the engine in use switches to it. Must be called while no batch is written. If it
   * rejects, the old generation stays live, and the caller must abandon this generation.
   */
  takeOver(): Promise<Predecessor>
  /** Removes the generation. */
  abandon(): Promise<void>
}

/** The previously live generation. Open snapshots and scans can read it until it is destroyed. */
export interface Predecessor {
  /** Resolves when all snapshots and scans of this generation are closed. */
  unread(): Promise<void>
  /** Closes and removes the generation. Can be retried if it rejects. */
  destroy(): Promise<void>
}
