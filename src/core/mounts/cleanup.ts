import { deleteKeys, putJson, readJson, type Storage } from '../../logical/storage.js'
import { localDataPrefix, type MountEntry } from './mount-entry.js'
import { KEYS } from '../../storage/keys/key-families.js'

const CHUNK = 500

/** Returns the key of the record that marks the data of a removed mount for deletion. */
export const cleanupKey = (entry: MountEntry): string =>
  (entry.isLocal ? KEYS.localCleanupOrders : KEYS.cleanupOrders) + entry.uuid

/**
 * Deletes the data of removed mounts in transactions of limited size. A pending cleanup survives a crash and resumes at
 * startup.
 */
export class MountCleanup {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /**
   * Completes cleanups interrupted by a crash. If replicated data is not writable, completes only cleanups of local
   * data.
   */
  async resume({ isSharedReadOnly }: { readonly isSharedReadOnly: boolean }): Promise<void> {
    for (const prefix of isSharedReadOnly ? [KEYS.localCleanupOrders] : [KEYS.cleanupOrders, KEYS.localCleanupOrders]) {
      for (const key of await this.#storage.keys(prefix)) await this.run(key)
    }
  }

  /** Deletes the local data of a replicated mount that the primary has removed. */
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
      await deleteKeys(this.#storage, keys)
    }
  }
}
