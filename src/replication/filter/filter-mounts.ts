import type { Clock, Timer } from '../../base/clock.js'
import type { MountFact } from './filter.js'

/** The mount table in memory follows its records a moment later. */
const SETTLE_MS = 5

export interface MountWatchOptions {
  readonly clock: Clock
  readonly mounts: () => readonly MountFact[]
  /** A mount left its path: unmounted (`isGone`) or moved. Told with what it was. */
  readonly onLeft: (mount: MountFact, isGone: boolean) => Promise<void>
  readonly onError: (error: unknown) => void
}

/**
 * Notices that mounts were unmounted or moved, by comparing the table with what it was. A mount that takes the path of
 * another in the same moment is told apart by its id.
 */
export class MountWatch {
  readonly #options: MountWatchOptions
  #known: ReadonlyMap<string, MountFact>
  #timer: Timer | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(options: MountWatchOptions) {
    this.#options = options
    this.#known = this.#read()
  }

  /** A record of the mount tables was committed. */
  changed(): void {
    this.#timer ??= this.#options.clock.setTimer(SETTLE_MS, () => {
      this.#timer = undefined
      this.#working = this.#working.then(() => this.#compare()).catch(this.#options.onError)
    })
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#working
  }

  async #compare(): Promise<void> {
    const before = this.#known
    const now = this.#read()
    this.#known = now
    for (const [uuid, mount] of before) {
      const current = now.get(uuid)
      if (current?.path !== mount.path) await this.#options.onLeft(mount, current === undefined)
    }
  }

  #read(): ReadonlyMap<string, MountFact> {
    return new Map(this.#options.mounts().map((mount) => [mount.uuid, mount]))
  }
}
