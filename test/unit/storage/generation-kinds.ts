import { silentLog } from '../../../src/base/log.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import { MemoryDirectory, openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'

/**
 * The two kinds of generations: each creates a data directory that can be opened repeatedly. `path` is evaluated then.
 */
export const generationKinds = (
  path: () => string,
): readonly (readonly [string, () => { open: () => Promise<EngineSource> }])[] => [
  ['on disk', () => ({ open: () => openGenerations(path(), silentLog) })],
  [
    'in memory',
    () => {
      const directory = new MemoryDirectory()
      return { open: async () => openMemoryGenerations(directory) }
    },
  ],
]
