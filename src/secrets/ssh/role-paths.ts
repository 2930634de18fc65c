/** Roles: which certificates or one-time passwords a client may request. A role is stored with the names of the API. */
import { parseCidr } from '../../base/cidr.js'
import { isGenericName } from '../../base/id.js'
import { type BackendContext, definePath, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { any, bool, duration, type FieldTable, int, map, pairs, string, type Values } from '../../logical/fields.js'
import type { JsonValue } from '../../logical/json.js'
import { Records } from '../../logical/records.js'
import { RSA_SIGNERS } from './certificates.js'
import type { ZeroAddress } from './zero-address.js'

const COMMON = {
  key_type: string('Type of the role: ca or otp.'),
  default_user: string('User name if the request names none.'),
  default_user_template: bool('`default_user` contains identity templates.'),
  allowed_users: string('Allowed user names, separated by commas, or `*`.'),
} as const

const OTP = {
  cidr_list: string('Blocks of addresses, separated by commas, for which the role is valid.'),
  exclude_cidr_list: string('Blocks of addresses, separated by commas, for which the role is not valid.'),
  port: int('Port that clients connect to. The server does not use it.', 22),
} as const

const CA = {
  ttl: duration('TTL of certificates without a requested TTL. Default: the default lease TTL of the mount.'),
  max_ttl: duration('Maximum TTL. Default: the maximum lease TTL of the mount.'),
  allowed_users_template: bool('`allowed_users` contains identity templates.'),
  allowed_domains: string('Domains of hosts, separated by commas, or `*`.'),
  allowed_domains_template: bool('`allowed_domains` contains identity templates.'),
  allowed_critical_options: string('Allowed critical options, separated by commas. Default: all.'),
  allowed_extensions: string('Allowed extensions, separated by commas, or `*`. Default: none.'),
  default_critical_options: pairs('Critical options of certificates without requested ones.'),
  default_extensions: pairs('Extensions of certificates without requested ones.'),
  default_extensions_template: bool('The values of `default_extensions` contain identity templates.'),
  allow_user_certificates: bool('Allows certificates for users.'),
  allow_host_certificates: bool('Allows certificates for hosts.'),
  allow_bare_domains: bool('Allows the domains themselves.'),
  allow_subdomains: bool('Allows subdomains of the domains.'),
  allow_user_key_ids: bool('Allows requested key IDs.'),
  allow_empty_principals: bool('Allows certificates without principals, which are valid for all users or hosts.'),
  key_id_format: string('Key ID, with {{token_display_name}}, {{role_name}} and {{public_key_hash}}.'),
  allowed_user_key_lengths: map('Allowed numbers of bits by type of key.'),
  algorithm_signer: string('Signature algorithm of RSA authorities.', 'default'),
  not_before_duration: duration('The validity begins this long before the request.', 30),
} as const

const FIELDS = {
  role: string('Name of the role.'),
  ...COMMON,
  ...OTP,
  ...CA,
  key: any('Rejected: roles of type dynamic no longer exist.'),
  admin_user: any('Rejected: roles of type dynamic no longer exist.'),
} as const satisfies FieldTable

type RoleValues = Values<typeof FIELDS>

/** The settings of both types of role. Those of the other type have no effect. */
export interface Role
  extends Omit<Values<typeof COMMON & typeof OTP & typeof CA>, 'key_type' | 'allowed_user_key_lengths'> {
  readonly key_type: 'ca' | 'otp'
  readonly allowed_user_key_lengths: Readonly<Record<string, readonly number[]>>
}

const SHOWN = {
  otp: ['allowed_users', 'cidr_list', 'default_user', 'exclude_cidr_list', 'key_type', 'port'],
  ca: ['allowed_users', 'default_user', 'default_user_template', 'key_type', ...Object.keys(CA)],
} as const

const roleData = (role: Role): Record<string, unknown> =>
  Object.fromEntries(SHOWN[role.key_type].map((name) => [name, role[name as keyof Role]]))

export const createRoles = (context: BackendContext) => new Records<Role>(context, 'roles/')
export type Roles = ReturnType<typeof createRoles>

export const rolePaths = (roles: Roles, zeroAddress: ZeroAddress): PathSpec[] => [
  definePath('roles/?', {}, 'List the roles.', {
    list: async () => {
      const keys = await roles.names()
      const types = keys.map((name) => [name, { key_type: roles.find(name)?.key_type ?? '' }])
      return { data: { keys, key_info: Object.fromEntries(types) } }
    },
  }),
  definePath('roles/:role', FIELDS, 'Create, read or delete a role.', {
    update: async ({ values }) => {
      if (!isGenericName(values.role)) throw invalid(`invalid role name ${JSON.stringify(values.role)}`)
      const role = parseRole(values)
      await roles.update(values.role, () => role)
      return undefined
    },
    read: ({ values }) => shown(roles.find(values.role), roleData),
    delete: async ({ values }) => {
      await roles.remove(values.role)
      await zeroAddress.removeRole(values.role)
      return undefined
    },
  }),
]

const parseRole = ({ role: _name, key: _key, admin_user: _admin, ...values }: RoleValues): Role => {
  const { key_type: type } = values
  if (type === '') throw invalid('missing key type')
  if (type === 'dynamic') throw invalid('dynamic key type roles are no longer supported')
  if (type !== 'otp' && type !== 'ca') throw invalid('invalid key type')
  if (type === 'otp') checkOtp(values)
  else checkCa(values)
  return {
    ...values,
    key_type: type,
    algorithm_signer: values.algorithm_signer || 'default',
    default_critical_options: values.default_critical_options ?? {},
    default_extensions: values.default_extensions ?? {},
    allowed_user_key_lengths: parseLengths(values.allowed_user_key_lengths ?? {}),
  }
}

const checkOtp = (values: Values<typeof COMMON & typeof OTP>): void => {
  if (values.default_user === '') throw invalid('missing default user')
  for (const field of ['cidr_list', 'exclude_cidr_list'] as const) {
    const broken = splitList(values[field]).find((block) => !parseCidr(block))
    if (broken !== undefined) throw invalid(`failed to validate ${field}: invalid CIDR address: ${broken}`)
  }
}

const checkCa = (values: Values<typeof CA>): void => {
  if (!values.allow_user_certificates && !values.allow_host_certificates) {
    throw invalid("Either 'allow_user_certificates' or 'allow_host_certificates' must be set to 'true'")
  }
  if (values.max_ttl > 0 && values.ttl > values.max_ttl) {
    throw invalid('"ttl" value must be less than "max_ttl" when both are specified')
  }
  if (values.algorithm_signer !== '' && !Object.hasOwn(RSA_SIGNERS, values.algorithm_signer)) {
    throw invalid(`unknown algorithm signer ${JSON.stringify(values.algorithm_signer)}`)
  }
}

/** Returns the numbers of bits by type. A client sends a number or a list of numbers for each type. */
const parseLengths = (lengths: Readonly<Record<string, JsonValue>>): Record<string, number[]> =>
  Object.fromEntries(
    Object.entries(lengths).map(([type, value]) => [
      type,
      [value].flat().map((bits) => {
        const number = /^-?\d{1,9}$/.test(String(bits)) ? Number(bits) : undefined
        if (number === undefined)
          throw invalid(`error processing allowed_user_key_lengths: ${JSON.stringify(bits)} is not a number`)
        return number
      }),
    ]),
  )

/** Splits a list at commas, and trims its elements. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
