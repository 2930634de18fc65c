import { LIMITS } from '../../base/limits.js'
import { invalid, LogicalError, readOnly } from '../../logical/errors.js'
import type { Transaction } from '../../logical/storage.js'
import { type Category, categoryOf } from '../keys/key-families.js'

/** Error text for client writes while this primary is being demoted. */
const FENCED_TEXT = 'this primary is being demoted and rejects writes, try again'

const NONE: ReadonlySet<Category> = new Set()

/** A transaction over committed and queued data. Throws `LogicalError` for keys that this cluster must not write. */
export class StoreTransaction implements Transaction {
  readonly writes = new Map<string, Buffer | undefined>()
  /** Values that the transaction read from the store. If one of them changes before the commit, `writes` is invalid. */
  readonly reads = new Map<string, Buffer | undefined>()
  readonly #read: (key: string) => Buffer | undefined
  readonly #writable: ReadonlySet<Category>
  readonly #fenced: ReadonlySet<Category>
  #bytes = 0

  constructor(
    read: (key: string) => Buffer | undefined,
    writable: ReadonlySet<Category>,
    fenced: ReadonlySet<Category> = NONE,
  ) {
    this.#read = read
    this.#writable = writable
    this.#fenced = fenced
  }

  get(key: string): Buffer | undefined {
    if (this.writes.has(key)) return this.writes.get(key)
    const found = this.#read(key)
    this.reads.set(key, found)
    return found
  }

  put(key: string, value: Buffer): void {
    this.#admit(key, value.length)
    this.writes.set(key, value)
  }

  delete(key: string): void {
    this.#admit(key, 0)
    this.writes.set(key, undefined)
  }

  #admit(key: string, valueBytes: number): void {
    const category = categoryOf(key)
    if (this.#fenced.has(category)) throw new LogicalError('unavailable', FENCED_TEXT)
    if (!this.#writable.has(category)) {
      throw readOnly()
    }
    this.#bytes += key.length + valueBytes
    if (this.#bytes > LIMITS.transactionBytesMax) throw invalid('transaction is too large')
  }
}
