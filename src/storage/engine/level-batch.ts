import type { Level } from 'level'
import type { EngineBatch } from './engine.js'
import { failedWrite } from './level-failure.js'

export type Native = Level<string, Buffer>

type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: string }

/** So many operations are kept here; with more of them the batch goes on in the binding, which takes them as they come. */
const FEW_OPERATIONS = 64

/** A batch of more is worth freeing at once. */
const LARGE_BYTES = 256 * 1024

/**
 * The binding frees the memory of a batch that is filled bit by bit only when the garbage collector finds it, of whose size
 * it knows nothing: a few large operations are handed over all at once, and are gone when they are written. Small ones are
 * cheaper bit by bit.
 */
export class LevelBatch implements EngineBatch {
  readonly #db: Native
  #few: Operation[] = []
  #bytes = 0
  #many: ReturnType<Native['batch']> | undefined

  constructor(db: Native) {
    this.#db = db
  }

  put(key: string, value: Buffer): void {
    this.#add({ type: 'put', key, value })
  }

  delete(key: string): void {
    this.#add({ type: 'del', key })
  }

  get length(): number {
    return this.#many?.length ?? this.#few.length
  }

  async write({ isDurable }: { readonly isDurable: boolean }): Promise<void> {
    try {
      await this.#write(isDurable)
    } catch (error) {
      throw failedWrite(error)
    }
  }

  discard(): void {
    this.#few = []
    void this.#many?.close()
  }

  #write(sync: boolean): Promise<void> {
    if (!this.#many && this.#bytes < LARGE_BYTES) this.#many = this.#spill()
    if (this.#many) return this.#many.write({ sync })
    const operations = this.#few
    this.#few = []
    return this.#db.batch(operations, { sync })
  }

  #add(operation: Operation): void {
    if (!this.#many && this.#few.length < FEW_OPERATIONS) {
      this.#few.push(operation)
      this.#bytes += operation.type === 'put' ? operation.value.length : 0
      return
    }
    this.#many ??= this.#spill()
    addTo(this.#many, operation)
  }

  #spill(): ReturnType<Native['batch']> {
    const batch = this.#db.batch()
    for (const operation of this.#few) addTo(batch, operation)
    this.#few = []
    return batch
  }
}

const addTo = (batch: ReturnType<Native['batch']>, operation: Operation): void => {
  if (operation.type === 'put') batch.put(operation.key, operation.value)
  else batch.del(operation.key)
}
