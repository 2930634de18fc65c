import type { Log } from '../base/log.js'
import type { ReadStorage, Storage } from '../logical/storage.js'
import type { ReplicableStore } from '../storage/replicable.js'

/** Set from the moment a filter names data that lies here until the files that held it are destroyed. Never leaves. */
export const PURGE_KEY = 'core/replication/purge'

export const isPurgePending = (storage: ReadStorage): boolean => storage.get(PURGE_KEY) !== undefined

export interface PurgeOptions {
  readonly storage: Storage
  readonly store: Pick<ReplicableStore, 'isResyncing' | 'remotePosition'>
  /** Ids of the mounts that a filter keeps from this cluster, or from the one it is a DR copy of. */
  readonly heldMounts: () => ReadonlySet<string>
  /** Asks for a new generation of the directory with what is left. The mark does not go with it. */
  readonly destroy: () => void
  readonly log: Log
}

/**
 * Sees to it that data which a filter takes away leaves the disk. Replication deletes it, but deleted keys stay readable in
 * the files; so it is marked before the first of it is deleted, and once nothing of it is left the remaining data moves to
 * a new generation. The mark survives a crash anywhere between.
 */
export class HeldDataPurge {
  readonly #options: PurgeOptions
  #checking: Promise<void> = Promise.resolve()
  #isAgain = false
  #isLooking = false
  #isDone = false

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** Resolves once the mark is durable. To be awaited before anything is deleted because it is held back. */
  async mark(): Promise<void> {
    const { storage, log } = this.#options
    if (isPurgePending(storage)) return
    await storage.write((tx) => tx.put(PURGE_KEY, Buffer.from('1')))
    log.info('held-back data is to be destroyed')
  }

  /** False while the filter that is known here may not be in effect yet: data that it takes away is, or may be, still here. */
  get isSettled(): boolean {
    return !this.#isAgain && !this.#isLooking && !isPurgePending(this.#options.storage)
  }

  /** Looks once, and resolves when it is known whether a crash left data that a filter takes away. */
  async start(): Promise<void> {
    this.check()
    await this.#checking
  }

  /** A filter, a mount, or the data has changed: looks whether there is something to mark or to destroy. */
  check(): void {
    if (this.#isDone || this.#isAgain) return
    this.#isAgain = true
    this.#checking = this.#checking.then(async () => {
      this.#isAgain = false
      this.#isLooking = true
      await this.#look().catch((error: unknown) =>
        this.#options.log.error('held-back data was not destroyed', { error: String(error) }),
      )
      this.#isLooking = false
    })
  }

  async stop(): Promise<void> {
    this.#isDone = true
    await this.#checking
  }

  async #look(): Promise<void> {
    if (this.#isDone) return
    const { storage, store, heldMounts, destroy } = this.#options
    const held = heldMounts()
    if (held.size > 0 && (await this.#hasDataOf(held))) return this.mark()
    if (!isPurgePending(storage)) return
    // Lifted before it took effect: nothing was taken away, or it has come back.
    if (held.size === 0) return storage.write((tx) => tx.delete(PURGE_KEY))
    if (store.isResyncing || !store.remotePosition) return
    this.#isDone = true
    destroy()
  }

  async #hasDataOf(mounts: ReadonlySet<string>): Promise<boolean> {
    for (const uuid of mounts) {
      for (const prefix of [`logical/${uuid}/`, `auth/${uuid}/`]) {
        if ((await this.#options.storage.keys(prefix, { limit: 1 })).length > 0) return true
      }
    }
    return false
  }
}
