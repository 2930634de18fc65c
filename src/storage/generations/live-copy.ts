import { nextTurn } from '../../base/turn.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import type { Successor } from '../engine/engine-source.js'
import { readState } from '../commit/load.js'
import { APPLIED_KEY, WAL_PREFIX, walIndexOf } from '../keys/raw-keys.js'

/** Maximum bytes of one batch. Small enough that writes of the live generation do not wait long for the disk. */
const BATCH_BYTES = 1024 * 1024
const BATCH_KEYS = 512
/** Approximate maximum of recorded keys before they are copied again. */
const WRITTEN_MAX = 8192
/** `catchUp` stops if at most this many written keys remain. `finish` copies them while writes are blocked. */
const LEFT_MAX = 256
/** After this many rounds, writers must wait, because they outpace the copy. */
const ROUNDS_MAX = 12
/** Start of a full scan. It is less than every key, because no key is empty. */
const BEFORE_ALL = ''

interface LiveCopyOptions {
  readonly from: Engine
  readonly to: Successor
  /** Returns true for records that are not copied. The log before its cut is never copied. */
  readonly isLeftOut: (rawKey: string) => boolean
  /** Called before each batch. An error from it aborts the copy. */
  readonly check: () => void
}

/**
 * Copies the live generation to a successor while the live generation is in use. Copies a snapshot first, then several
 * times the keys that were written in the meantime, until few are left. Copies the rest while no batch is written.
 */
export class LiveCopy {
  readonly #options: LiveCopyOptions
  readonly #goesAlong: (rawKey: string) => boolean
  #batch: EngineBatch
  #bytes = 0

  /** The successor must already record the written keys of the live generation. */
  constructor(options: LiveCopyOptions) {
    this.#options = options
    this.#goesAlong = goesAlongWith(options.from, options.isLeftOut)
    this.#batch = options.to.engine.batch()
  }

  async copyAll(): Promise<void> {
    let last: string | undefined = BEFORE_ALL
    while (last !== undefined) {
      last = await this.#copyBehind(last)
      await this.#flush()
      if (last !== undefined) await this.#copyWritten()
    }
  }

  async catchUp(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && this.#options.to.writtenCount > LEFT_MAX; round++) {
      await this.#copyWritten()
    }
  }

  /** Copies the rest. Must be called while no batch is written; afterwards the successor is complete. */
  async finish(): Promise<void> {
    await this.#copyWritten()
    const { engine } = this.#options.to
    const state = readState(engine)
    if (state) engine.acknowledge({ revision: state.revision, index: state.last.index })
  }

  /**
   * Copies a snapshot from `last` on, up to the end or until too many keys were written in the meantime. In the second
   * case, resolves to the last copied key. The caller then copies the written keys and starts a new scan after this key,
   * because the old scan would overwrite the written keys with older values.
   */
  async #copyBehind(last: string): Promise<string | undefined> {
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
    await to.requireRoom()
    await this.#batch.write({ isDurable: true })
    this.#batch = to.engine.batch()
    this.#bytes = 0
    await nextTurn()
  }
}

/** Returns whether a record is copied: not the log before its cut, and not what `isLeftOut` selects. */
const goesAlongWith = (from: Engine, isLeftOut: (rawKey: string) => boolean) => {
  const base = readState(from)?.base.index ?? 0
  return (key: string): boolean => !isLeftOut(key) && !(key.startsWith(WAL_PREFIX) && walIndexOf(key) <= base)
}

/**
 * Copies the data of a store that is not in use, without the log before its cut and without the records that
 * `isLeftOut` selects.
 */
export const copyRest = async (from: Engine, to: Engine, isLeftOut: (rawKey: string) => boolean): Promise<void> => {
  const goesAlong = goesAlongWith(from, (key) => key === APPLIED_KEY || isLeftOut(key))
  for await (const chunk of from.scan({}, { chunkBytes: BATCH_BYTES })) {
    const batch = to.batch()
    for (const { key, value } of chunk) if (goesAlong(key)) batch.put(key, value)
    await batch.write({ isDurable: true })
  }
}
