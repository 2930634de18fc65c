/**
 * The settings of a role that have their own endpoint, so that policies can grant access to each of them separately.
 */
import { wholeSeconds } from '../../base/duration.js'
import { type Call, definePath, type MountView, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid, LogicalError, unsupportedPath } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import { parseBoundCidrs } from '../../logical/bound-cidrs.js'
import { applyOldNames, checkTokenSettings, normalizePolicies, type TokenSettings } from '../../logical/token-fields.js'
import {
  checkPeriod,
  checkSecretIdSettings,
  oldPeriodData,
  oldPoliciesData,
  ROLE_FIELDS,
  type RoleCall,
} from './role-paths.js'
import { type Role, ROLE_NAME_FIELD } from './roles.js'
import type { FieldTable } from '../../logical/fields.js'
import type { MountData } from './mount-data.js'

type FieldName = keyof typeof ROLE_FIELDS & string

interface Property {
  /** The last field determines the path of the endpoint. */
  readonly fields: readonly FieldName[]
  readonly summary: string
  readonly read: (role: Role) => Response
  /** Returns the changed role, or undefined for no change. Throws LogicalError 400. Absent for a read-only property. */
  readonly write?: (role: Role, call: PropertyCall, mount: MountView) => Role | undefined
  readonly reset?: (role: Role) => Role
}

type PropertyCall = Pick<RoleCall, 'values' | 'supplied'>

const withToken = (role: Role, token: Partial<TokenSettings>): Role => ({ ...role, token: { ...role.token, ...token } })

/** Defines a property of one required field. */
const single = <K extends FieldName>(
  field: K,
  summary: string,
  get: (role: Role) => RoleCall['values'][K],
  set: (role: Role, value: RoleCall['values'][K]) => Role,
  check: (role: Role) => void = () => {},
): Property => ({
  fields: [field],
  summary,
  read: (role) => ({ data: { [field]: get(role) } }),
  write: (role, { values, supplied }) => {
    if (!supplied(field)) throw invalid(`missing ${field}`)
    const after = set(role, values[field])
    check(after)
    return after
  },
  reset: (role) => set(role, ROLE_FIELDS[field].defaultValue as RoleCall['values'][K]),
})

/** Returns the write function for the CIDR blocks of logins. `field` is the new or the old name of the setting. */
const writeLoginBlocks =
  (field: 'secret_id_bound_cidrs' | 'bound_cidr_list') =>
  (role: Role, { values, supplied }: PropertyCall): Role | undefined => {
    if (!supplied(field)) return undefined
    if (values[field].length === 0) throw invalid('missing bound_cidr_list')
    return { ...role, secretIdBoundCidrs: values[field] }
  }

const writePolicies = (role: Role, { values, supplied }: PropertyCall): Role => {
  if (!supplied('token_policies') && !supplied('policies')) throw invalid('missing token_policies')
  return applyOldNames(role, {
    policies: {
      old: supplied('policies') ? normalizePolicies(values.policies) : undefined,
      new: supplied('token_policies') ? normalizePolicies(values.token_policies) : undefined,
    },
  })
}

const writePeriod = (role: Role, call: PropertyCall, mount: MountView): Role => {
  const sent = sentBy(call)
  const [old, now] = [sent('period'), sent('token_period')]
  if (now === undefined && old === undefined) throw invalid('missing period')
  const after = applyOldNames(role, { periodSeconds: { old, new: now } })
  checkPeriod(after.token.periodSeconds, call.values.period, mount)
  return after
}

const writeTokenBlocks = (role: Role, { values, supplied }: PropertyCall): Role | undefined => {
  if (!supplied('token_bound_cidrs')) return undefined
  try {
    return withToken(role, { boundCidrs: parseBoundCidrs(values.token_bound_cidrs) })
  } catch (cause) {
    if (!(cause instanceof LogicalError)) throw cause
    throw new LogicalError(cause.code, `failed to parse token_bound_cidrs: ${cause.message}`, { cause })
  }
}

const OLD_BLOCKS_WARNING =
  'The "bound_cidr_list" field is deprecated and will be removed. Please use "secret_id_bound_cidrs" instead.'

