import { readJson, type Storage } from '../logical/storage.js'
import type { MountEntry } from './mount-entry.js'

const CHUNK = 500

/** Where it is written down that the data of a removed mount is still to be deleted. */
export const purgeKey = (entry: MountEntry): string =>
  entry.isLocal ? `local/purge/${entry.uuid}` : `core/settings/purge/${entry.uuid}`

/** Deletes what removed mounts left, in bounded transactions; an order survives a crash and is taken up at start. */
export class Purge {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Finishes the orders that a crash interrupted. */
  async resume(): Promise<void> {
    for (const prefix of ['core/settings/purge/', 'local/purge/']) {
      for (const key of await this.#storage.keys(prefix)) await this.run(key)
    }
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
