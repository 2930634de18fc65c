import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { Ballast } from './ballast.js'
import type { Engine } from './engine.js'
import type { EngineSource, Successor } from './engine-source.js'
import { generationDirectory, readGenerationRecord, writeGenerationRecord } from './generation-record.js'
import { LevelEngine } from './level-engine.js'
import { damagedData, isNoSpace, unreadable } from './level-failure.js'
import { LiveEngine } from './live-engine.js'
import { GenerationManifest } from './generation-manifest.js'
import { createSuccessor } from './successor.js'

const FIRST = 1

/**
 * Opens the live generation of a data directory, or creates the first generation in an empty directory. Removes the
 * condemned generations. LevelDB's lock on the live generation excludes other processes, and only the holder of this
 * lock may change the record or remove files. Rejects with `LogicalError` if the live generation is unknown,
 * unreadable, or open in another process.
 */
export const openGenerations = async (path: string, log: Log): Promise<EngineSource> => {
  makeDirectory(path, 0o700)
  const ballast = new Ballast(path, join(path, 'ballast'))
  const record = await readGenerationRecord(path)
  // If a crash interrupted the first start, the generation is created again, because no write in it was acknowledged.
  const isNew = record?.live === undefined
  const generation = record?.live ?? FIRST
  if (!record) await writeGenerationRecord(path, { live: undefined, condemned: [FIRST] })
  const engine = await openWithBallast(path, generation, isNew, ballast)
  const manifest = new GenerationManifest(path, generation, isNew ? [] : record.condemned, log)
  try {
    if (isNew) await manifest.commit(generation)
    await manifest.removeCondemned()
    await manifest.logUnknown()
  } catch (error) {
    await engine.close()
    throw error
  }
  if (!(await ballast.restore()))
    log.warn('cannot create the ballast file: if the disk is full, the storage may fail to reopen', { path })
  return new Generations({ path, manifest, engine, ballast, log })
}

const openWithBallast = async (
  path: string,
  generation: number,
  isNew: boolean,
  ballast: Ballast,
): Promise<LevelEngine> => {
  const directory = generationDirectory(path, generation)
  if (!isNew) await requireLog(directory)
  const options = { directory, createIfMissing: isNew, ballast }
  try {
    return await LevelEngine.open(options)
  } catch (error) {
    if (!isNoSpace(error)) throw error
    await ballast.drop()
    return LevelEngine.open(options)
  }
}

/**
 * Rejects with `LogicalError` if the log file is missing, because LevelDB would open the directory as an empty
 * database.
 */
const requireLog = async (directory: string): Promise<void> => {
  const names = await readdir(directory).catch(() => undefined)
  if (names === undefined) throw unreadable(`the live generation ${directory} is missing`)
  if (!names.some((name) => name.endsWith('.log'))) {
    throw damagedData(`the data is damaged: the live generation ${directory} has lost its log file`)
  }
}

interface NextGeneration {
  readonly number: number
  readonly engine: LevelEngine
}

interface GenerationsParts {
  readonly path: string
  readonly manifest: GenerationManifest
  /** The engine of the generation that was live when the directory was opened. */
  readonly engine: LevelEngine
  readonly ballast: Ballast
  readonly log: Log
}

class Generations implements EngineSource {
  readonly #parts: GenerationsParts
  readonly #manifest: GenerationManifest
  #level: LevelEngine
  #live: LiveEngine
  #isDead = false

  constructor(parts: GenerationsParts) {
    this.#parts = parts
    this.#manifest = parts.manifest
    this.#level = parts.engine
    this.#live = new LiveEngine(parts.engine)
  }

  get generation(): number {
    return this.#manifest.live
  }

  get engine(): Engine {
    return this.#live
  }

  get isUnchecked(): boolean {
    return this.#parts.engine.isUnchecked
  }

  async replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine> {
    const next = await this.#openNext()
    try {
      await prepare(next.engine)
      await next.engine.settleAcknowledged()
      await this.#manifest.commit(next.number)
    } catch (error) {
      await this.#discard(next)
      throw error
    }
    const old = this.#level
    this.#adopt(next)
    this.#live = new LiveEngine(next.engine)
    await old.discard()
    if (!this.#isDead) await this.#manifest.removeCondemned()
    return this.#live
  }

  async begin(): Promise<Successor> {
    const next = await this.#openNext()
    const old = { number: this.generation, engine: this.#level }
    let isSettled = true
    return createSuccessor(this.#live, {
      engine: next.engine,
      requireFreeSpace: () => this.#parts.ballast.requireFreeSpace(),
      commit: async () => {
        await next.engine.settleAcknowledged()
        isSettled = await this.#manifest.commitOrFind(next.number)
        this.#adopt(next)
      },
      discard: () => this.#discard(next),
      destroyOld: async () => {
        if (!isSettled) await this.#manifest.write()
        isSettled = true
        await old.engine.discard()
        if (!this.#isDead) await this.#manifest.remove(old.number)
      },
    })
  }

  close(): Promise<void> {
    return this.#isDead ? this.#level.discard() : this.#level.close()
  }

  die(): void {
    this.#isDead = true
  }

  async #openNext(): Promise<NextGeneration> {
    const number = await this.#manifest.begin()
    const { path, ballast } = this.#parts
    const directory = generationDirectory(path, number)
    return { number, engine: await LevelEngine.open({ directory, createIfMissing: true, ballast }) }
  }

  #adopt({ number, engine }: NextGeneration): void {
    this.#level = engine
    this.#parts.log.info('storage generation replaced', { generation: number })
  }

  async #discard({ number, engine }: NextGeneration): Promise<void> {
    await engine.discard()
    if (!this.#isDead) await this.#manifest.remove(number)
  }
}
