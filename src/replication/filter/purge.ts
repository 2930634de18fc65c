import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
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

interface PurgeOptions {
  readonly storage: Storage
  readonly store: Pick<ReplicableStore, 'isResyncing' | 'remotePosition' | 'firstIndex' | 'framesAfter' | 'cutLog'>
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
  readonly #stopped = new AbortController()
  #looking: Looking = { is: 'idle' }
  #destruction: Destruction = { is: 'open' }
  /** Ends with the last look that was asked for. */
  #looks: Promise<void> = Promise.resolve()

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** Resolves once the mark is durable. To be awaited before anything is deleted because it is filtered. */
  async mark(): Promise<void> {
    try {
      await this.#happened({ on: 'deletion-ahead', stage: this.#stage })
    } catch (error) {
      await this.#happened({ on: 'not-marked' })
      throw error
    }
  }

  /** False until the files that contained what the filter takes away are destroyed, as far as is known here. */
  get isSettled(): boolean {
    return !this.#isUnclear && this.#stage === undefined
  }

  /** False while the filter that is known here may not be in effect yet: data that it takes away may still be read here. */
  get isInEffect(): boolean {
    return !this.#isUnclear && (this.#destruction.is === 'asked' || this.#stage === undefined)
  }

  get #stage(): PurgeStage | undefined {
    return readPurgeStage(this.#options.storage)
  }

  get #isUnclear(): boolean {
    return this.#looking.is !== 'idle'
  }

  /** Looks once, and resolves when it is known whether a crash left data that a filter takes away. */
  async start(): Promise<void> {
    this.check()
    await this.#looks
  }

  /** A filter, a mount, or the data has changed: looks whether there is something to mark or to destroy. */
  check(): void {
    if (this.#stopped.signal.aborted) return
    const { to, effects } = step(LOOKING, this.#looking, { on: 'asked' })
    this.#looking = to
    if (effects.length > 0) this.#looks = this.#looks.then(() => this.#lookOnce())
  }

  /** Something came over the stream: where something is to go, it may have been the deletion of the last of it. */
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
    // Lifted before it took effect: nothing was taken away.
    if (filtered.size === 0 && stage === 'hidden') return this.#happened({ on: 'lifted' })
    if (store.isResyncing || (filtered.size > 0 && !store.remotePosition)) return
    if (isLogged) await this.#forgetLog()
    return this.#happened({ on: 'gone' })
  }

  /** What was deleted before the filter came is in the log yet. */
  async #forgetLog(): Promise<void> {
    await this.mark()
    await this.#options.store.cutLog()
  }

  async #happened(event: DestructionEvent): Promise<void> {
    const { to, effects } = step(DESTRUCTION, this.#destruction, event)
    this.#destruction = to
    for (const effect of effects) await this.#execute(effect)
  }

  async #execute(effect: DestructionEffect): Promise<void> {
    const { storage, destroy } = this.#options
    switch (effect.do) {
      case 'mark':
        return this.#write(effect.stage)
      case 'unmark':
        return storage.write((tx) => tx.delete(KEYS.purgeMark))
      case 'destroy':
        return destroy()
    }
  }

  async #write(stage: PurgeStage): Promise<void> {
    const { storage, random, log } = this.#options
    await storage.write((tx) => tx.put(KEYS.purgeMark, makePurgeMark(stage, random)))
    log.info('filtered data is to be destroyed', { stage })
  }

  async #hasDataOf(mounts: ReadonlySet<string>): Promise<boolean> {
    for (const prefix of prefixesOf(mounts))
      if ((await this.#options.storage.keys(prefix, { limit: 1 })).length > 0) return true
    return false
  }
}

const READ_BYTES = 1024 * 1024

/** What the keys of the data of these mounts begin with. */
const prefixesOf = (mounts: ReadonlySet<string>): readonly string[] =>
  [...mounts].flatMap((uuid) => [KEYS.secretData, KEYS.authData].map((prefix) => `${prefix}${uuid}/`))

/** Whether the log of this cluster names data of these mounts, which may be deleted by now. Keys stand in it as they are. */
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
    // What was trimmed meanwhile is none of it.
    index = frames?.at(-1)?.lastIndex ?? store.firstIndex - 1
  }
}
