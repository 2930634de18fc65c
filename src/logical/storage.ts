/**
 * Storage as backends see it: keys below one mount, plain values (the barrier is beneath). Reads are synchronous and see
 * what is committed. A write is a synchronous function over a transaction: it reads (its own writes and those queued
 * before it included), decides and writes, all in one turn, so no lock is needed for read-modify-write; the promise
 * resolves when the whole of it is durable. What the function throws is thrown, and nothing is written.
 */
export interface ReadStorage {
  get(key: string): Buffer | undefined
}

export interface Transaction extends ReadStorage {
  put(key: string, value: Buffer): void
  delete(key: string): void
}

export interface ListOptions {
  /** Only names after this one. */
  after?: string
  limit?: number
}

export interface Storage extends ReadStorage {
  /** Whether the key holds anything, without reading what. */
  has(key: string): boolean
  /** The names directly below `prefix` (which ends with `/` or is empty), sorted; folders end with `/`. */
  list(prefix: string, options?: ListOptions): Promise<string[]>
  /** All keys below `prefix`, sorted, at full length. */
  keys(prefix: string, options?: ListOptions): Promise<string[]>
  /** Fails with LogicalError `read-only` where a replicated key may not be written on this cluster. */
  write<T>(fn: (tx: Transaction) => T): Promise<T>
}

/** Reads and writes one JSON record per key. */
export const readJson = <T>(storage: ReadStorage, key: string): T | undefined => {
  const value = storage.get(key)
  return value === undefined ? undefined : (JSON.parse(value.toString('utf8')) as T)
}

/** By the buffer they were read from: they go when the storage no longer remembers it. */
const records = new WeakMap<Buffer, unknown>()

/**
 * As `readJson`, for a record that is read far more often than written: it is parsed once for as long as the storage hands
 * out the same buffer, and frozen, since all who ask get the same.
 */
export const readRecord = <T>(storage: ReadStorage, key: string): T | undefined => {
  const value = storage.get(key)
  if (value === undefined) return undefined
  const known = records.get(value)
  if (known !== undefined) return known as T
  const record: unknown = JSON.parse(value.toString('utf8'))
  freezeAll(record)
  records.set(value, record)
  return record as T
}

const freezeAll = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const member of Object.values(value)) freezeAll(member)
}

/** Puts what `readRecord` reads: nobody parses it as long as the storage hands out the same buffer. Freezes the record. */
export const putRecord = (tx: Transaction, key: string, record: object): void => {
  const text = JSON.stringify(record)
  // Not cut from a larger buffer, which would stay as long as this one is remembered.
  const value = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  value.write(text)
  freezeAll(record)
  records.set(value, record)
  tx.put(key, value)
}

export const putJson = (tx: Transaction, key: string, value: unknown): void => {
  tx.put(key, Buffer.from(JSON.stringify(value)))
}
