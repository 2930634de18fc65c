/**
 * AppRole: machines log in with a RoleID and a SecretID. Roles and SecretIDs replicate, except for the SecretIDs of
 * roles with local SecretIDs. The core creates the tokens of logins, which stay on the cluster that issued them.
 */
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { decideLockout, Lockout, type LockoutSettings } from '../../logical/lockout.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { accessorPaths, secretIdPaths } from './secret-id-paths.js'
import { LOGIN_PATH, loginPath, renewLogin } from './login.js'
import { MountData } from './mount-data.js'
import { propertyPaths } from './properties.js'
import { rolePaths } from './role-paths.js'
import { LOCAL_FOLDERS } from './secret-id-records.js'
import { tidyPath, tidyWork } from './tidy.js'

export interface ApproleOptions {
  /** The interval between two runs of the tidy operation, in milliseconds. */
  readonly tidyIntervalMs: number
  /** Default settings of user lockout. Undefined disables user lockout unless the tuning of a mount enables it. */
  readonly lockout: LockoutSettings | undefined
}

const RULES = new PathRuleTable({ [LOGIN_PATH]: { access: 'open' } })

const createApprole = (context: BackendContext, options: ApproleOptions): Backend => {
  const data = new MountData(context)
  const lockout = new Lockout(context.clock, () => decideLockout(options.lockout, context.mount.userLockout))
  const tidy = tidyWork(data)
  return {
    type: 'approle',
    rules: RULES,
    paths: [
      ...rolePaths(data),
      ...propertyPaths(data),
      ...secretIdPaths(data),
      ...accessorPaths(data),
      loginPath(data, lockout),
      tidyPath(tidy),
    ],
    lockedUsers: lockout,
    roles: {
      find: ({ data: { role_id } }, path) =>
        path === LOGIN_PATH && typeof role_id === 'string' ? data.roles.findByRoleId(role_id.trim())?.name : undefined,
      metadataKey: 'role_name',
    },
    renew: (origin) => renewLogin(data, origin),
    invalidate: (key) => data.invalidate(key),
    start: (signal) => tidy.start(context.clock, options.tidyIntervalMs, signal),
    stop: () => tidy.settled(),
  }
}

export const createApproleType = (options: ApproleOptions): BackendType => ({
  name: 'approle',
  kind: 'auth',
  factory: (context) => createApprole(context, options),
  localPrefixes: [LOCAL_FOLDERS.secretIds, LOCAL_FOLDERS.accessors],
})
