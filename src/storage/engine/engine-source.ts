import type { Engine } from './engine.js'

/**
 * Where the data of a server lies: a row of generations of which exactly one is live. A wipe is a new generation, since
 * deleting keys neither erases them nor is atomic.
 */
export interface EngineSource {
  /** Number of the live generation, from 1. */
  readonly generation: number
  readonly engine: Engine
  /** True when the data was not closed in order before it was opened here, so that nothing vouches for all of it. */
  readonly isUnchecked?: boolean
  /**
   * Makes a new generation, lets `prepare` fill it (with durable writes), then makes it the live one and destroys the
   * old. What was built on the old engine must be stopped before. When `prepare` throws, the old generation stays.
   * A crash anywhere leaves one of the two, whole.
   */
  replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine>
  /** Begins a generation that takes over while the live one is in use. One at a time; it ends with either of its ends. */
  begin(): Promise<Successor>
  close(): Promise<void>
  /**
   * From now on everything stays on the disk as it is, as when the process dies: closing seals nothing, and a replacement
   * that is under way is neither finished nor undone.
   */
  die(): void
}

/** A generation in the making beside the live one. A crash leaves one of the two, whole. */
export interface Successor {
  /** To be filled with durable writes. */
  readonly engine: Engine
  /** From now on it is remembered which keys are written in the live generation. Called while nothing is being written. */
  follow(): void
  readonly writtenCount: number
  /** Keys that were written, or may have been, since the last call. */
  takeWritten(): ReadonlySet<string>
  /** Throws while so little room is left that the live generation might soon have none. */
  requireRoom(): Promise<void>
  /**
   * Makes it the live one, behind the engine that is in use. Called while nothing is being written. When it rejects, the
   * old generation is live, and this one is to be abandoned.
   */
  takeOver(): Promise<Predecessor>
  /** Removes it. */
  abandon(): Promise<void>
}

/** The generation that was live before. What was opened on it can be read until it is destroyed. */
export interface Predecessor {
  /** Resolves when nothing opened on it is open any more. */
  unread(): Promise<void>
  /** Closes and removes it; may be called again when it rejects. */
  destroy(): Promise<void>
}
