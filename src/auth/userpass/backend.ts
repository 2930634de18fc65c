/** Logins with user name and password. Users replicate. The core creates the tokens, which stay on their cluster. */
import { type Backend, type BackendContext, type BackendType, type Call, definePath } from '../../logical/backend.js'
import { isWithinBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid, permissionDenied } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { decideLockout, Lockout, type LockoutSettings } from '../../logical/lockout.js'
import { areSamePolicies } from '../../logical/old-token-fields.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import type { LoginAuth, RenewalTimes, Response, TokenOrigin } from '../../logical/request.js'
import { loginAuth, renewalTimes } from '../../logical/token-fields.js'
import { isPassword, ownerOf, type Passwords } from './password-worker.js'
import { userPaths } from './user-paths.js'
import { findUser, foldName, type User } from './users.js'

const LOGIN_FIELDS = {
  username: string('Name of the user, case-insensitive.'),
  password: string('The password.', '', { isSecret: true }),
}

interface UserpassOptions {
  readonly passwords: Passwords
  /** Default settings of user lockout. Undefined disables user lockout unless the tuning of a mount enables it. */
  readonly lockout: LockoutSettings | undefined
}

const RULES = new PathRuleTable({ 'login/*': { access: 'open' } })

const createUserpass = (context: BackendContext, { passwords, lockout: configured }: UserpassOptions): Backend => {
  const { storage } = context
  const lockout = new Lockout(context.clock, () => decideLockout(configured, context.mount.userLockout))

  const login = async ({ request, values }: Call<typeof LOGIN_FIELDS>): Promise<Response> => {
    const name = foldName(values.username)
    lockout.check(name)
    if (values.password === '') throw invalid('missing password')
    const user = findUser(storage, name)
    const isGood = await isPassword(
      passwords,
      values.password,
      user?.passwordHash,
      ownerOf(request.remoteAddress, name),
    )
    // Checks again, because other logins may have failed while this login was queued.
    lockout.check(name)
    if (!isGood || !user) {
      if (user) lockout.fail(name)
      throw invalid('invalid username or password')
    }
    lockout.unlock(name)
    if (!isWithinBoundCidrs(user.token.boundCidrs ?? [], request.remoteAddress)) throw permissionDenied()
    return { login: loginOf(name, user) }
  }

  const renew = ({ policies, internal }: TokenOrigin): RenewalTimes => {
    const name = String(internal.username)
    const user = findUser(storage, name)
    if (!user) throw invalid(`user ${JSON.stringify(name)} does not exist during renewal`)
    if (!areSamePolicies(user.token.policies, policies)) throw invalid('policies have changed, not renewing')
    return renewalTimes(user.token)
  }

  return {
    type: 'userpass',
    rules: RULES,
    paths: [
      definePath('login/:username', LOGIN_FIELDS, 'Log in with a password.', { update: login }),
      ...userPaths(context, passwords),
    ],
    lockedUsers: lockout,
    renew,
  }
}

export const createUserpassType = (options: UserpassOptions): BackendType => ({
  name: 'userpass',
  kind: 'auth',
  factory: (context) => createUserpass(context, options),
  localPrefixes: [],
})

const loginOf = (name: string, user: User): LoginAuth =>
  loginAuth(user.token, {
    displayName: name,
    metadata: { username: name },
    alias: { name, metadata: {} },
    internal: { username: name },
  })
