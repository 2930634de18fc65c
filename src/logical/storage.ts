/**
 * Storage for backends: the keys below one mount, with plaintext values, which the barrier encrypts. Reads are
 * synchronous and see committed data. A write is a synchronous function over a transaction. It reads, decides and
 * writes in one turn of the event loop, so a read-modify-write needs no lock. Its reads see its own writes and all
 * writes queued before it. The promise resolves when the whole transaction is durable. If the function throws, the
 * promise rejects and nothing is written.
 */
export interface ReadStorage {
  get(key: string): Buffer | undefined
}

export interface Transaction extends ReadStorage {
  put(key: string, value: Buffer): void
  delete(key: string): void
}

export interface ListOptions {
  /** If set, only names after this name are returned. */
  after?: string
  limit?: number
}

export interface Storage extends ReadStorage {
  /** Returns whether the key exists, without reading its value. */
  has(key: string): boolean
  /** Returns the names directly below `prefix` (which ends with `/` or is empty), sorted. Folders end with `/`. */
  list(prefix: string, options?: ListOptions): Promise<string[]>
  /** Returns all full keys below `prefix`, sorted. */
  keys(prefix: string, options?: ListOptions): Promise<string[]>
  /**
   * Runs a transaction. Rejects with LogicalError `read-only` if it writes a replicated key that this cluster may not
   * write.
   */
  write<T>(fn: (tx: Transaction) => T): Promise<T>
}

export const readJson = <T>(storage: ReadStorage, key: string): T | undefined => {
  const value = storage.get(key)
  return value === undefined ? undefined : (JSON.parse(value.toString('utf8')) as T)
}

/**
 * Parsed records by the buffer they were parsed from. The garbage collector removes an entry when the storage drops the
 * buffer.
 */
const records = new WeakMap<Buffer, unknown>()

/**
 * Reads a record like `readJson`, for records that are read far more often than written. Parses the record only once
 * while the storage returns the same buffer. Freezes the record, because all callers share it.
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

/**
 * Writes a record for `readRecord`, which does not parse it while the storage returns the same buffer. Freezes the
 * record.
 */
export const putRecord = (tx: Transaction, key: string, record: object): void => {
  const text = JSON.stringify(record)
  // Allocates outside the buffer pool, because a slice of a pool keeps the whole pool in memory.
  const value = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  value.write(text)
  freezeAll(record)
  records.set(value, record)
  tx.put(key, value)
}

export const putJson = (tx: Transaction, key: string, value: unknown): void => {
  tx.put(key, Buffer.from(JSON.stringify(value)))
}

/**
 * Yields the keys below `prefix` in pages, so that a large folder neither exhausts memory nor blocks the event loop.
 */
export async function* pagesOf(storage: Storage, prefix: string, limit = 256): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const keys = await storage.keys(prefix, { after, limit })
    if (keys.length > 0) yield keys
    if (keys.length < limit) return
    after = keys.at(-1)?.slice(prefix.length) ?? ''
  }
}

/** Deletes keys in one transaction. */
export const deleteKeys = (storage: Storage, keys: readonly string[]): Promise<void> =>
  storage.write((tx) => {
    for (const key of keys) tx.delete(key)
  })

/**
 * Returns the key prefix of the folder at a path: the path with a trailing slash, or the empty string for an empty
 * path.
 */
export const asFolder = (path: string): string => (path === '' || path.endsWith('/') ? path : `${path}/`)
