/**
 * Users of databases: dynamic users with a lease, and static users with a rotated password. Settings replicate like all
 * data of a mount. A secondary creates users itself, and forwards changes of settings and rotations.
 */
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { configPaths } from './config-paths.js'
import { DatabaseEngine, type DatabaseOptions } from './engine.js'
import { PostgresPlugin } from './postgresql.js'
import { CONFIG_PREFIX } from './records.js'
import { renewCredentials, revokeCredentials, rolePaths } from './role-paths.js'
import { staticPaths } from './static-paths.js'

const RULES = new PathRuleTable({ 'creds/*': { createsLease: true } })

const createDatabase = (context: BackendContext, options: DatabaseOptions): Backend => {
  const engine = new DatabaseEngine(context, options)
  return {
    type: 'database',
    paths: [...configPaths(engine), ...rolePaths(engine), ...staticPaths(engine)],
    rules: RULES,
    renewLease: (secret, incrementSeconds) => renewCredentials(engine, secret, incrementSeconds),
    revokeLease: (secret) => revokeCredentials(engine, secret),
    invalidate: (key) => {
      if (key.startsWith(CONFIG_PREFIX)) engine.connections.reset(key.slice(CONFIG_PREFIX.length))
    },
    start: (signal) => engine.start(signal),
    stop: () => engine.stop(),
  }
}

interface DatabaseTypeOptions extends Pick<DatabaseOptions, 'generatePassword' | 'isFenced'> {
  /** Default: a connection to a PostgreSQL server. */
  readonly openPlugin?: DatabaseOptions['openPlugin']
}

export const createDatabaseType = (options: DatabaseTypeOptions): BackendType => ({
  name: 'database',
  kind: 'secret',
  factory: (context) =>
    createDatabase(context, {
      openPlugin: (settings) => new PostgresPlugin(settings, context.random),
      ...options,
    }),
  localPrefixes: [],
})
