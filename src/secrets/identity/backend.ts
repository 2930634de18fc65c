import type { Backend } from '../../logical/backend.js'
import { aliasPaths } from './alias-paths.js'
import type { EntityDirectory } from './directory.js'
import { entityPaths } from './entity-paths.js'
import { lookupPaths } from './lookup-paths.js'

/** The mount that stands for the identity store: entities and aliases, whether logins or operators have made them. */
export const createIdentityBackend = (directory: EntityDirectory): Backend => ({
  type: 'identity',
  paths: [...entityPaths(directory), ...aliasPaths(directory), ...lookupPaths(directory)],
})
