import type { Backend } from '../../logical/backend.js'
import { aliasPaths } from './alias-paths.js'
import type { EntityDirectory } from './directory.js'
import { entityPaths } from './entity-paths.js'
import { lookupPaths } from './lookup-paths.js'

/** Creates the backend of the identity store: entities and aliases, created by logins or by operators. */
export const createIdentityBackend = (directory: EntityDirectory): Backend => ({
  type: 'identity',
  paths: [...entityPaths(directory), ...aliasPaths(directory), ...lookupPaths(directory)],
})