const PROPERTIES: readonly Property[] = [
  {
    fields: ['token_policies', 'policies'],
    summary: 'Policies of the tokens of a role.',
    read: (role) => ({ data: { token_policies: role.token.policies, ...oldPoliciesData(role) } }),
    write: writePolicies,
    reset: (role) => applyOldNames(role, { policies: { new: [] } }),
  },
  single(
    'secret_id_num_uses',
    'Number of uses of the SecretIDs of a role.',
    (role) => role.secretIdNumUses,
    (role, secretIdNumUses) => ({ ...role, secretIdNumUses }),
  ),
  single(
    'secret_id_ttl',
    'TTL of the SecretIDs of a role.',
    (role) => wholeSeconds(role.secretIdTtlSeconds),
    (role, secretIdTtlSeconds) => ({ ...role, secretIdTtlSeconds }),
  ),
  single(
    'token_ttl',
    'TTL of the tokens of a role.',
    (role) => wholeSeconds(role.token.ttlSeconds),
    (role, ttlSeconds) => withToken(role, { ttlSeconds }),
    (role) => checkTtls(role, 'token_ttl should not be greater than token_max_ttl'),
  ),
  single(
    'token_max_ttl',
    'Maximum TTL of the tokens of a role.',
    (role) => wholeSeconds(role.token.maxTtlSeconds),
    (role, maxTtlSeconds) => withToken(role, { maxTtlSeconds }),
    (role) => checkTtls(role, 'token_max_ttl should be greater than or equal to token_ttl'),
  ),
  single(
    'token_num_uses',
    'Number of uses of the tokens of a role.',
    (role) => role.token.numUses,
    (role, numUses) => withToken(role, { numUses }),
  ),
  single(
    'bind_secret_id',
    'Whether logins to a role require a SecretID.',
    (role) => role.bindSecretId,
    (role, bindSecretId) => ({ ...role, bindSecretId }),
  ),
  {
    fields: ['secret_id_bound_cidrs'],
    summary: 'CIDR blocks from which clients can log in to a role.',
    read: (role) => ({ data: { secret_id_bound_cidrs: role.secretIdBoundCidrs } }),
    write: writeLoginBlocks('secret_id_bound_cidrs'),
    reset: (role) => ({ ...role, secretIdBoundCidrs: null }),
  },
  {
    fields: ['token_bound_cidrs'],
    summary: 'CIDR blocks from which clients can log in to a role and use its tokens.',
    read: ({ token }) => ({ data: { token_bound_cidrs: token.boundCidrs } }),
    write: writeTokenBlocks,
    reset: (role) => withToken(role, { boundCidrs: null }),
  },
  {
    fields: ['token_period', 'period'],
    summary: 'Period of the tokens of a role.',
    read: (role) => ({ data: { token_period: wholeSeconds(role.token.periodSeconds), ...oldPeriodData(role) } }),
    write: writePeriod,
    reset: (role) => applyOldNames(role, { periodSeconds: { new: 0 } }),
  },
  {
    fields: ['bound_cidr_list'],
    summary: 'Former name of secret-id-bound-cidrs. Reads return nothing, and a reset has no effect.',
    read: () => ({ data: { bound_cidr_list: null }, warnings: [OLD_BLOCKS_WARNING] }),
    write: writeLoginBlocks('bound_cidr_list'),
    reset: (role) => role,
  },
  {
    fields: ['local_secret_ids'],
    summary: 'Whether the SecretIDs of a role are local to their cluster.',
    read: (role) => ({ data: { local_secret_ids: role.hasLocalSecretIds } }),
  },
]

const checkTtls = ({ token }: Role, message: string): void => {
  if (token.maxTtlSeconds > 0 && token.ttlSeconds > token.maxTtlSeconds) throw invalid(message)
}

type NameCall = Call<typeof ROLE_NAME_FIELD>

/** Returns one endpoint per property. A write performs the same checks as a write of the whole role. */
export const propertyPaths = (data: MountData): PathSpec[] => PROPERTIES.map((property) => pathOf(data, property))

const pathOf = (data: MountData, { fields, summary, read, write, reset }: Property): PathSpec => {
  const { roles } = data

  const show = ({ values }: NameCall): Response | undefined => {
    const role = roles.find(values.role_name)
    return role && read(role)
  }

  const change = (call: NameCall & PropertyCall, write: NonNullable<Property['write']>): Promise<undefined> =>
    roles.write(call.values.role_name, (before) => {
      if (!before) throw unsupportedPath()
      return { role: checked(write(before, call, data.context.mount)), result: undefined }
    })

  const clear = (call: NameCall, reset: NonNullable<Property['reset']>): Promise<undefined> =>
    roles.write(call.values.role_name, (before) => ({ role: before && checked(reset(before)), result: undefined }))

  return definePath<FieldTable>(
    `role/:role_name/${fields.at(-1)?.replaceAll('_', '-')}`,
    { ...ROLE_NAME_FIELD, ...Object.fromEntries(fields.map((field) => [field, ROLE_FIELDS[field]])) },
    summary,
    {
      read: (call) => show(call as NameCall),
      ...(write && { update: (call) => change(call as NameCall & PropertyCall, write) }),
      ...(reset && { delete: (call) => clear(call as NameCall, reset) }),
    },
  )
}

const checked = (role: Role | undefined): Role | undefined => {
  if (role) {
    checkSecretIdSettings(role)
    checkTokenSettings(role.token)
  }
  return role
}
