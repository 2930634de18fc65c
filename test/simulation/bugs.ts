import { CORE_BUGS } from './bugs/core-bugs.js'
import { NODE_BUGS } from './bugs/node-bugs.js'
import { REPLICATION_BUGS } from './bugs/replication-bugs.js'
import { ROLE_BUGS } from './bugs/role-bugs.js'
import { STORAGE_BUGS } from './bugs/storage-bugs.js'
import type { Bug } from './planted.js'

/** The bugs that the simulation must find. */
export const BUGS: readonly Bug[] = [...STORAGE_BUGS, ...REPLICATION_BUGS, ...ROLE_BUGS, ...CORE_BUGS, ...NODE_BUGS]
