import { nextTurn } from '../../base/turn.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import type { Successor } from '../engine/engine-source.js'
import { readState } from '../commit/load.js'
import { WAL_PREFIX, walIndexOf } from '../keys/raw-keys.js'

/** Bounds of one batch: small enough that writes of the live generation do not wait long for the disk. */
const BATCH_BYTES = 1024 * 1024
const BATCH_KEYS = 512
/** Keys written meanwhile are remembered up to about here before they are copied again. */
const WRITTEN_MAX = 8192
/** At most so many keys are left to the pause in which nothing can be written. */
const LEFT_MAX = 256
/** Writers that outrun the copy are made to wait in the end. */
const ROUNDS_MAX = 12
/** No key is empty. */
const BEFORE_ALL = ''

interface LiveCopyOptions {
  readonly from: Engine
  readonly to: Successor
  /** Records that do not go along, beside the log in front of its cut, which never does. */
  readonly isLeftOut: (rawKey: string) => boolean
  /** Asked before each batch; what it throws ends the copy. */
  readonly check: () => void
}

/**
 * Copies the live generation to a successor while it is being read and written: first everything as it is at some
 * moment, then, until few are left, whatever was written since, and the rest while nothing is being written.
 */
export class LiveCopy {
  readonly #options: LiveCopyOptions
  readonly #base: number
  #batch: EngineBatch
  #bytes = 0

  /** The successor must follow the live generation already. */
  constructor(options: LiveCopyOptions) {
    this.#options = options
    this.#base = readState(options.from)?.base.index ?? 0
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

  /** Called while nothing is being written: afterwards the successor has everything. */
  async finish(): Promise<void> {
    await this.#copyWritten()
    const { engine } = this.#options.to
    const state = readState(engine)
    if (state) engine.acknowledge({ revision: state.revision, index: state.last.index })
  }

  /**
   * Up to the end, or to where too many keys were written meanwhile, and resolves to the last key then: what is taken over
   * of those must not be followed by what the scan still has of an earlier moment, so another one begins behind it.
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

  /** Takes over what these keys hold now. One that is written once more meanwhile is among the next to be taken. */
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

  #goesAlong(key: string): boolean {
    if (this.#options.isLeftOut(key)) return false
    return !key.startsWith(WAL_PREFIX) || walIndexOf(key) > this.#base
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
