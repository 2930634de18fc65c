import type { Facilities } from '../../base/facilities.js'
import { linkSignals } from '../../base/linked-signal.js'
import { Backoff, STORAGE_BACKOFF } from '../../base/backoff.js'
import type { EngineSource, Predecessor, Successor } from '../engine/engine-source.js'
import { LiveCopy } from './live-copy.js'
import { dataKey } from '../keys/raw-keys.js'
import type { Store } from '../store/store.js'
import { KEYS } from '../keys/key-families.js'

/** Maximum time in milliseconds to wait for readers of the old generation, for example a resync of a secondary. */
const READERS_MS = 2000
/** Interval in milliseconds between two checks whether a resync of this store has ended. */
const RESYNC_PAUSE_MS = 50

const MARK = dataKey(KEYS.purgeMark)

interface GenerationMoveOptions extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly source: EngineSource
  readonly store: Pick<Store, 'pauseWrites' | 'isResyncing'>
}

/** Aborts a copy: after the copy began, more data was marked for destruction, or the mark was removed. */
class Overtaken extends Error {}

/**
 * Destroys deleted data: moves the remaining data to a new generation while the store is in use, and removes the old
 * generation. A stored mark requests the move. The mark is not copied. If more data must be destroyed, the caller sets
 * a new mark before it deletes this data. The new mark aborts the running copy. After this data is deleted, the caller
 * calls `schedule`, which starts the next copy. A failed attempt is retried with backoff. The mark survives a crash,
 * and the next start schedules the move again.
 */
export class GenerationMove {
  readonly #options: GenerationMoveOptions
  readonly #stop = new AbortController()
  /** The mark that requested the move. */
  #wanted: Buffer | undefined
  #running: Promise<void> | undefined

  constructor(options: GenerationMoveOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Starts the move in the background if a mark requests it. All marked data must already be deleted. */
  schedule(): void {
    if (this.#stop.signal.aborted) return
    const mark = this.#options.source.engine.get(MARK)
    if (!mark) return
    this.#wanted = mark
    this.#running ??= this.#run()
  }

  /** Aborts a running move. If the new generation is already live, completes the move without a wait for readers. */
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
    return this.#untilDone('cannot destroy filtered data yet, trying again', () => this.#destroyOnce(mark))
  }

  /** Retries `work` with backoff until it succeeds, it throws `Overtaken`, or `stop` is called. */
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
    log.info('the remaining data was moved to a new generation', { generation: source.generation })
    await this.#end(predecessor)
  }

  /** Switches to the successor. First waits for the end of a resync, because a resync uses the old generation. */
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
    await this.#untilDone('cannot destroy the old generation yet, trying again', () => predecessor.destroy())
  }
}
