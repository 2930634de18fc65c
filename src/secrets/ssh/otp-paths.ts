/** One-time passwords. Each cluster stores those that it has created, and only hashes of them. */
import { canonicalAddress, isAddressInAny } from '../../base/cidr.js'
import { uuid } from '../../base/id.js'
import { sha256Hex } from '../../crypto/digest.js'
import { type BackendContext, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { IdentityTemplates } from '../../logical/identity-templates.js'
import type { LeasedSecret } from '../../logical/request.js'
import { putJson, readJson } from '../../logical/storage.js'
import { type Role, type Roles, splitList } from './role-paths.js'
import type { ZeroAddress } from './zero-address.js'

/** Key prefix of one-time passwords, whose data stays on this cluster. */
export const OTP_PREFIX = 'otp/'

interface OtpRecord {
  readonly username: string
  readonly ip: string
  readonly role: string
}

const CREDS_FIELDS = {
  role: string('Name of the role.'),
  ip: string('Address of the host.'),
  username: string('User on the host. Default: that of the role.'),
} as const
const LOOKUP_FIELDS = { ip: string('Address of the host.') } as const
const VERIFY_FIELDS = { otp: string('One-time password.', '', { isSecret: true }) } as const

interface OtpPathsOptions {
  readonly context: BackendContext
  readonly roles: Roles
  readonly zeroAddress: ZeroAddress
}

export const otpPaths = ({ context, roles, zeroAddress }: OtpPathsOptions): PathSpec[] => {
  const { localStorage, random } = context
  const isValidFor = (name: string, role: Role, ip: string): boolean =>
    zeroAddress.roles().includes(name) ||
    (isAddressInAny(splitList(role.cidr_list), ip) && !isAddressInAny(splitList(role.exclude_cidr_list), ip))
  return [
    definePath('creds/:role', CREDS_FIELDS, 'Create a one-time password, with a lease.', {
      update: async ({ request, values }) => {
        const { role: name } = values
        const role = roles.find(name)
        if (!role) throw invalid(`Role ${JSON.stringify(name)} not found`)
        const ip = parseIp(values.ip)
        const byDefault = role.default_user_template
          ? new IdentityTemplates(context, request).require(role.default_user)
          : role.default_user
        const username = chooseUser(role, values.username, byDefault)
        if (!isValidFor(name, role, ip)) throw invalid('Error validating IP: IP does not belong to role')
        const otp = uuid(random)
        const key = keyOf(otp)
        await localStorage.write((tx) => putJson(tx, key, { username, ip, role: name } satisfies OtpRecord))
        return {
          data: { ip, key: otp, key_type: 'otp', port: role.port, username },
          lease: { ttlSeconds: 0, isRenewable: false, internal: { key } },
        }
      },
    }),
    definePath('lookup', LOOKUP_FIELDS, 'List the roles that are valid for an address.', {
      update: async ({ values }) => {
        const ip = parseIp(values.ip)
        const names = await roles.names()
        const matching = names.filter((name) => {
          const role = roles.find(name)
          return role?.key_type === 'otp' && isValidFor(name, role, ip)
        })
        return { data: { roles: matching } }
      },
    }),
    definePath('verify', VERIFY_FIELDS, 'Verify a one-time password, without a token, and delete it.', {
      update: async ({ values: { otp } }) => {
        if (otp === ECHO_REQUEST) return { data: { message: 'verify-echo-response' } }
        const key = keyOf(otp)
        const found = await localStorage.write((tx) => {
          const record = readJson<OtpRecord>(tx, key)
          if (record) tx.delete(key)
          return record
        })
        if (!found) throw invalid('OTP not found')
        return { data: { ip: found.ip, role_name: found.role, username: found.username } }
      },
    }),
  ]
}

/** The text with which the helper on a host tests its configuration. */
const ECHO_REQUEST = 'verify-echo-request'

const keyOf = (otp: string): string => OTP_PREFIX + sha256Hex(otp)

/** Deletes a one-time password at the end of its lease. */
export const revokeOtp = async ({ localStorage }: BackendContext, { internal }: LeasedSecret): Promise<void> => {
  await localStorage.write((tx) => tx.delete(String(internal.key)))
}

const parseIp = (text: string): string => {
  if (text === '') throw invalid('Missing ip')
  const ip = text.includes('%') ? undefined : canonicalAddress(text)
  if (ip === undefined) throw invalid(`Invalid IP ${JSON.stringify(text)}`)
  return ip
}

const chooseUser = (role: Role, requested: string, byDefault: string): string => {
  if (requested === '' && byDefault === '') throw invalid("No default username registered. Use 'username' option")
  if (requested === '' || requested === byDefault) return byDefault
  const allowed = splitList(role.allowed_users)
  if (allowed.includes('*') || allowed.includes(requested)) return requested
  throw invalid('Username is not present is allowed users list')
}
