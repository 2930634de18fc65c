import type { EngineBatch } from '../engine/engine.js'
import { LeadershipLost, LogRefused, NotApplied, OutcomeUnknown } from '../shared-log/shared-log.js'
import { NothingWritten } from '../engine/level-failure.js'
import type { QueuedUnit } from './commit-queue.js'
import type { Pending } from './overlay.js'
import type { LoggedUnit, StageFunction } from './stage.js'

/**
 * A write that is committed alone. `stage` adds operations to the batch and returns the changes, or undefined if there
 * is nothing to write.
 */
interface Task extends QueuedUnit {
  readonly joins: undefined
  readonly pending: readonly Pending[]
  readonly stage: StageFunction
  /** A batch with earlier operations. If undefined, `stage` gets an empty batch. */
  readonly batch: EngineBatch | undefined
  resolve(): void
}

/** Work that runs between two batches, because no batch may be written during this work. */
interface Pause extends QueuedUnit {
  readonly joins: undefined
  readonly pending: readonly []
  readonly work: () => Promise<void>
}

export type Write = LoggedUnit | Task
export type Unit = Write | Pause

export const isPause = (unit: Unit): unit is Pause => 'work' in unit
export const isWrite = (unit: Unit): unit is Write => !isPause(unit)

export const bytesOf = (units: readonly Write[]): number => units.reduce((sum, { bytes }) => sum + bytes, 0)

export const findBatch = (unit: Write | undefined): EngineBatch | undefined =>
  unit && !isLogged(unit) ? unit.batch : undefined

export const isLogged = (unit: Unit): unit is LoggedUnit => unit.joins !== undefined

/** Returns true if a batch failed with this error before it reached the engine. */
export const isUntouched = (error: unknown): boolean =>
  !(error instanceof NotApplied) &&
  [NothingWritten, LeadershipLost, OutcomeUnknown, LogRefused].some((kind) => error instanceof kind)
