import type { Backend, PathSpec } from '../../logical/backend.js'
import type { PathRuleTable } from '../../logical/path-rules.js'

/**
 * The system backend: path families joined. It is one object for every namespace, since handlers are told the namespace
 * with each request, and it needs no storage of its own.
 */
export const createSystemBackend = (paths: readonly PathSpec[], rules: PathRuleTable): Backend => ({
  type: 'system',
  paths,
  rules,
})
