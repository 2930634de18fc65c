/**
 * Logins with TLS client certificates. Roles, revocation lists and the configuration replicate. Each cluster verifies
 * its logins itself, and creates their tokens.
 */
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { configPath } from './config.js'
import { crlPaths } from './crls.js'
import { LOGIN_PATH, loginPath, renewLogin } from './login.js'
import { ROLE_METADATA, RoleMatcher } from './matching.js'
import { findRole, rolePaths } from './roles.js'

const RULES = new PathRuleTable({ [LOGIN_PATH]: { access: 'open' } })

const createCert = (context: BackendContext): Backend => {
  const matcher = new RoleMatcher(context)
  return {
    type: 'cert',
    rules: RULES,
    paths: [configPath(context), ...rolePaths(context), ...crlPaths(context), loginPath(context, matcher)],
    roles: {
      find: ({ data: { name } }, path) =>
        path === LOGIN_PATH && typeof name === 'string' && findRole(context.storage, name)
          ? name.toLowerCase()
          : undefined,
      metadataKey: ROLE_METADATA,
    },
    renew: (origin, caller) => renewLogin(context, matcher, origin, caller),
  }
}

export const certType: BackendType = { name: 'cert', kind: 'auth', factory: createCert, localPrefixes: [] }
