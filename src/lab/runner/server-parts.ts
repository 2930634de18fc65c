/** Parts of a server in this process, to be imported when the first one is started. */
export { createCopyStorage, createDirectoryStorage, createMemoryStorage } from '../../server/data/server-storage.js'
export { SharedMemory } from '../../server/data/shared-memory.js'
export { Provisions } from '../library/provisions.js'
export { InProcessServer } from './in-process.js'
