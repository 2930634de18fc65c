import { nextTurn } from '../../base/turn.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import type { Successor } from '../engine/engine-source.js'
import { readState } from '../commit/load.js'
import { APPLIED_KEY, WAL_PREFIX, walIndexOf } from '../keys/raw-keys.js'

/** Approximate maximum bytes of one batch. It is small, so that writes of the live generation wait only briefly. */
const BATCH_BYTES = 1024 * 1024
const BATCH_KEYS = 512
/** If at least this many recorded keys wait, the scan is interrupted and these keys are copied. */
const WRITTEN_MAX = 8192
/** `catchUp` stops if at most this many written keys remain. `finish` copies them while writes are blocked. */
const LEFT_MAX = 256
/** Maximum rounds of `catchUp`. If more keys remain, clients write faster than the copy, and `finish` blocks them. */
const ROUNDS_MAX = 12
/** Start of a full scan. The empty string is less than every key. */
const BEFORE_ALL = ''

interface LiveCopyOptions {
  readonly from: Engine
  readonly to: Successor
  /** Returns true for records that are not copied. Frames before the start of the log are never copied either. */
  readonly isLeftOut: (rawKey: string) => boolean
  /** Called before each batch. An error from it aborts the copy. */
  readonly check: () => void
}

/**
 * Copies the live generation to a successor while the live generation is in use. `copyAll` copies all records.
 * `catchUp` repeatedly copies the keys that were written in the meantime, until few are left. `finish` copies these
 * while no batch is written.
 */
export class LiveCopy {
  readonly #options: LiveCopyOptions
  readonly #goesAlong: (rawKey: string) => boolean
  #batch: EngineBatch
  #bytes = 0

  /** Prepares a copy. `follow` must already have been called on the successor. */
  constructor(options: LiveCopyOptions) {
    this.#options = options
    this.#goesAlong = goesAlongWith(options.from, options.isLeftOut)
    this.#batch = options.to.engine.batch()
  }

  async copyAll(): Promise<void> {
    let last: string | undefined = BEFORE_ALL
    while (last !== undefined) {
      last = await this.#copyAfter(last)
      await this.#flush()
      if (last !== undefined) await this.#copyWritten()
    }
  }

  async catchUp(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && this.#options.to.writtenCount > LEFT_MAX; round++) {
      await this.#copyWritten()
    }
  }

  /** Copies the remaining keys. Must be called while no batch is written. The successor is then complete. */
  async finish(): Promise<void> {
    await this.#copyWritten()
    const { engine } = this.#options.to
    const state = readState(engine)
    if (state) engine.acknowledge({ revision: state.revision, index: state.last.index })
  }

  /**
   * Copies the records after the key `last`. Stops at the end, or when too many keys were written in the meantime. In
   * the second case, resolves to the last copied key. The caller then copies the written keys and starts a new scan
   * after this key, because the old scan would overwrite the written keys with older values.
   */
  async #copyAfter(last: string): Promise<string | undefined> {
    const { from, to } = this.#options
    for await (const chunk of from.scan({ gt: last }, { chunkBytes: BATCH_BYTES })) {
      for (const { key, value } of chunk) {
        this.#put(key, value)
        if (this.#isFull) await this.#flush()
      }
      await nextTurn()
      if (to.writtenCount >= WRITTEN_MAX) return chunk.at(-1)?.key
    }
    return undefined
  }

  /** Copies the current values of the recorded keys. A key that is written again during the copy is recorded again. */
  async #copyWritten(): Promise<void> {
    const { from, to } = this.#options
    for (const key of to.takeWritten()) {
      const value = from.get(key)
      if (value !== undefined) this.#put(key, value)
      else if (this.#goesAlong(key)) this.#batch.delete(key)
      if (this.#isFull) await this.#flush()
    }
    await this.#flush()
  }

  #put(key: string, value: Buffer): void {
    if (!this.#goesAlong(key)) return
    this.#batch.put(key, value)
    this.#bytes += key.length + value.length
  }

  get #isFull(): boolean {
    return this.#bytes >= BATCH_BYTES || this.#batch.length >= BATCH_KEYS
  }

  async #flush(): Promise<void> {
    const { to, check } = this.#options
    check()
    if (this.#batch.length === 0) return
    await to.requireFreeSpace()
    await this.#batch.write({ isDurable: true })
    this.#batch = to.engine.batch()
    this.#bytes = 0
    await nextTurn()
  }
}

/** Returns a function that selects the records to copy. Leaves out frames before the log's start, and `isLeftOut`. */
const goesAlongWith = (from: Engine, isLeftOut: (rawKey: string) => boolean) => {
  const base = readState(from)?.base.index ?? 0
  return (key: string): boolean => !isLeftOut(key) && !(key.startsWith(WAL_PREFIX) && walIndexOf(key) <= base)
}

/**
 * Copies the records of a store that is not in use. Leaves out frames before the start of the log, the applied position
 * of the shared log, and the records that `isLeftOut` selects.
 */
export const copyRest = async (from: Engine, to: Engine, isLeftOut: (rawKey: string) => boolean): Promise<void> => {
  const goesAlong = goesAlongWith(from, (key) => key === APPLIED_KEY || isLeftOut(key))
  for await (const chunk of from.scan({}, { chunkBytes: BATCH_BYTES })) {
    const batch = to.batch()
    for (const { key, value } of chunk) if (goesAlong(key)) batch.put(key, value)
    await batch.write({ isDurable: true })
  }
}
