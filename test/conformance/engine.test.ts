import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LevelEngine } from '../../src/storage/engine/level-engine.js'
import { LiveEngine } from '../../src/storage/engine/live-engine.js'
import { MemoryDisk, MemoryEngine } from '../../src/storage/engine/memory-engine.js'
import { describeEngine } from './engine-suite.js'

describeEngine('LevelDB', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'understudy-engine-'))
  return {
    open: () => LevelEngine.open({ directory, createIfMissing: true }),
    destroy: () => rm(directory, { recursive: true, force: true }),
  }
})

describeEngine('memory', async () => {
  const disk = new MemoryDisk()
  return { open: async () => new MemoryEngine(disk), destroy: async () => undefined }
})

describeEngine('LevelDB behind a live engine', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'understudy-engine-'))
  return {
    open: async () => new LiveEngine(await LevelEngine.open({ directory, createIfMissing: true })),
    destroy: () => rm(directory, { recursive: true, force: true }),
  }
})
