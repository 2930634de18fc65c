import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'
import type { Recorder } from '../../base/meter.js'
import type { StageFunction } from './stage.js'
import { stageTrim } from './stage-trim.js'
import type { Wal } from '../log/wal.js'

/** Delay in milliseconds between a commit that exceeds the retention and the trim. It must be less than one second. */
const DELAY_MS = 500

interface TrimmerOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly recorder?: Recorder | undefined
  readonly wal: () => Wal
  /** Returns false while the store rejects writes. */
  readonly isWritable: () => boolean
  /** Commits the operations of a stage function. */
  readonly run: (stage: StageFunction) => Promise<void>
}

/** Trims the log to its retention shortly after a commit exceeds it, unless the log is pinned. */
export class Trimmer {
  readonly #options: TrimmerOptions
  #pins = 0
  #timer: Timer | undefined

  constructor(options: TrimmerOptions) {
    this.#options = options
  }

  /** Pins the log. Until the caller calls the returned function, the log is trimmed only to its hard limit. */
  pin(): () => void {
    this.#pins++
    let isPinned = true
    return () => {
      if (!isPinned) return
      isPinned = false
      this.#pins--
      this.schedule()
    }
  }

  /** Schedules a trim if the log exceeds its retention. Must be called after every commit. */
  schedule(): void {
    const { clock, log, wal, isWritable } = this.#options
    if (this.#timer !== undefined || !isWritable() || !wal().hasExcess(this.#pins > 0)) return
    this.#timer = clock.setTimer(DELAY_MS, () => {
      this.#timer = undefined
      if (!isWritable()) return
      this.#trim().catch((error: unknown) =>
        log.warn('cannot trim the log, trying again after the next commit', { error }),
      )
    })
  }

  close(): void {
    this.#timer?.cancel()
  }

  async #trim(): Promise<void> {
    const { clock, recorder, wal, run } = this.#options
    const startMs = clock.monotonic()
    let before = 0
    let after = 0
    await run((batch, state, trees) => {
      const staged = stageTrim(batch, state, trees, wal(), this.#pins > 0)
      before = state.base.index
      after = staged?.state.base.index ?? before
      return staged
    })
    recorder?.record('vault.wal.deleteWALs', clock.monotonic() - startMs)
    recorder?.record('vault.wal.gc.deleted', after - before)
  }
}
