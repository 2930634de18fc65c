/** Saves snapshots of this cluster into a directory of the active node, at intervals. */
import { readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Clock, Timer } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import { messageOf } from '../../base/printable.js'
import { replaceFileBy } from '../../base/replace-file.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'

export interface SnapshotConfig {
  readonly intervalSeconds: number
  /** The number of snapshots that are kept. */
  readonly retain: number
  readonly directory: string
  readonly filePrefix: string
  /** The maximum size of all snapshots with this prefix together. */
  readonly bytesMax: number
  readonly writtenAtMs: number
}

/** The last attempt, and the URL of the last snapshot. Times are in milliseconds since the epoch. */
interface SnapshotStatus {
  readonly startMs: number
  readonly endMs: number
  readonly error: string
  readonly url: string
}

interface AutoSnapshotsOptions {
  /** Contains one record for each configuration. */
  readonly storage: Storage
  readonly snapshot: () => AsyncIterable<Buffer>
  readonly clock: Clock
  readonly log: Log
}

interface Stored {
  readonly file: string
  readonly timeMs: number
}

export class AutoSnapshots {
  readonly #options: AutoSnapshotsOptions
  readonly #status = new Map<string, SnapshotStatus>()
  readonly #work: PeriodicWork
  #signal: AbortSignal | undefined
  #timer: Timer | undefined

  constructor(options: AutoSnapshotsOptions) {
    this.#options = options
    this.#work = new PeriodicWork(() => this.#saveDue())
  }

  /** Resolves when the first snapshot is planned. Never rejects. */
  start(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#timer?.cancel(), { once: true })
    return this.#plan()
  }

  stop(): Promise<void> {
    return this.#work.settled()
  }

  names(): Promise<string[]> {
    return this.#options.storage.list('')
  }

  find(name: string): SnapshotConfig | undefined {
    return readJson<SnapshotConfig>(this.#options.storage, name)
  }

  statusOf(name: string): SnapshotStatus | undefined {
    return this.#status.get(name)
  }

  /** Stores a configuration, or removes it. */
  async put(name: string, config: SnapshotConfig | undefined): Promise<void> {
    await this.#options.storage.write((tx) => (config ? putJson(tx, name, config) : tx.delete(name)))
    if (!config) this.#status.delete(name)
    await this.#plan()
  }

  /** Sets the timer for the next snapshot of all configurations. */
  async #plan(): Promise<void> {
    const { clock, log } = this.#options
    try {
      const dues = await Promise.all((await this.names()).map((name) => this.#dueMs(name)))
      this.#timer?.cancel()
      if (dues.length === 0 || this.#signal?.aborted !== false) return
      this.#timer = clock.setTimer(Math.min(...dues) - clock.now(), () => void this.#work.begin())
    } catch (error) {
      if (this.#signal?.aborted === false) log.warn('automated snapshots could not be planned', { error })
    }
  }

  /** Returns when a snapshot is due: one interval after the last one, or after the configuration was written. */
  async #dueMs(name: string): Promise<number> {
    const config = this.find(name)
    if (!config) return Number.POSITIVE_INFINITY
    const last = this.#status.get(name)?.startMs ?? (await findStored(config)).at(-1)?.timeMs ?? 0
    return Math.max(last, config.writtenAtMs) + config.intervalSeconds * 1000
  }

  async #saveDue(): Promise<void> {
    for (const name of await this.names().catch(() => [])) {
      const config = this.find(name)
      if (config && !this.#signal?.aborted && (await this.#dueMs(name)) <= this.#options.clock.now())
        await this.#save(name, config)
    }
    await this.#plan()
  }

  async #save(name: string, config: SnapshotConfig): Promise<void> {
    const { clock, log, snapshot } = this.#options
    const startMs = clock.now()
    let { url = '' } = this.#status.get(name) ?? {}
    let error = ''
    try {
      const file = path.resolve(config.directory, fileName(config, startMs))
      await writeSnapshot(file, config, snapshot())
      url = pathToFileURL(file).href
      log.info('an automated snapshot was saved', { name, file })
    } catch (failure) {
      error = messageOf(failure)
      log.error('an automated snapshot could not be saved', { name, error })
    }
    this.#status.set(name, { startMs, endMs: clock.now(), error, url })
  }
}

/** Six digits follow the milliseconds, because the names contain nanoseconds. */
const fileName = ({ filePrefix }: SnapshotConfig, timeMs: number): string => `${filePrefix}-${timeMs}000000.snap`

/** Writes a complete file and then removes the oldest files. Rejects if the files exceed their maximum size. */
const writeSnapshot = async (file: string, config: SnapshotConfig, chunks: AsyncIterable<Buffer>): Promise<void> => {
  makeDirectory(config.directory, 0o700)
  const before = await findStored(config)
  const sizes = await Promise.all(before.map(async (stored) => (await stat(stored.file)).size))
  let bytes = sizes.reduce((sum, size) => sum + size, 0)
  await replaceFileBy(file, async (handle) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > config.bytesMax)
        throw new Error(`the snapshots exceed local_max_space (${config.bytesMax} bytes): increase it, or lower retain`)
      await handle.writeFile(chunk)
    }
  })
  const excess = Math.max(0, before.length + 1 - config.retain)
  for (const stored of before.slice(0, excess)) await rm(stored.file, { force: true })
}

/** Returns the snapshots of a configuration in its directory, oldest first. */
const findStored = async ({ directory, filePrefix }: SnapshotConfig): Promise<Stored[]> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .filter((name) => name.startsWith(`${filePrefix}-`))
    .flatMap((name) => {
      const [, ms] = /^-(\d+)\d{6}\.snap$/.exec(name.slice(filePrefix.length)) ?? []
      return ms === undefined ? [] : [{ file: path.join(directory, name), timeMs: Number(ms) }]
    })
    .sort((one, other) => one.timeMs - other.timeMs)
}
