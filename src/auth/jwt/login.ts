/** Login with a JSON Web Token: signature, registered claims, then the claims that the role binds. */
import { attempt } from '../../base/attempt.js'
import { isJsonObject } from '../../base/json.js'
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { parseJws } from '../../crypto/jws.js'
import { invalid, LogicalError, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { type JsonObject, parseJsonBytes } from '../../logical/json.js'
import type { LoginAuth, RenewalTimes, Response, TokenOrigin } from '../../logical/request.js'
import { loginAuth, renewalTimes } from '../../logical/token-fields.js'
import { checkBoundClaims, groupsOf, metadataOf, userOf } from './claims.js'
import { findConfig, type JwtConfig } from './config.js'
import type { KeySets } from './key-sets.js'
import { checkRegisteredClaims, invalidToken } from './registered-claims.js'
import { findRole, type JwtRole, ROLE_METADATA } from './roles.js'

const LOGIN_FIELDS = {
  role: string('Name of the role. Default: default_role of the configuration.'),
  jwt: string('The signed JSON Web Token.', '', { isSecret: true, isRequired: true }),
} as const

export const LOGIN_PATH = 'login'

/** Returns the role of a login, with the default of the configuration; empty without either. */
export const roleNameOf = (sent: string, config: JwtConfig | undefined): string =>
  (sent || config?.defaultRole || '').toLowerCase()

export const loginPath = ({ storage, clock }: BackendContext, keySets: KeySets): PathSpec => {
  const login = async ({ request, values }: Call<typeof LOGIN_FIELDS>): Promise<Response> => {
    const config = findConfig(storage)
    if (!config) throw invalid('could not load configuration')
    const name = roleNameOf(values.role, config)
    if (name === '') throw invalid('missing role')
    const role = findRole(storage, name)
    if (!role) throw invalid(`role ${JSON.stringify(name)} could not be found`)
    if (values.jwt === '') throw invalid('missing token')
    if (!isWithinBoundCidrs(role.token.boundCidrs ?? [], request.remoteAddress)) throw permissionDenied()
    const claims = await verify(values.jwt, config)
    checkRegisteredClaims(claims, { role, issuer: config.boundIssuer, nowSeconds: clock.now() / 1000 })
    const user = userOf(claims, role)
    const groups = groupsOf(claims, role)
    const metadata = metadataOf(claims, role)
    checkBoundClaims(claims, role)
    return { login: loginOf({ user, groups, metadata, name, role }) }
  }

  const verify = async (text: string, config: JwtConfig): Promise<JsonObject> => {
    const jws = parseJws(text)
    if (!jws) throw unverifiable('the token is malformed, or its signature algorithm is not supported')
    if (config.algorithms.length > 0 && !config.algorithms.includes(jws.algorithm)) {
      throw invalidToken('invalid algorithm (alg) header parameter: token signed with unexpected algorithm')
    }
    const isSigned = await keySets.hasSigned(jws, config).catch((cause: unknown) => {
      if (!(cause instanceof LogicalError)) throw cause
      throw unverifiable(cause.message)
    })
    if (!isSigned) throw unverifiable('no known key successfully validated the token signature')
    const claims = attempt(() => parseJsonBytes(jws.payload))
    if (!isJsonObject(claims)) throw invalidToken('the payload is not a JSON object')
    return claims
  }

  const unverifiable = (why: string) => invalidToken(`error verifying token signature: ${why}`)

  return definePath(LOGIN_PATH, LOGIN_FIELDS, 'Log in with a JSON Web Token.', { update: login })
}

interface Verified {
  readonly user: string
  readonly groups: readonly string[]
  /** From claims. */
  readonly metadata: Record<string, string>
  readonly name: string
  readonly role: JwtRole
}

const loginOf = ({ user, groups, metadata, name, role }: Verified): LoginAuth =>
  loginAuth(role.token, {
    displayName: user,
    metadata: { ...metadata, [ROLE_METADATA]: name },
    alias: { name: user, metadata, groups },
    internal: { role: name },
  })

/** Returns the current TTLs of the role. Throws LogicalError 400 if the role no longer exists. */
export const renewLogin = ({ storage }: BackendContext, { internal }: TokenOrigin): RenewalTimes => {
  const name = String(internal.role)
  const role = findRole(storage, name)
  if (!role) throw invalid(`role ${name} does not exist during renewal`)
  return renewalTimes(role.token)
}
