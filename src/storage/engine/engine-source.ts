import type { Engine } from './engine.js'

/**
 * The storage location of a server: a sequence of generations, exactly one of them live. A wipe creates a new
 * generation, because deleting keys is not atomic and does not erase data from disk.
 */
export interface EngineSource {
  /** Number of the live generation, from 1. */
  readonly generation: number
  readonly engine: Engine
  /** True if the data was opened after an unclean stop, so that it is not fully verified. */
  readonly isUnchecked?: boolean
  /**
   * Creates a new generation, fills it with `prepare` (durable writes), makes it live and destroys the old generation.
   * The caller must first stop everything that uses the old engine. If `prepare` throws, the old generation stays live.
   * After a crash, either the old or the new generation is live and complete.
   */
  replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine>
  /**
   * Begins a generation that will replace the live generation, which stays in use. Only one such generation can exist
   * at a time, until `takeOver` or `abandon` is called.
   */
  begin(): Promise<Successor>
  close(): Promise<void>
  /**
   * Simulates the death of the process: from now on, all files on disk stay unchanged. `close` then writes no seal. A
   * pending replacement is neither completed nor undone.
   */
  die(): void
}

/** A new generation that is filled while the old one stays live. After a crash, one of the two is live and complete. */
export interface Successor {
  /** The engine to fill with durable writes. */
  readonly engine: Engine
  /** Starts to record the keys that are written in the live generation. Must be called while no batch is written. */
  follow(): void
  /** Number of recorded keys. */
  readonly writtenCount: number
  /** Returns the keys that were written, or may have been written, since the last call. */
  takeWritten(): ReadonlySet<string>
  /** Rejects if the copy would leave too little free disk space for the live generation. */
  requireFreeSpace(): Promise<void>
  /**
   * Makes this generation live, and switches the engine in use to it. Must be called while no batch is written. If the
   * call rejects, the old generation stays live, and the caller must call `abandon`.
   */
  takeOver(): Promise<Predecessor>
  /** Stops the recording and removes this generation. */
  abandon(): Promise<void>
}

/** The previously live generation. Open snapshots and scans can read it until it is destroyed. */
export interface Predecessor {
  /** Resolves when all snapshots and scans of this generation are closed. */
  unread(): Promise<void>
  /** Closes and removes this generation. If the call rejects, it can be repeated. */
  destroy(): Promise<void>
}
