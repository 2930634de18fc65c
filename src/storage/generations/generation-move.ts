import { linkSignals } from '../../base/linked-signal.js'
import { Backoff, STORAGE_BACKOFF } from '../../base/backoff.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import type { EngineSource, Predecessor, Successor } from '../engine/engine-source.js'
import { LiveCopy } from './live-copy.js'
import { dataKey } from '../keys/raw-keys.js'
import type { Store } from '../store/store.js'
import { KEYS } from '../keys/key-families.js'

/** How long those who still read from the old generation, such as a resync of a secondary, may hold up its end. */
const READERS_MS = 2000
/** Between two looks whether a resync has ended. */
const RESYNC_PAUSE_MS = 50

const MARK = dataKey(KEYS.purgeMark)

interface GenerationMoveOptions {
  readonly source: EngineSource
  readonly store: Pick<Store, 'pauseWrites' | 'isResyncing'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** More is to be destroyed than when the copy began, or nothing any more. */
class Overtaken extends Error {}

/**
 * Destroys deleted data by moving what is left to a new generation, under a store that is in use. The mark that calls for
 * it stays behind; whatever else is to go marks anew before it is deleted, which ends a copy that may have it, and none begins
 * for the new mark before that is asked for: until then what it stands for may still be there, to be deleted. An attempt
 * that failed is repeated after a pause that grows; a crash is survived by the mark, for which the next start asks again.
 */
export class GenerationMove {
  readonly #options: GenerationMoveOptions
  readonly #stop = new AbortController()
  /** The mark that called for the move. */
  #wanted: Buffer | undefined
  #running: Promise<void> | undefined

  constructor(options: GenerationMoveOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Asks for the destruction of the data that is marked now, all of which is deleted already. Returns at once. */
  schedule(): void {
    if (this.#stop.signal.aborted) return
    const mark = this.#options.source.engine.get(MARK)
    if (!mark) return
    this.#wanted = mark
    this.#running ??= this.#run()
  }

  /** Abandons what is under way, or ends it when it is past the point of no return. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopped'))
    await this.#running
  }

  async #run(): Promise<void> {
    for (let mark = this.#takeWanted(); mark; mark = this.#takeWanted()) await this.#destroy(mark)
    this.#running = undefined
  }

  #takeWanted(): Buffer | undefined {
    const mark = this.#wanted
    this.#wanted = undefined
    return mark
  }

  #destroy(mark: Buffer): Promise<void> {
    return this.#untilDone('filtered data was not destroyed yet', () => this.#destroyOnce(mark))
  }

  /** Until it succeeds or is overtaken, or everything ends. */
  async #untilDone(failure: string, work: () => Promise<void>): Promise<void> {
    const { clock, random, log } = this.#options
    const { signal } = this.#stop
    const backoff = new Backoff(STORAGE_BACKOFF, random)
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (signal.aborted || error instanceof Overtaken) return
        const pauseMs = backoff.next()
        log.error(failure, { error, pauseMs })
        await clock.sleep(pauseMs, signal).catch(() => undefined)
      }
    }
  }

  async #destroyOnce(mark: Buffer): Promise<void> {
    const { source, store, log } = this.#options
    const check = () => {
      this.#stop.signal.throwIfAborted()
      if (!source.engine.get(MARK)?.equals(mark)) throw new Overtaken()
    }
    check()
    const successor = await source.begin()
    let predecessor: Predecessor
    try {
      await store.pauseWrites(async () => successor.follow())
      const isLeftOut = (key: string) => key === MARK
      const copy = new LiveCopy({ from: source.engine, to: successor, isLeftOut, check })
      await copy.copyAll()
      predecessor = await this.#takeOver(copy, successor, check)
    } catch (error) {
      await successor.abandon()
      throw error
    }
    log.info('what is left was moved to a new generation', { generation: source.generation })
    await this.#end(predecessor)
  }

  /** Not amid a resync: what is read meanwhile is read from the old generation. */
  async #takeOver(copy: LiveCopy, successor: Successor, check: () => void): Promise<Predecessor> {
    const { store, clock } = this.#options
    for (;;) {
      await copy.catchUp()
      const taken = await store.pauseWrites(async () => {
        check()
        if (store.isResyncing) return undefined
        await copy.finish()
        return successor.takeOver()
      })
      if (taken) return taken
      await clock.sleep(RESYNC_PAUSE_MS, this.#stop.signal)
    }
  }

  async #end(predecessor: Predecessor): Promise<void> {
    const { clock } = this.#options
    const unread = new AbortController()
    void predecessor.unread().then(() => unread.abort())
    using either = linkSignals([this.#stop.signal, unread.signal])
    await clock.sleep(READERS_MS, either.signal).catch(() => undefined)
    await this.#untilDone('the old generation was not destroyed yet', () => predecessor.destroy())
  }
}
