import { LogicalError, readOnly } from '../../logical/errors.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import { putApplied, putOperations, readApplied } from './applied.js'
import type { CommitLog } from './commit-log.js'
import { encodeBatch, positionOf, previousHashOf, type RawOperation } from './raw-batch.js'
import { NothingWritten } from '../engine/level-failure.js'
import {
  ImageNeeded,
  type Leadership,
  LeadershipLost,
  type LogEntry,
  type LogPosition,
  NotApplied,
  OutcomeUnknown,
} from './shared-log.js'

/**
 * Commit log of a store that is one of several copies. The leader appends a batch to the shared log, then applies it to
 * its engine without a sync, because the log is durable. Other nodes apply the same entries in the same order.
 */
export class SharedCommitLog implements CommitLog {
  readonly isLocal = false
  readonly #engine: Engine
  #applied: LogPosition
  #leadership: Leadership | undefined

  /** Opens the log for an engine that is empty or contains a consistent copy of the cluster's data (see `copy.ts`). */
  constructor(engine: Engine) {
    this.#engine = engine
    this.#applied = readApplied(engine)
  }

  get applied(): LogPosition {
    return this.#applied
  }

  get refusal(): LogicalError | undefined {
    if (!this.#leadership) return readOnly()
    return this.#leadership.isOver ? new LeadershipLost() : undefined
  }

  /** Makes this store the writer. Throws `ImageNeeded` if the store has not applied all entries of the log. */
  lead(leadership: Leadership): void {
    const { index, hash } = leadership.end
    if (this.#applied.index !== index || !this.#applied.hash.equals(hash)) {
      throw new ImageNeeded(`this node has applied entry ${this.#applied.index}, but the log ends at entry ${index}`)
    }
    this.#leadership = leadership
  }

  batch(): EngineBatch {
    return new RecordedBatch()
  }

  /**
   * Commits a batch. After `NotApplied`, the engine may have applied the batch. After other errors, such as
   * `LeadershipLost` or `OutcomeUnknown`, the engine is unchanged.
   */
  async commit(batch: EngineBatch): Promise<void> {
    const leadership = this.#leadership
    if (!leadership || leadership.isOver) throw new LeadershipLost()
    if (!(batch instanceof RecordedBatch)) throw new Error('the batch belongs to another log')
    const { operations } = batch
    const entry = { index: this.#applied.index + 1, bytes: encodeBatch(this.#applied.hash, operations) }
    await leadership.append(entry.index, entry.bytes)
    try {
      await this.#write(operations, positionOf(entry))
    } catch (error) {
      // The log contains the entry, so other nodes can continue. This node gives up the leadership, because it lacks
      // the entry.
      this.#leadership = undefined
      void leadership.resign()
      throw error instanceof NothingWritten ? new OutcomeUnknown(error) : new NotApplied(error)
    }
  }

  /** Applies an entry that another node wrote. Rejects with `LogicalError` if the entry is not the next one. */
  async apply(entry: LogEntry, operations: readonly RawOperation[]): Promise<void> {
    const { index, hash } = this.#applied
    if (entry.index !== index + 1 || !previousHashOf(entry.bytes).equals(hash)) {
      throw new LogicalError('internal', `entry ${entry.index} of the shared log does not follow entry ${index}`)
    }
    await this.#write(operations, positionOf(entry))
  }

  reopened(): void {
    this.#applied = readApplied(this.#engine)
  }

  async #write(operations: readonly RawOperation[], applied: LogPosition): Promise<void> {
    const batch = this.#engine.batch()
    putOperations(batch, operations)
    putApplied(batch, applied)
    await batch.write({ isDurable: false })
    this.#applied = applied
  }
}

/** Records the operations of a batch. The engine applies them after they are in the log. */
class RecordedBatch implements EngineBatch {
  readonly operations: RawOperation[] = []

  put(key: string, value: Buffer): void {
    this.operations.push({ key, value })
  }

  delete(key: string): void {
    this.operations.push({ key, value: undefined })
  }

  get length(): number {
    return this.operations.length
  }

  async write(): Promise<void> {
    throw new Error('a batch of a shared log cannot be written directly')
  }

  discard(): void {
    this.operations.length = 0
  }
}
