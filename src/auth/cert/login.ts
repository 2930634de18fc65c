/** Login with the client certificate of the connection, and renewal of the tokens of such logins. */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { areSamePolicies } from '../../logical/old-token-fields.js'
import type { RenewalCaller, RenewalTimes, Response, TokenOrigin } from '../../logical/request.js'
import { loginAuth, renewalTimes } from '../../logical/token-fields.js'
import { findConfig } from './config.js'
import { metadataOf, type RoleMatcher } from './matching.js'
import { findRole } from './roles.js'

const LOGIN_FIELDS = { name: string('Name of the only role to try. By default, all roles are tried.') } as const

export const LOGIN_PATH = 'login'

export const loginPath = ({ storage }: BackendContext, matcher: RoleMatcher): PathSpec => {
  const login = async ({ request, values }: Call<typeof LOGIN_FIELDS>): Promise<Response> => {
    const match = await matcher.match(request, values.name)
    const { name, role, client } = match
    if (!isWithinBoundCidrs(role.token.boundCidrs ?? [], request.remoteAddress)) throw permissionDenied()
    const metadata = metadataOf(match)
    const aliasMetadata = findConfig(storage).hasAliasMetadata ? metadata : {}
    return {
      login: loginAuth(role.token, {
        displayName: role.displayName,
        metadata,
        alias: { name: client.commonName, metadata: aliasMetadata },
        internal: { role: name, keyId: client.keyId, authorityKeyId: client.authorityKeyId },
      }),
    }
  }
  return definePath(LOGIN_PATH, LOGIN_FIELDS, 'Log in with a TLS client certificate.', { update: login })
}

/**
 * Returns the current TTLs of the role. Unless binding is disabled, the client must present a certificate that the role
 * accepts, with the key of the login. Rejects with LogicalError 400 otherwise.
 */
export const renewLogin = async (
  { storage }: BackendContext,
  matcher: RoleMatcher,
  { policies, internal }: TokenOrigin,
  caller: RenewalCaller,
): Promise<RenewalTimes> => {
  const name = String(internal.role)
  const role = findRole(storage, name)
  if (!role) throw invalid(`role ${JSON.stringify(name)} does not exist during renewal`)
  if (!findConfig(storage).isBindingDisabled) {
    const { client } = await matcher.match(caller, name)
    if (client.keyId !== internal.keyId || client.authorityKeyId !== internal.authorityKeyId) {
      throw invalid('client identity during renewal not matching client identity used during login')
    }
  }
  if (!areSamePolicies(role.token.policies, policies)) throw invalid('policies have changed, not renewing')
  return renewalTimes(role.token)
}
