import type { Engine } from './engine.js'

/**
 * Where the data of a server lies: a row of generations of which exactly one is live. A wipe is a new generation, since
 * deleting keys neither erases them nor is atomic.
 */
export interface EngineSource {
  /** Number of the live generation, from 1. */
  readonly generation: number
  readonly engine: Engine
  /**
   * Makes a new generation, lets `prepare` fill it (with durable writes), then makes it the live one and destroys the
   * old. What was built on the old engine must be stopped before. When `prepare` throws, the old generation stays.
   * A crash anywhere leaves one of the two, whole.
   */
  replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine>
  close(): Promise<void>
}
