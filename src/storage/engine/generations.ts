import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import { Ballast } from './ballast.js'
import { syncDirectory, writeFileDurably } from './durable-file.js'
import type { Engine } from './engine.js'
import type { EngineSource, Successor } from './engine-source.js'
import { isNoSpace, LevelEngine } from './level-engine.js'
import { LiveEngine } from './live-engine.js'
import { createSuccessor } from './successor.js'

/**
 * A data directory: generations as directories `generation-<number>`, and a file that names the live one. LevelDB's own
 * lock on the live generation keeps other processes out; only who holds it may change the pointer or remove anything.
 */
const POINTER = 'live'
const GENERATION = /^generation-(\d+)$/

export const generationDirectory = (path: string, generation: number): string => join(path, `generation-${generation}`)

/** The number of a generation's directory; undefined for any other name. */
export const generationOf = (name: string): number | undefined => {
  const found = GENERATION.exec(name)
  return found === null ? undefined : Number(found[1])
}

/** Number of the live generation of a data directory; undefined when it has none yet. */
export const readLiveGeneration = async (path: string): Promise<number | undefined> => {
  const text = await readFile(join(path, POINTER), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const found = generationOf(text.trim())
  if (found === undefined) {
    throw new LogicalError('internal', `the file ${join(path, POINTER)} does not name a generation`)
  }
  return found
}

/**
 * Opens the live generation of a data directory, making the first one in an empty directory, and removes what a crash
 * left of others. Fails with a LogicalError when another process has it open or it cannot be read.
 */
export const openGenerations = async (path: string, log: Log): Promise<EngineSource> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const ballast = new Ballast(path, join(path, 'ballast'))
  const live = await readLiveGeneration(path)
  const generation = live ?? 1
  const engine = await openWithBallast(path, generation, live === undefined, ballast)
  try {
    if (live === undefined) await commitPointer(path, generation)
    await removeOthers(path, generation, log)
  } catch (error) {
    await engine.close()
    throw error
  }
  if (!(await ballast.restore())) log.warn('no room for the ballast file', { path })
  return new Generations(path, generation, engine, ballast, log)
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

/** LevelDB opens a directory whose log was lost as if nothing had ever been written to it. */
const requireLog = async (directory: string): Promise<void> => {
  const names = await readdir(directory).catch(() => undefined)
  if (names === undefined) throw new LogicalError('internal', `the live generation ${directory} is missing`)
  if (!names.some((name) => name.endsWith('.log'))) {
    throw new LogicalError('internal', `the live generation ${directory} has lost its log file`)
  }
}

const commitPointer = async (path: string, generation: number): Promise<void> => {
  await syncDirectory(generationDirectory(path, generation))
  await writeFileDurably(join(path, POINTER), `generation-${generation}\n`)
}

const removeOthers = async (path: string, live: number, log: Log): Promise<void> => {
  for (const name of await readdir(path)) {
    const generation = generationOf(name)
    if (generation === undefined || generation === live) continue
    await removeGeneration(path, generation, log)
  }
  await syncDirectory(path)
}

const removeGeneration = async (path: string, generation: number, log: Log): Promise<void> => {
  await rm(generationDirectory(path, generation), { recursive: true, force: true })
  log.info('storage generation destroyed', { generation })
}

/** A generation that is not live yet. */
interface Draft {
  readonly number: number
  readonly engine: LevelEngine
}

class Generations implements EngineSource {
  readonly #path: string
  readonly #ballast: Ballast
  readonly #log: Log
  #generation: number
  #level: LevelEngine
  #live: LiveEngine
  #isDead = false

  constructor(path: string, generation: number, engine: LevelEngine, ballast: Ballast, log: Log) {
    this.#path = path
    this.#generation = generation
    this.#level = engine
    this.#live = new LiveEngine(engine)
    this.#ballast = ballast
    this.#log = log
  }

  get generation(): number {
    return this.#generation
  }

  get engine(): Engine {
    return this.#live
  }

  async replace(prepare: (fresh: Engine) => Promise<void>): Promise<Engine> {
    const draft = await this.#draft()
    try {
      await prepare(draft.engine)
      await commitPointer(this.#path, draft.number)
    } catch (error) {
      await this.#discard(draft)
      throw error
    }
    const old = this.#level
    this.#adopt(draft)
    this.#live = new LiveEngine(draft.engine)
    await old.discard()
    if (!this.#isDead) await removeOthers(this.#path, draft.number, this.#log)
    return this.#live
  }

  async begin(): Promise<Successor> {
    const draft = await this.#draft()
    const old = { number: this.#generation, engine: this.#level }
    let isSettled = true
    return createSuccessor(this.#live, {
      engine: draft.engine,
      requireRoom: () => this.#ballast.requireRoom(),
      commit: async () => {
        await commitPointer(this.#path, draft.number).catch(async (error: unknown) => {
          // When the pointer was moved although telling so failed, the next start goes by it; so does this process.
          if ((await readLiveGeneration(this.#path)) !== draft.number) throw error
          isSettled = false
        })
        this.#adopt(draft)
      },
      discard: () => this.#discard(draft),
      destroyOld: async () => {
        if (!isSettled) await commitPointer(this.#path, draft.number)
        isSettled = true
        await old.engine.discard()
        if (this.#isDead) return
        await removeGeneration(this.#path, old.number, this.#log)
        await syncDirectory(this.#path)
      },
    })
  }

  close(): Promise<void> {
    return this.#isDead ? this.#level.discard() : this.#level.close()
  }

  die(): void {
    this.#isDead = true
  }

  async #draft(): Promise<Draft> {
    await this.#settlePointer()
    const number = this.#generation + 1
    const directory = generationDirectory(this.#path, number)
    await rm(directory, { recursive: true, force: true })
    return { number, engine: await LevelEngine.open({ directory, createIfMissing: true, ballast: this.#ballast }) }
  }

  /** The pointer may have been moved although telling so failed; what is in use is what the next start must find. */
  async #settlePointer(): Promise<void> {
    if ((await readLiveGeneration(this.#path)) !== this.#generation) await commitPointer(this.#path, this.#generation)
  }

  #adopt({ number, engine }: Draft): void {
    this.#level = engine
    this.#generation = number
    this.#log.info('storage generation replaced', { generation: number })
  }

  async #discard({ number, engine }: Draft): Promise<void> {
    await engine.discard()
    if (this.#isDead) return
    await this.#settlePointer()
    await rm(generationDirectory(this.#path, number), { recursive: true, force: true })
  }
}
