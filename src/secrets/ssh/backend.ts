/**
 * Access to hosts over SSH: certificates for keys, and one-time passwords. Roles and the certificate authority
 * replicate like all data of a mount. A secondary signs keys and creates one-time passwords itself, and forwards only
 * changes of settings.
 */
import { createPrivateKeyBytes, type MakePrivateKey } from '../../crypto/key-pairs.js'
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { Authority } from './authority.js'
import { OTP_PREFIX, otpPaths, revokeOtp } from './otp-paths.js'
import { createRoles, rolePaths } from './role-paths.js'
import { signPaths } from './sign-paths.js'
import { ZeroAddress } from './zero-address.js'

const RULES = new PathRuleTable({
  public_key: { access: 'open' },
  verify: { access: 'open' },
  'creds/*': { createsLease: true },
})

const createSsh = (context: BackendContext, makePrivateKey: MakePrivateKey): Backend => {
  const roles = createRoles(context)
  const zeroAddress = new ZeroAddress(context)
  const authority = new Authority(context, makePrivateKey)
  return {
    type: 'ssh',
    rules: RULES,
    paths: [
      ...authority.paths(),
      ...rolePaths(roles, zeroAddress),
      ...zeroAddress.paths((name) => roles.find(name) !== undefined),
      ...signPaths({ context, authority, roles, makePrivateKey }),
      ...otpPaths({ context, roles, zeroAddress }),
    ],
    revokeLease: (secret) => revokeOtp(context, secret),
  }
}

export const createSshType = (makePrivateKey: MakePrivateKey = createPrivateKeyBytes): BackendType => ({
  name: 'ssh',
  kind: 'secret',
  factory: (context) => createSsh(context, makePrivateKey),
  localPrefixes: [OTP_PREFIX],
})
