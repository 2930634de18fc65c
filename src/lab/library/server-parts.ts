/** Components of an in-process server, imported when the first server starts. */
export { createCopyStorage, createDirectoryStorage, createMemoryStorage } from '../../server/data/server-storage.js'
export { SharedMemory } from '../../server/data/shared-memory.js'
export { Provisions } from './provisions.js'
export { InProcessServer } from '../runner/in-process.js'
