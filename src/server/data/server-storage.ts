import { type Log, silentLog } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { openGenerations } from '../../storage/engine/generations.js'
import { MemoryDirectory, openMemoryGenerations } from '../../storage/engine/memory-generations.js'
import { openCopy } from './shared-storage.js'
import { type DiskStep, watchSource } from '../../storage/engine/watched-source.js'
import type { ServerConfig } from '../config/config.js'

/** Data that outlives the servers which are started on it one after the other, and their sudden end. */
export interface ServerStorage {
  /** The directory; undefined for storage in memory. */
  readonly path: string | undefined
  open(): Promise<EngineSource>
  /** From now on whoever has the data open can neither read nor write it, as if its process were dead. */
  kill(): void
  /** Frees the data for the next server. What was not durable is lost where that can be told. */
  release(): Promise<void>
}

/** Called before each step that changes the disk; what it throws is what the server meets. */
export type StepListener = (step: DiskStep) => void

export const createMemoryStorage = (onStep: StepListener = () => undefined): ServerStorage => {
  const directory = new MemoryDirectory()
  return createStorage(
    undefined,
    async () => openMemoryGenerations(directory),
    onStep,
    () => directory.crash(),
  )
}

/** Where the configuration says. */
export const openConfiguredStorage = async ({ storage }: ServerConfig, log: Log): Promise<EngineSource> =>
  storage.path === undefined ? openMemoryGenerations() : openGenerations(storage.path, log)

/** LevelDB below `path`. */
export const createDirectoryStorage = (path: string, onStep: StepListener = () => undefined): ServerStorage =>
  createStorage(path, () => openGenerations(path, silentLog), onStep)

/** The copy that one of several nodes has of what they share: in memory it is empty at each start, else it lies below `path`. */
export const createCopyStorage = (path?: string): ServerStorage =>
  createStorage(
    path,
    () => (path === undefined ? Promise.resolve(openMemoryGenerations()) : openCopy(path, silentLog)),
    () => undefined,
  )

const createStorage = (
  path: string | undefined,
  openInner: () => Promise<EngineSource>,
  onStep: StepListener,
  losePower: () => void = () => undefined,
): ServerStorage => {
  let life = 0
  let inner: EngineSource | undefined
  return {
    path,
    async open() {
      const own = life
      const requireLife = () => {
        if (own !== life) throw new LogicalError('unavailable', 'the storage is gone')
      }
      inner = await openInner()
      return watchSource(inner, {
        beforeRead: requireLife,
        beforeStep: (step) => {
          requireLife()
          onStep(step)
          requireLife()
        },
      })
    },
    kill: () => {
      life++
      inner?.die()
    },
    async release() {
      losePower()
      await inner?.close()
      inner = undefined
    },
  }
}
