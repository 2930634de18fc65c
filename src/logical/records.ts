import type { BackendContext } from './backend.js'
import { decidedByPrimary } from './decided-by-primary.js'
import { putRecord, readRecord, type Storage } from './storage.js'

/** The records of one kind, by name. Only the performance primary writes them. */
export class Records<T extends object> {
  readonly #storage: Storage
  readonly #prefix: string

  constructor(context: BackendContext, prefix: string) {
    this.#storage = decidedByPrimary(context)
    this.#prefix = prefix
  }

  names(): Promise<string[]> {
    return this.#storage.list(this.#prefix)
  }

  /** Returns the same frozen object until the record changes. */
  find(name: string): T | undefined {
    return readRecord<T>(this.#storage, this.#prefix + name)
  }

  /** Replaces a record. `change` receives the stored record, and returns undefined to leave it unchanged. */
  update(name: string, change: (before: T | undefined) => T | undefined): Promise<T | undefined> {
    return this.#storage.write((tx) => {
      const after = change(readRecord<T>(tx, this.#prefix + name))
      if (after) putRecord(tx, this.#prefix + name, after)
      return after
    })
  }

  async remove(name: string): Promise<undefined> {
    await this.#storage.write((tx) => tx.delete(this.#prefix + name))
    return undefined
  }
}
