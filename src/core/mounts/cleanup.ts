import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { localDataPrefix, type MountEntry } from './mount-entry.js'
import { KEYS } from '../../storage/keys/key-families.js'

const CHUNK = 500

/** The key of the record that says that the data of a removed mount is still to be deleted. */
export const cleanupKey = (entry: MountEntry): string =>
  (entry.isLocal ? KEYS.localCleanupOrders : KEYS.cleanupOrders) + entry.uuid

/** Deletes what removed mounts left, in bounded transactions; an order survives a crash and is taken up at start. */
export class MountCleanup {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Finishes the orders that a crash interrupted; where shared data cannot be written, those for local data. */
  async resume({ isSharedReadOnly }: { readonly isSharedReadOnly: boolean }): Promise<void> {
    for (const prefix of isSharedReadOnly ? [KEYS.localCleanupOrders] : [KEYS.cleanupOrders, KEYS.localCleanupOrders]) {
      for (const key of await this.#storage.keys(prefix)) await this.run(key)
    }
  }

  /** Deletes what a shared mount that the primary removed has kept on this cluster alone. */
  async runLocal(entry: MountEntry): Promise<void> {
    const prefixes = [localDataPrefix(entry)]
    const order = KEYS.localCleanupOrders + entry.uuid
    await this.#storage.write((tx) => putJson(tx, order, { prefixes }))
    await this.run(order)
  }

  async run(order: string): Promise<void> {
    const prefixes = readJson<{ prefixes: string[] }>(this.#storage, order)?.prefixes ?? []
    for (const prefix of prefixes) await this.deleteBelow(prefix)
    await this.#storage.write((tx) => tx.delete(order))
  }

  async deleteBelow(prefix: string): Promise<void> {
    for (;;) {
      const keys = await this.#storage.keys(prefix, { limit: CHUNK })
      if (keys.length === 0) return
      await this.#storage.write((tx) => {
        for (const key of keys) tx.delete(key)
      })
    }
  }
}
