import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import type { Storage } from '../../logical/storage.js'
import type { ReplicableStore } from '../../storage/replicable.js'
import { makePurgeMark, type PurgeStage, readPurgeStage } from './purge-mark.js'
import { KEYS } from '../../storage/keys.js'

interface PurgeOptions {
  readonly storage: Storage
  readonly store: Pick<ReplicableStore, 'isResyncing' | 'remotePosition'>
  /** Ids of the mounts that a filter keeps from this cluster, or from the one it is a DR copy of. */
  readonly filteredMounts: () => ReadonlySet<string>
  /** Asks for a new generation of the directory with what is left. The mark does not go with it. */
  readonly destroy: () => void
  readonly random: Random
  readonly log: Log
}

/**
 * Sees to it that data which a filter takes away leaves the disk. Replication deletes it, but deleted keys stay readable in
 * the files; so it is marked before the first of it is deleted, and once nothing of it is left the remaining data moves to
 * a new generation. The mark survives a crash anywhere between, and a change of role.
 */
export class FilteredDataPurge {
  readonly #options: PurgeOptions
  #checking: Promise<void> = Promise.resolve()
  #isAgain = false
  #isLooking = false
  #isDone = false
  /** Nothing of what the filter takes away was left when last looked, and nothing is being deleted since. */
  #isGone = false
  /** The new generation may be in the making with what is there now: what is deleted from here on needs another mark. */
  #isBeingDestroyed = false

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** Resolves once the mark is durable. To be awaited before anything is deleted because it is filtered. */
  async mark(): Promise<void> {
    this.#isGone = false
    if (this.#stage === 'deleted' && !this.#isBeingDestroyed) return
    this.#isBeingDestroyed = false
    await this.#write('deleted').catch((error: unknown) => {
      this.#isBeingDestroyed = true
      throw error
    })
  }

  /** False until the files that contained what the filter takes away are destroyed, as far as is known here. */
  get isSettled(): boolean {
    return !this.#isUnclear && this.#stage === undefined
  }

  /** False while the filter that is known here may not be in effect yet: data that it takes away may still be read here. */
  get isInEffect(): boolean {
    return !this.#isUnclear && (this.#isGone || this.#stage === undefined)
  }

  get #stage(): PurgeStage | undefined {
    return readPurgeStage(this.#options.storage)
  }

  get #isUnclear(): boolean {
    return this.#isAgain || this.#isLooking
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
        this.#options.log.error('filtered data was not destroyed', { error: String(error) }),
      )
      this.#isLooking = false
    })
  }

  /** Something came over the stream: where something is to go, it may have been the deletion of the last of it. */
  checkPending(): void {
    if (this.#stage) this.check()
  }

  async stop(): Promise<void> {
    this.#isDone = true
    await this.#checking
  }

  async #look(): Promise<void> {
    if (this.#isDone) return
    const { storage, store, filteredMounts: heldMounts, destroy } = this.#options
    const filtered = heldMounts()
    const hasData = filtered.size > 0 && (await this.#hasDataOf(filtered))
    if (hasData) {
      this.#isGone = false
      const stage = this.#stage
      // A copy that is under way still holds this data, and would take along the mark of what it destroys.
      if (!stage || this.#isBeingDestroyed) await this.#write(stage ?? 'hidden')
      this.#isBeingDestroyed = false
      return
    }
    // What was looked at is not what is asked for any more.
    if (this.#isAgain || !this.#stage) return
    // Lifted before it took effect: nothing was taken away.
    if (filtered.size === 0 && this.#stage === 'hidden') return storage.write((tx) => tx.delete(KEYS.purgeMark))
    if (store.isResyncing || (filtered.size > 0 && !store.remotePosition)) return
    this.#isGone = true
    this.#isBeingDestroyed = true
    destroy()
  }

  async #write(stage: PurgeStage): Promise<void> {
    const { storage, random, log } = this.#options
    await storage.write((tx) => tx.put(KEYS.purgeMark, makePurgeMark(stage, random)))
    log.info('filtered data is to be destroyed', { stage })
  }

  async #hasDataOf(mounts: ReadonlySet<string>): Promise<boolean> {
    for (const uuid of mounts) {
      for (const prefix of [KEYS.secretData, KEYS.authData]) {
        if ((await this.#options.storage.keys(`${prefix}${uuid}/`, { limit: 1 })).length > 0) return true
      }
    }
    return false
  }
}
