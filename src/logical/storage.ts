/**
 * Storage for backends: keys below one mount, with plaintext values (the barrier below encrypts them). Reads are synchronous
 * and see committed data.
 * A write is a synchronous function over a transaction. It reads, decides and writes in one turn of the event loop, so a
 * read-modify-write needs no lock. Its reads include its own writes and those queued before it. The promise resolves when
 * the whole transaction is durable. If the function throws, the promise rejects and nothing is written.
 */
export interface ReadStorage {
  get(key: string): Buffer | undefined
}

export interface Transaction extends ReadStorage {
  put(key: string, value: Buffer): void
  delete(key: string): void
}

export interface ListOptions {
  /** Returns only names after this one. */
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
  /** Rejects with LogicalError `read-only` if it writes a replicated key that this cluster may not write. */
  write<T>(fn: (tx: Transaction) => T): Promise<T>
}

export const readJson = <T>(storage: ReadStorage, key: string): T | undefined => {
  const value = storage.get(key)
  return value === undefined ? undefined : (JSON.parse(value.toString('utf8')) as T)
}

/** Parsed records by source buffer: an entry is collected once the storage drops the buffer. */
const records = new WeakMap<Buffer, unknown>()

/**
 * Reads a record like `readJson`, for records read far more often than written. It is parsed once for as long as the storage
 * returns the same buffer, and frozen, since all callers share it.
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
 * Writes a record for `readRecord`, which need not parse it while the storage returns the same buffer. Freezes the record.
 */
export const putRecord = (tx: Transaction, key: string, record: object): void => {
  const text = JSON.stringify(record)
  // Allocated outside the buffer pool: a pooled slice would keep its whole pool alive.
  const value = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  value.write(text)
  freezeAll(record)
  records.set(value, record)
  tx.put(key, value)
}

export const putJson = (tx: Transaction, key: string, value: unknown): void => {
  tx.put(key, Buffer.from(JSON.stringify(value)))
}

/** Yields the keys below `prefix` in pages, so that a large folder neither exhausts memory nor blocks the event loop. */
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

/** Returns a path as the prefix of what is below it: empty at the top, otherwise with a trailing slash. */
export const asFolder = (path: string): string => (path === '' || path.endsWith('/') ? path : `${path}/`)
