import type { Backend, PathSpec } from '../../logical/backend.js'
import type { PathRuleTable } from '../../logical/path-rules.js'

/**
 * Creates the system backend from its path families. One object serves all namespaces: each request contains its namespace,
 * and the backend has no storage.
 */
export const createSystemBackend = (paths: readonly PathSpec[], rules: PathRuleTable): Backend => ({
  type: 'system',
  paths,
  rules,
})
