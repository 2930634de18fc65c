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
   * Returns the IDs of the mounts that a filter withholds from this cluster, or, on a DR secondary, from its primary.
   */
  readonly filteredMounts: () => ReadonlySet<string>
  /** Requests a new generation of the directory that contains the remaining data and no mark. */
  readonly destroy: () => void
}

/**
 * Removes filtered data from the disk. Replication deletes the keys, but deleted keys stay readable in the files.
 * Therefore a mark is written before the first deletion. After the last deletion, the remaining data moves to a new
 * generation. The mark survives a crash and a role change.
 */
export class FilteredDataPurge {
  readonly #options: PurgeOptions
  readonly #stopped = new AbortController()
  #looking: Looking = { is: 'idle' }
  #destruction: Destruction = { is: 'open' }
  /** Resolves when the last requested search has ended. */
  #looks: Promise<void> = Promise.resolve()

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** Resolves when the mark is durable. Must be awaited before filtered data is deleted. */
  async mark(): Promise<void> {
    try {
      await this.#happened({ on: 'deletion-ahead', stage: this.#stage })
    } catch (error) {
      await this.#happened({ on: 'not-marked' })
      throw error
    }
  }

  /** Returns false until the files with filtered data are destroyed, as far as this node knows. */
  get isSettled(): boolean {
    return !this.#isUnclear && this.#stage === undefined
  }

  /**
   * Returns false while the known filter may not be in effect: filtered data may not be deleted yet on this cluster.
   */
  get isInEffect(): boolean {
    return !this.#isUnclear && (this.#destruction.is === 'asked' || this.#stage === undefined)
  }

  get #stage(): PurgeStage | undefined {
    return readPurgeStage(this.#options.storage)
  }

  get #isUnclear(): boolean {
    return this.#looking.is !== 'idle'
  }

  /** Searches once. Resolves when it is known whether a crash left filtered data behind. */
  async start(): Promise<void> {
    this.check()
    await this.#looks
  }

  /** Searches for data to mark or destroy. Must be called after a change of a filter, a mount or the data. */
  check(): void {
    if (this.#stopped.signal.aborted) return
    const { to, effects } = step(LOOKING, this.#looking, { on: 'asked' })
    this.#looking = to
    if (effects.length > 0) this.#looks = this.#looks.then(() => this.#lookOnce())
  }

  /**
   * Searches for data if a mark exists. Must be called after data arrives over the stream: it may have deleted the last
   * filtered key.
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
      this.#options.log.error('filtered data was not destroyed', { error: String(error) }),
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
    // The filter was lifted before it took effect: nothing was deleted.
    if (filtered.size === 0 && stage === 'hidden') return this.#happened({ on: 'lifted' })
    if (store.isResyncing || (filtered.size > 0 && !store.remotePosition)) return
    if (isLogged) {
      // The log holds earlier deletions of the filtered data.
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
 * Returns true if this cluster's log contains keys of these mounts, which may be deleted by now. The log holds keys in
 * plain text.
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
    // Skips frames that were trimmed in the meantime.
    index = frames?.at(-1)?.lastIndex ?? store.firstIndex - 1
  }
}
