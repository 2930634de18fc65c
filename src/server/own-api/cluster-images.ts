import path from 'node:path'
import { rm } from 'node:fs/promises'
import type { Clock } from '../../base/clock.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { HOLD_STATES, type Holds } from '../../replication/host/holds.js'
import type { Engine } from '../../storage/engine/engine.js'
import {
  checkImage,
  type Chunks,
  fillEngine,
  IMAGE_IN,
  IMAGE_OUT,
  type ImageFacts,
  type ImageState,
  writeImage,
} from '../data/cluster-image.js'
import type { LabState } from '../faults/disk-faults.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'

interface Content {
  readonly state: ImageState
  readonly chunks: Chunks
}

/** A snapshot of a cluster. It can be read until it is closed. */
interface Cut extends Content {
  readonly pausedMs: number
  close(): Promise<void>
}

interface ImagesOptions {
  readonly host: RuntimeHost
  readonly clock: Clock
  readonly labState: LabState
  readonly holds: Holds
  readonly directory: string | undefined
}

/** Maximum pause of writes in milliseconds, in case the lab fails meanwhile. */
const PAUSE_MS_MAX = 3000
const STOP_MS_MAX = 5000

interface Pause {
  readonly sinceMs: number
  release(): void
}

interface Stop {
  readonly load: (content: Content | undefined) => void
  /** Resolves when the server runs with the new data, or with its old data again. */
  readonly done: Promise<void>
}

/**
 * Takes and loads images of this cluster. A lab uses this to take and load consistent images of several clusters. It
 * pauses all clusters before it takes the first image, so that no secondary is ahead of its primary. It stops all
 * clusters before it loads the first image, so that no cluster receives later writes of another.
 */
export class ClusterImages {
  readonly #options: ImagesOptions
  #pause: Pause | undefined
  #stop: Stop | undefined

  constructor(options: ImagesOptions) {
    this.#options = options
  }

  /** Pauses all writes until `cut`, or for at most `PAUSE_MS_MAX`. Resolves when writes are paused. */
  async pause(): Promise<void> {
    const { host, clock } = this.#options
    this.#pause?.release()
    const { store } = host.requireRuntime()
    await new Promise<void>((resolve, reject) => {
      const work = () =>
        new Promise<void>((resume) => {
          const timer = clock.setTimer(PAUSE_MS_MAX, () => release())
          const release = () => {
            timer.cancel()
            if (this.#pause?.release === release) this.#pause = undefined
            resume()
          }
          this.#pause = { release, sinceMs: clock.monotonic() }
          resolve()
        })
      store.pauseWrites(work).catch(reject)
    })
  }

  /** Takes a snapshot of data and lab state, and resumes writes. Throws `LogicalError` if writes are not paused. */
  cut(): Cut {
    const pause = this.#pause
    if (!pause)
      throw new LogicalError(
        'unavailable',
        'writes are not paused: call image/pause first; a pause lasts at most three seconds',
      )
    const { host, labState, holds, clock } = this.#options
    const { engine } = host
    const snapshot = engine.snapshot()
    const state: ImageState = {
      skewMs: labState.skewMs,
      holds: holds.list().map(({ kind, state: held }) => ({ kind, state: held })),
      isSealed: host.runtime?.seal.isSealed ?? true,
    }
    pause.release()
    const pausedMs = clock.monotonic() - pause.sinceMs
    return { state, pausedMs, chunks: engine.scan({}, { snapshot }), close: () => snapshot.close() }
  }

  release(): void {
    this.#pause?.release()
  }

  /** Takes a snapshot, and writes it as an image file into the data directory. */
  async take(): Promise<ImageFacts & { readonly pausedMs: number }> {
    const directory = this.#requireDirectory()
    const cut = this.cut()
    try {
      const facts = await writeImage(path.join(directory, IMAGE_OUT), cut.state, cut.chunks)
      return { ...facts, pausedMs: cut.pausedMs }
    } finally {
      await cut.close()
    }
  }

  /**
   * Stops requests and replication until `load`, `resume` or the timeout `STOP_MS_MAX`. Resolves when they stopped.
   * Rejects with `LogicalError` 503 if an image is already being loaded.
   */
  async stop(): Promise<void> {
    if (this.#stop) throw new LogicalError('unavailable', 'an image is already being loaded')
    const { host, clock } = this.#options
    let state: ImageState | undefined
    await new Promise<void>((resolve, reject) => {
      let load: Stop['load'] = () => undefined
      const content = new Promise<Content | undefined>((given) => {
        load = given
      })
      const timer = clock.setTimer(STOP_MS_MAX, () => load(undefined))
      const replaced = host.replaceData('an image of the cluster is loaded', {
        prepare: async (fresh: Engine) => {
          resolve()
          const found = await content
          timer.cancel()
          if (!found) throw new LogicalError('unavailable', 'the lab canceled loading an image')
          await fillEngine(fresh, found.chunks)
          state = found.state
          this.applyLabState(found.state)
        },
        // If the current root key does not decrypt the new data, the cluster stays sealed.
        rootKeyAfter: (before) => (state?.isSealed ? undefined : before),
        opensItself: () => state?.isSealed === false,
      })
      const done = replaced.finally(() => {
        timer.cancel()
        this.#stop = undefined
      })
      this.#stop = { load, done }
      done.catch(reject)
    })
  }

  /**
   * Loads an image: its data, clock offset and holds. Resolves when the cluster runs again. Rejects with `LogicalError`
   * 503 if the cluster is not stopped.
   */
  async load(content: Content): Promise<void> {
    const stop = this.#stop
    if (!stop)
      throw new LogicalError(
        'unavailable',
        'the cluster is not stopped: call image/stop first; a stop lasts at most five seconds',
      )
    stop.load(content)
    await stop.done
    await this.#options.host.settled()
  }

  /** Loads the image file in the data directory. Removes the file first, so that the next image can be stored there. */
  async loadFile(): Promise<void> {
    const file = path.join(this.#requireDirectory(), IMAGE_IN)
    const image = await checkImage(file)
    await rm(file, { force: true })
    await this.load(image)
  }

  async resume(): Promise<void> {
    const stop = this.#stop
    stop?.load(undefined)
    await stop?.done.catch(() => undefined)
    await this.#options.host.settled()
  }

  applyLabState({ skewMs, holds: held }: ImageState): void {
    const { labState, holds } = this.#options
    labState.skewMs = skewMs
    holds.release()
    for (const { kind, state } of held) {
      const known = HOLD_STATES.find((one) => one === state)
      if (known && (kind === 'dr' || kind === 'performance')) holds.hold(kind, known)
    }
  }

  #requireDirectory(): string {
    const { directory } = this.#options
    if (directory === undefined)
      throw invalid('this server stores its data in memory, so it has no directory for an image')
    return directory
  }
}
