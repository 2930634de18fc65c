import type { ListOptions, Storage, Transaction } from '../../src/logical/storage.js'

/**
 * A Storage over a Map with the timing of the real one: a write's function runs at once and sees what earlier writes
 * queued; reads outside of writes see it only when the write's promise has resolved.
 */
export class MemoryStorage implements Storage {
  readonly #committed = new Map<string, Buffer>()
  /** The last write of each key that is not committed yet; an object of its own each, since deletions look alike. */
  readonly #queued = new Map<string, { readonly value: Buffer | undefined }>()
  /** Set to make writes fail as they do where replicated keys may not be written. */
  writeError: Error | undefined
  /** Set to make writes fail as on a disk that does: after their function has run. */
  commitError: Error | undefined
  /** How many writes were made. */
  writes = 0
  readonly #listeners: ((key: string) => void)[] = []

  /** Told of every key that a write has changed, before the write resolves: as the store tells those who remember values. */
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
