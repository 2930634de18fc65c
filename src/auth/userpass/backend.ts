/** Logins by name and password. Users replicate; the tokens that logins give are the core's and stay on their cluster. */
import { isAddressInAny } from '../../base/cidr.js'
import { type Backend, type BackendContext, type BackendType, type Call, definePath } from '../../logical/backend.js'
import { invalid, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { LoginAuth, Response } from '../../logical/request.js'
import { loginSettings } from '../../logical/token-fields.js'
import { isPassword } from './password.js'
import { userPaths } from './user-paths.js'
import { findUser, foldName, type User } from './users.js'

const LOGIN_FIELDS = {
  username: string('Name of the user; upper and lower case are one.'),
  password: string('The password.', '', { isSecret: true }),
}

export const createUserpass = (context: BackendContext): Backend => {
  const { storage } = context

  const login = async ({ request, values }: Call<typeof LOGIN_FIELDS>): Promise<Response> => {
    if (values.password === '') throw invalid('missing password')
    const name = foldName(values.username)
    const user = findUser(storage, name)
    if (!(await isPassword(values.password, user?.passwordHash)) || !user) {
      throw invalid('invalid username or password')
    }
    const boundCidrs = user.token.boundCidrs ?? []
    if (boundCidrs.length > 0 && !isAddressInAny(boundCidrs, request.remoteAddress)) throw permissionDenied()
    return { login: loginOf(name, user) }
  }

  const renew = (auth: LoginAuth): LoginAuth => {
    const name = String(auth.internal.username)
    const user = findUser(storage, name)
    if (!user) throw invalid(`user ${JSON.stringify(name)} does not exist during renewal`)
    if (!areSamePolicies(user.token.policies, auth.policies)) throw invalid('policies have changed, not renewing')
    const { ttlSeconds, maxTtlSeconds, periodSeconds } = user.token
    return { ...auth, ttlSeconds, maxTtlSeconds, periodSeconds }
  }

  return {
    type: 'userpass',
    unauthenticated: ['login/*'],
    sudo: [],
    paths: [
      definePath({
        pattern: 'login/:username',
        fields: LOGIN_FIELDS,
        operations: { update: login },
        summary: 'Log in with a password.',
      }),
      ...userPaths(context),
    ],
    renew,
  }
}

export const userpassType: BackendType = {
  name: 'userpass',
  kind: 'auth',
  factory: createUserpass,
  localPrefixes: [],
}

const loginOf = (name: string, user: User): LoginAuth => ({
  ...loginSettings(user.token),
  displayName: name,
  metadata: { username: name },
  alias: { name, metadata: {} },
  internal: { username: name },
})

/** Order, repetitions and the policy named default, which the core adds, make no difference. */
const areSamePolicies = (one: readonly string[], other: readonly string[]): boolean => {
  const clean = (names: readonly string[]) =>
    [...new Set(names.map((name) => name.trim().toLowerCase()))]
      .filter((name) => name !== 'default' && name !== '')
      .sort()
  return clean(one).join('\n') === clean(other).join('\n')
}
