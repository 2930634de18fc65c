/** Endpoints for whole roles: list, create, update, read, delete, and the RoleID. */
import { type Call, definePath, listed, type MountView, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import { bool, commaList, duration, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { MountData } from './mount-data.js'
import { newRole, parseRoleName, type Role, ROLE_NAME_FIELD } from './roles.js'
import { formatGoDuration, wholeSeconds } from '../../base/duration.js'
import {
  applyOldNames,
  applyTokenFields,
  normalizePolicies,
  TOKEN_FIELDS,
  tokenFieldsData,
} from '../../logical/token-fields.js'
import { checkBlocks } from './cidr-rules.js'

/** The fields of a role: one table for create, update, read and the endpoints of single properties. */
export const ROLE_FIELDS = {
  ...ROLE_NAME_FIELD,
  role_id: string('The RoleID. Default: a random one.'),
  bind_secret_id: bool('Whether a login requires a SecretID.', true),
  secret_id_bound_cidrs: commaList('CIDR blocks from which clients can log in.'),
  bound_cidr_list: commaList('Deprecated name of secret_id_bound_cidrs.', { isDeprecated: true }),
  secret_id_num_uses: int('Number of uses of each SecretID; 0 means unlimited.'),
  secret_id_ttl: duration('TTL of each SecretID; 0 means no expiry.'),
  local_secret_ids: bool('Keeps SecretIDs on the cluster that issued them. Fixed at the creation of the role.'),
  policies: commaList('Deprecated name of token_policies.', { isDeprecated: true }),
  period: duration('Deprecated name of token_period.', 0, { isDeprecated: true }),
  ...TOKEN_FIELDS,
} as const

export type RoleCall = Call<typeof ROLE_FIELDS>

/**
 * Merges the fields of the request into `before`. Throws LogicalError 400 if a field or the merged role is invalid.
 * Does not check that the role restricts logins.
 */
const applyRoleFields = (
  call: RoleCall,
  before: Role,
  { isNew, mount }: { isNew: boolean; mount: MountView },
): { role: Role; warnings: string[] } => {
  const { values } = call
  const sent = sentBy(call)
  const oldPolicies = sent('policies')
  const renamed = applyOldNames(before, {
    policies: { old: oldPolicies && normalizePolicies(oldPolicies), new: sent('token_policies') },
    periodSeconds: { old: sent('period'), new: sent('token_period') },
  })
  const { settings: token, warnings } = applyTokenFields(call, renamed.token)
  if (call.supplied('local_secret_ids') && !isNew) {
    throw invalid('local_secret_ids can only be modified during role creation')
  }
  if (call.supplied('role_id') && values.role_id === '') {
    throw invalid('invalid role_id supplied, or failed to generate a role_id')
  }
  const role: Role = {
    ...renamed,
    roleId: sent('role_id') ?? before.roleId,
    bindSecretId: sent('bind_secret_id') ?? before.bindSecretId,
    hasLocalSecretIds: sent('local_secret_ids') ?? before.hasLocalSecretIds,
    secretIdBoundCidrs: sent('secret_id_bound_cidrs') ?? sent('bound_cidr_list') ?? before.secretIdBoundCidrs,
    secretIdNumUses: sent('secret_id_num_uses') ?? before.secretIdNumUses,
    secretIdTtlSeconds: sent('secret_id_ttl') ?? before.secretIdTtlSeconds,
    token,
  }
  checkSecretIdSettings(role)
  // `token_period` accepts any value, because the TTL of a token is capped when the token is issued.
  if (call.supplied('period') && !call.supplied('token_period')) checkPeriod(values.period, values.period, mount)
  if (token.maxTtlSeconds > mount.maxLeaseTtlSeconds) warnings.push(MAX_TTL_WARNING)
  return { role, warnings }
}

const MAX_TTL_WARNING =
  "token_max_ttl is greater than the backend mount's maximum TTL value; issued tokens' max TTL value will be truncated"

/** Throws LogicalError 400 if a CIDR block is invalid or the number of uses is negative. */
export const checkSecretIdSettings = (role: Role): void => {
  checkBlocks(role.secretIdBoundCidrs ?? [], 'CIDR blocks')
  if (role.secretIdNumUses < 0) throw invalid('secret_id_num_uses cannot be negative')
}

/** Throws LogicalError 400 if `seconds` exceeds the maximum of the mount. The error text shows `shownSeconds`. */
export const checkPeriod = (seconds: number, shownSeconds: number, { maxLeaseTtlSeconds }: MountView): void => {
  if (seconds <= maxLeaseTtlSeconds) return
  throw invalid(
    `period of "${formatGoDuration(shownSeconds)}" is greater than the backend's maximum lease TTL of "${formatGoDuration(maxLeaseTtlSeconds)}"`,
  )
}

/** Returns the data of a read response. Omits the RoleID and the HMAC key, and old names that are not set. */
const roleData = (role: Role): Record<string, unknown> => ({
  bind_secret_id: role.bindSecretId,
  local_secret_ids: role.hasLocalSecretIds,
  secret_id_bound_cidrs: role.secretIdBoundCidrs,
  secret_id_num_uses: role.secretIdNumUses,
  secret_id_ttl: wholeSeconds(role.secretIdTtlSeconds),
  ...tokenFieldsData(role.token),
  ...oldPoliciesData(role),
  ...oldPeriodData(role),
})

export const oldPoliciesData = ({ old }: Role) => (old.policies?.length ? { policies: old.policies } : {})

export const oldPeriodData = ({ old }: Role) => (old.periodSeconds ? { period: wholeSeconds(old.periodSeconds) } : {})

const ROLE_ID_FIELDS = { ...ROLE_NAME_FIELD, role_id: string('The RoleID.', '', { isRequired: true }) } as const

export const rolePaths = (data: MountData): PathSpec[] => {
  const { roles } = data
  const { random, mount } = data.context

  const write = async (call: RoleCall): Promise<Response | undefined> => {
    const name = parseRoleName(call.values.role_name)
    const warnings = await roles.write(name, (before) => {
      if (!before && call.request.operation === 'update') {
        throw invalid(`role name ${JSON.stringify(name)} not found during update operation`)
      }
      const { role, warnings } = applyRoleFields(call, before ?? newRole(name, random), { isNew: !before, mount })
      return { role, result: warnings }
    })
    return warnings.length === 0 ? undefined : { warnings }
  }

  return [
    definePath('role/?', {}, 'List the roles.', { list: () => listed(roles.list()) }),
    definePath('role/:role_name', ROLE_FIELDS, 'Read, write or delete a role.', {
      create: write,
      update: write,
      read: ({ values }) => shown(roles.find(values.role_name), roleData),
      delete: async ({ values }) => {
        const role = await roles.remove(values.role_name)
        if (role) await data.secretIdsOf(role).clear()
        return undefined
      },
      exists: ({ values }) => roles.find(values.role_name) !== undefined,
    }),
    definePath('role/:role_name/role-id', ROLE_ID_FIELDS, 'Read or set the RoleID of a role.', {
      read: ({ values }) => shown(roles.find(values.role_name), ({ roleId }) => ({ role_id: roleId })),
      update: ({ values }) =>
        roles.write(values.role_name, (role) => {
          if (!role) throw unsupportedPath()
          if (values.role_id === '') throw invalid('missing role_id')
          return { role: { ...role, roleId: values.role_id }, result: undefined }
        }),
    }),
  ]
}
