import type { Facilities } from '../../base/facilities.js'
import type { Storage } from '../../logical/storage.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import { makePurgeMark, type PurgeStage, readPurgeStage } from './purge-mark.js'
import {
  DESTRUCTION,
  type Destruction,
  type DestructionEffect,
  type DestructionEvent,
  LOOKING,
  type Looking,
} from './purge-states.js'
import { step } from '../model/state-table.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface PurgeOptions extends Pick<Facilities, 'random' | 'log'> {
  readonly storage: Storage
  readonly store: Pick<ReplicableStore, 'isResyncing' | 'remotePosition' | 'firstIndex' | 'framesAfter' | 'cutLog'>
  /**
   * Returns the IDs of the mounts that a filter withholds from this cluster, or, if this cluster is a DR secondary,
   * from its primary.
   */
  readonly filteredMounts: () => ReadonlySet<string>
  /** Requests the move of all remaining data, without the mark, to a new generation of the directory. */
  readonly destroy: () => void
}

/**
 * Removes filtered data from the disk. Replication deletes the keys, but the files still contain them. Therefore, a
 * mark is written before the first deletion, and the remaining data moves to a new generation after the last deletion.
 * The mark survives a crash and a role change.
 */
export class FilteredDataPurge {
  readonly #options: PurgeOptions
  readonly #stopped = new AbortController()
  #looking: Looking = { is: 'idle' }
  #destruction: Destruction = { is: 'open' }
  /** Resolves when all requested searches have ended. */
  #looks: Promise<void> = Promise.resolve()

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** Writes the mark. Must be awaited before filtered data is deleted. Rejects if the mark cannot be written. */
  async mark(): Promise<void> {
    try {
      await this.#happened({ on: 'deletion-ahead', stage: this.#stage })
    } catch (error) {
      await this.#happened({ on: 'not-marked' })
      throw error
    }
  }

  /** False until it is certain that the files on this node contain no filtered data. */
  get isSettled(): boolean {
    return !this.#isUnclear && this.#stage === undefined
  }

  /** False while this cluster may still store data that the current filter withholds. */
  get isInEffect(): boolean {
    return !this.#isUnclear && (this.#destruction.is === 'asked' || this.#stage === undefined)
  }

  get #stage(): PurgeStage | undefined {
    return readPurgeStage(this.#options.storage)
  }

  get #isUnclear(): boolean {
    return this.#looking.is !== 'idle'
  }

  /** Searches once, and waits for the result, because a crash may have left filtered data. */
  async start(): Promise<void> {
    this.check()
    await this.#looks
  }

  /**
   * Searches for filtered data in the background, and marks or destroys it. Must be called after a change of a filter,
   * a mount or the data.
   */
  check(): void {
    if (this.#stopped.signal.aborted) return
    const { to, effects } = step(LOOKING, this.#looking, { on: 'asked' })
    this.#looking = to
    if (effects.length > 0) this.#looks = this.#looks.then(() => this.#lookOnce())
  }

  /**
   * Searches for filtered data if a mark exists. Must be called after data arrives over the stream, because it may have
   * deleted the last filtered key.
   */
  checkPending(): void {
    if (this.#stage) this.check()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#looks
  }

  async #lookOnce(): Promise<void> {
    this.#looking = step(LOOKING, this.#looking, { on: 'begun' }).to
    await this.#look().catch((error: unknown) =>
      this.#options.log.error('cannot destroy filtered data yet', { error: String(error) }),
    )
    this.#looking = step(LOOKING, this.#looking, { on: 'ended' }).to
  }

  async #look(): Promise<void> {
    if (this.#stopped.signal.aborted) return
    const { store, filteredMounts } = this.#options
    const filtered = filteredMounts()
    const hasData = filtered.size > 0 && (await this.#hasDataOf(filtered))
    const stage = this.#stage
    if (hasData) {
      await this.#happened({ on: 'found', stage })
      return this.#happened({ on: 'marked' })
    }
    const isLogged = await isInLog(store, filtered)
    if (this.#looking.is === 'looking-again' || !(stage || isLogged)) return
    // The filter was deleted before any data was deleted.
    if (filtered.size === 0 && stage === 'hidden') return this.#happened({ on: 'lifted' })
    if (store.isResyncing || (filtered.size > 0 && !store.remotePosition)) return
    if (isLogged) {
      // The log still contains the deleted keys.
      await this.mark()
      await store.cutLog()
    }
    return this.#happened({ on: 'gone' })
  }

  async #happened(event: DestructionEvent): Promise<void> {
    const { to, effects } = step(DESTRUCTION, this.#destruction, event)
    this.#destruction = to
    for (const effect of effects) await this.#execute(effect)
  }

  async #execute(effect: DestructionEffect): Promise<void> {
    const { storage, random, log, destroy } = this.#options
    switch (effect.do) {
      case 'mark':
        await storage.write((tx) => tx.put(KEYS.purgeMark, makePurgeMark(effect.stage, random)))
        return log.info('destruction of filtered data requested', { stage: effect.stage })
      case 'unmark':
        return storage.write((tx) => tx.delete(KEYS.purgeMark))
      case 'destroy':
        return destroy()
    }
  }

  async #hasDataOf(mounts: ReadonlySet<string>): Promise<boolean> {
    for (const prefix of prefixesOf(mounts))
      if ((await this.#options.storage.keys(prefix, { limit: 1 })).length > 0) return true
    return false
  }
}

const READ_BYTES = 1024 * 1024

/** Returns the key prefixes of the data of these mounts. */
const prefixesOf = (mounts: ReadonlySet<string>): readonly string[] =>
  [...mounts].flatMap((uuid) => [KEYS.secretData, KEYS.authData].map((prefix) => `${prefix}${uuid}/`))

/**
 * Resolves to true if the log of this cluster contains keys of these mounts. The log contains keys in plain text, even
 * if they are deleted.
 */
const isInLog = async (
  store: Pick<ReplicableStore, 'firstIndex' | 'framesAfter'>,
  mounts: ReadonlySet<string>,
): Promise<boolean> => {
  if (mounts.size === 0) return false
  const prefixes = prefixesOf(mounts)
  for (let index = store.firstIndex - 1; ; ) {
    const frames = await store.framesAfter(index, READ_BYTES)
    if (frames && frames.length === 0) return false
    if (frames?.some(({ bytes }) => prefixes.some((prefix) => bytes.includes(prefix)))) return true
    // If frames were trimmed in the meantime, continues at the new start of the log.
    index = frames?.at(-1)?.lastIndex ?? store.firstIndex - 1
  }
}
