/**
 * Logins with JSON Web Tokens of other issuers. The configuration and the roles replicate. Each cluster fetches keys
 * itself, and creates the tokens of its logins.
 */
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { CONFIG_KEY, configPath, findConfig } from './config.js'
import { type FetchDocument, KeySets } from './key-sets.js'
import { LOGIN_PATH, loginPath, renewLogin, roleNameOf } from './login.js'
import { findRole, ROLE_METADATA, rolePaths } from './roles.js'

interface JwtOptions {
  readonly fetch: FetchDocument
}

const RULES = new PathRuleTable({ [LOGIN_PATH]: { access: 'open' } })

const createJwt = (context: BackendContext, { fetch }: JwtOptions): Backend => {
  const { storage } = context
  const keySets = new KeySets(fetch)
  return {
    type: 'jwt',
    rules: RULES,
    paths: [configPath(context, fetch), ...rolePaths(context), loginPath(context, keySets)],
    roles: {
      find: ({ data: { role = '' } }, path) => {
        const name = path === LOGIN_PATH && typeof role === 'string' ? roleNameOf(role, findConfig(storage)) : ''
        return name !== '' && findRole(storage, name) ? name : undefined
      },
      metadataKey: ROLE_METADATA,
    },
    renew: (origin) => renewLogin(context, origin),
    invalidate: (key) => {
      if (key === CONFIG_KEY) keySets.clear()
    },
  }
}

export const createJwtType = (options: JwtOptions): BackendType => ({
  name: 'jwt',
  kind: 'auth',
  factory: (context) => createJwt(context, options),
  localPrefixes: [],
})
