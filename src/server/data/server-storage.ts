import { type Log, silentLog } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { openGenerations } from '../../storage/engine/generations.js'
import { MemoryDirectory, openMemoryGenerations } from '../../storage/engine/memory-generations.js'
import { openCopy } from './shared-storage.js'
import { type DiskStep, watchSource } from '../../storage/engine/watched-source.js'
import type { ServerConfig } from '../config/config.js'

/** Storage for several servers, one after another. The data survives their shutdowns and crashes. */
export interface ServerStorage {
  readonly path: string | undefined
  open(): Promise<EngineSource>
  /** Makes all further reads and writes of the current server fail, as if its process had been killed. */
  kill(): void
  /** Closes the data, so that the next server can open it. In-memory storage discards batches that were not durable. */
  release(): Promise<void>
}

/** Called before each step that changes the disk. If it throws, the server gets the error, and the step is skipped. */
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

export const openConfiguredStorage = async ({ storage }: ServerConfig, log: Log): Promise<EngineSource> =>
  storage.path === undefined ? openMemoryGenerations() : openGenerations(storage.path, log)

export const createDirectoryStorage = (path: string): ServerStorage =>
  createStorage(path, () => openGenerations(path, silentLog))

/**
 * Creates the storage for a node's copy of shared data in the directory `path`. Without a path, the copy is in memory
 * and starts empty.
 */
export const createCopyStorage = (path?: string): ServerStorage =>
  createStorage(path, async () => (path === undefined ? openMemoryGenerations() : openCopy(path, silentLog)))

const createStorage = (
  path: string | undefined,
  openInner: () => Promise<EngineSource>,
  onStep: StepListener = () => undefined,
  losePower: () => void = () => undefined,
): ServerStorage => {
  let life = 0
  let inner: EngineSource | undefined
  return {
    path,
    async open() {
      const own = life
      const requireLife = () => {
        if (own !== life) throw new LogicalError('unavailable', 'the storage was closed')
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
