import type { ListOptions, Storage, Transaction } from '../../src/logical/storage.js'

/**
 * A Storage over a Map with the timing of the real one. The function of a write runs at once, and sees earlier queued
 * writes. Other reads see a write only after its promise has resolved.
 */
export class MemoryStorage implements Storage {
  readonly #committed = new Map<string, Buffer>()
  /** The last uncommitted write of each key. Each write has its own object, because deletions have equal values. */
  readonly #queued = new Map<string, { readonly value: Buffer | undefined }>()
  /** If set, writes fail before their function runs, as on a standby. */
  writeError: Error | undefined
  /** If set, writes fail after their function has run, as on a broken disk. */
  commitError: Error | undefined
  /** Number of writes. */
  writes = 0
  readonly #listeners: ((key: string) => void)[] = []

  /** Adds a listener that gets each changed key before the write resolves, as the caches of a server do. */
  onChange(listener: (key: string) => void): void {
    this.#listeners.push(listener)
  }

  get(key: string): Buffer | undefined {
    return this.#committed.get(key)
  }

  has(key: string): boolean {
    return this.#committed.has(key)
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const names = new Set<string>()
    for (const key of this.#below(prefix)) names.add(/^[^/]*\/?/.exec(key.slice(prefix.length))?.[0] ?? '')
    return [...names].filter((name) => options.after === undefined || name > options.after).slice(0, options.limit)
  }

  async keys(prefix: string, options: ListOptions = {}): Promise<string[]> {
    return this.#below(prefix)
      .filter((key) => options.after === undefined || key > prefix + options.after)
      .slice(0, options.limit)
  }

  async write<T>(fn: (tx: Transaction) => T): Promise<T> {
    if (this.writeError) throw this.writeError
    const changes = new Map<string, Buffer | undefined>()
    const result = fn({
      get: (key) =>
        changes.has(key) ? changes.get(key) : (this.#queued.get(key) ?? { value: this.#committed.get(key) }).value,
      put: (key, value) => void changes.set(key, value),
      delete: (key) => void changes.set(key, undefined),
    })
    const queued = [...changes].map(([key, value]) => [key, { value }] as const)
    for (const [key, entry] of queued) this.#queued.set(key, entry)
    this.writes++
    await undefined
    const failure = this.commitError
    for (const [key, entry] of queued) {
      if (failure) {
        if (this.#queued.get(key) === entry) this.#queued.delete(key)
        continue
      }
      if (entry.value) this.#committed.set(key, entry.value)
      else this.#committed.delete(key)
      if (this.#queued.get(key) === entry) this.#queued.delete(key)
    }
    if (failure) throw failure
    for (const [key] of queued) for (const listener of this.#listeners) listener(key)
    return result
  }

  #below(prefix: string): string[] {
    return [...this.#committed.keys()].filter((key) => key.startsWith(prefix)).sort()
  }
}
