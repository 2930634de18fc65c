import type { EngineBatch } from './engine.js'
import type { LargeValues, LargeValue } from './large-values.js'
import { failedDisk, NothingWritten } from './level-failure.js'
import type { RecentValues } from './recent-values.js'
import type { Native } from './level-native.js'
import { LEAF_PREFIX } from '../keys/raw-keys.js'

type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: string }

/** Number of operations that `LevelBatch` collects itself. Further operations go into a batch of the binding. */
const FEW_OPERATIONS = 64

/** Batches with few operations and at least this many bytes are passed to the binding in one call. */
const AT_ONCE_BYTES_MIN = 256 * 1024

/**
 * A batch of LevelDB operations. The binding frees the memory of an incrementally filled batch only on garbage
 * collection, and the garbage collector does not know the size of this memory. A few large operations are therefore
 * passed in one call, which frees their memory after the write. Many small operations are cheaper one by one.
 */
export class LevelBatch implements EngineBatch {
  readonly #db: Native
  readonly #largeValues: LargeValues
  readonly #recent: RecentValues
  /** The changed keys, for the caches. Leaf keys are left out, because leaves are small and not cached. */
  readonly #keys: string[] = []
  readonly #large = new Map<string, LargeValue>()
  #few: Operation[] = []
  #bytes = 0
  #many: ReturnType<Native['batch']> | undefined

  constructor(db: Native, largeValues: LargeValues, recent: RecentValues) {
    this.#db = db
    this.#largeValues = largeValues
    this.#recent = recent
  }

  put(key: string, value: Buffer): void {
    if (this.#largeValues.takes(value)) this.#putLarge(key, value)
    else this.#put(key, value)
  }

  delete(key: string): void {
    this.#forget(key)
    this.#add({ type: 'del', key })
  }

  get length(): number {
    return this.#many?.length ?? this.#few.length
  }

  async write({ isDurable }: { readonly isDurable: boolean }): Promise<void> {
    await this.#writeLarge()
    const ended = this.#recent.begin(this.#keys)
    try {
      await this.#write(isDurable)
    } catch (error) {
      throw failedDisk(error)
    } finally {
      ended()
    }
    this.#largeValues.note(this.#keys, this.#large, isDurable)
  }

  discard(): void {
    this.#few = []
    this.#large.clear()
    void this.#many?.close()
  }

  async #writeLarge(): Promise<void> {
    if (this.#large.size === 0) return
    try {
      await this.#largeValues.write(this.#large)
    } catch (error) {
      this.discard()
      throw new NothingWritten(error)
    }
  }

  #write(sync: boolean): Promise<void> {
    if (!this.#many && this.#bytes < AT_ONCE_BYTES_MIN) this.#many = this.#spill()
    if (this.#many) return this.#many.write({ sync })
    const operations = this.#few
    this.#few = []
    return this.#db.batch(operations, { sync })
  }

  #put(key: string, value: Buffer): void {
    this.#forget(key)
    this.#add({ type: 'put', key, value })
  }

  #putLarge(key: string, value: Buffer): void {
    const { placed, reference } = this.#largeValues.place(value)
    this.#put(key, reference)
    this.#large.set(key, placed)
  }

  /** Drops an earlier large value of this batch for the same key. */
  #forget(key: string): void {
    if (this.#large.size > 0) this.#large.delete(key)
  }

  #add(operation: Operation): void {
    if (!operation.key.startsWith(LEAF_PREFIX)) this.#keys.push(operation.key)
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
