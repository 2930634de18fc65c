/** Parts of a server in this process, to be imported when the first one is started. */
export { createCopyStorage, createDirectoryStorage, createMemoryStorage } from '../../server/data/server-storage.js'
export { SharedMemory } from '../../server/data/shared-memory.js'
export { Provisions } from './provisions.js'
export { InProcessServer } from '../runner/in-process.js'
