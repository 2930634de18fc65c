/** Roles: the tokens that may log in, and the settings of the tokens that they get. `role/<name>` contains a role. */
import { isGenericName } from '../../base/id.js'
import { wholeSeconds } from '../../base/duration.js'
import {
  type BackendContext,
  type Call,
  definePath,
  listed,
  type PathSpec,
  sentBy,
  shown,
} from '../../logical/backend.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import { bool, commaList, duration, map, pairs, signedDuration, string } from '../../logical/fields.js'
import { applyTokenNames, OLD_TOKEN_FIELDS, oldNamesData } from '../../logical/old-token-fields.js'
import type { Response } from '../../logical/request.js'
import { putJson, readRecord, type ReadStorage } from '../../logical/storage.js'
import {
  DEFAULT_TOKEN_SETTINGS,
  type OldNames,
  TOKEN_FIELDS,
  tokenFieldsData,
  type TokenSettings,
} from '../../logical/token-fields.js'
import { type JsonValue, nullIfEmpty } from '../../logical/json.js'
import { type ClaimRules, claimValues } from './claims.js'

export interface JwtRole extends ClaimRules {
  readonly boundAudiences: readonly string[]
  readonly boundSubject: string
  /** In seconds; 0 means the default, a negative value none. */
  readonly clockSkewSeconds: number
  readonly expirationLeewaySeconds: number
  readonly notBeforeLeewaySeconds: number
  /** Settings of browser logins, which have no effect on a role of the type `jwt`. */
  readonly redirectUris: readonly string[]
  readonly oidcScopes: readonly string[]
  readonly maxAgeSeconds: number
  readonly token: TokenSettings
  readonly old: OldNames
}

const ROLE_FIELDS = {
  name: string('Name of the role, case-insensitive.'),
  role_type: string('Type of the role. This server supports only jwt.', 'oidc'),
  bound_audiences: commaList('Accepted values of the claim aud. One of them must match.'),
  bound_subject: string('The value that the claim sub must have.'),
  bound_claims: map('Required claims, each with its accepted values.'),
  bound_claims_type: string('How bound_claims are compared: string or glob.', 'string'),
  user_claim: string('The claim with the name of the user.', '', { isRequired: true }),
  user_claim_json_pointer: bool('Whether user_claim is a JSON pointer.'),
  groups_claim: string('The claim with the groups of the user.'),
  claim_mappings: pairs('Claims that become metadata of the token, with the keys of the metadata.'),
  clock_skew_leeway: signedDuration('Tolerance of all times; 0 means 60 seconds, -1 means none.'),
  expiration_leeway: signedDuration('Lifetime of tokens without exp; 0 means 150 seconds, -1 means none.'),
  not_before_leeway: signedDuration('Time before exp of tokens without nbf; 0 means 150 seconds, -1 means none.'),
  allowed_redirect_uris: commaList('Stored without effect: for logins with a browser.'),
  oidc_scopes: commaList('Stored without effect: for logins with a browser.'),
  verbose_oidc_logging: bool('Not supported.'),
  max_age: duration('Stored without effect: for logins with a browser.'),
  ...OLD_TOKEN_FIELDS,
  ...TOKEN_FIELDS,
} as const

type RoleCall = Call<typeof ROLE_FIELDS>

const ROLE_PREFIX = 'role/'
const keyOf = (name: string): string => ROLE_PREFIX + name.toLowerCase()

const NEW_ROLE: JwtRole = {
  boundAudiences: [],
  boundSubject: '',
  boundClaims: {},
  boundClaimsType: 'string',
  userClaim: '',
  isUserClaimPointer: false,
  groupsClaim: '',
  claimMappings: {},
  clockSkewSeconds: 0,
  expirationLeewaySeconds: 0,
  notBeforeLeewaySeconds: 0,
  redirectUris: [],
  oidcScopes: [],
  maxAgeSeconds: 0,
  token: DEFAULT_TOKEN_SETTINGS,
  old: {},
}

/** Finds a role by its name in any letter case. */
export const findRole = (storage: ReadStorage, name: string): JwtRole | undefined =>
  readRecord<JwtRole>(storage, keyOf(name))

export const rolePaths = ({ storage }: BackendContext): PathSpec[] => {
  const write = (call: RoleCall): Promise<Response | undefined> => {
    const { name } = call.values
    if (!isGenericName(name)) throw unsupportedPath()
    return storage.write((tx) => {
      const { role, warnings } = applyRoleFields(call, findRole(tx, name) ?? NEW_ROLE)
      putJson(tx, keyOf(name), role)
      return warnings.length === 0 ? undefined : { warnings }
    })
  }
  return [
    definePath('role/?', {}, 'List the roles.', { list: () => listed(storage.list(ROLE_PREFIX)) }),
    definePath('role/:name', ROLE_FIELDS, 'Read, write or delete a role.', {
      read: ({ values }) => shown(findRole(storage, values.name), roleData),
      create: write,
      update: write,
      delete: ({ values }) => storage.write((tx) => void tx.delete(keyOf(values.name))),
      exists: ({ values }) => findRole(storage, values.name) !== undefined,
    }),
  ]
}

/** Merges the fields of the request into the role. Throws LogicalError 400 if a field or the result is invalid. */
const applyRoleFields = (call: RoleCall, current: JwtRole): { role: JwtRole; warnings: string[] } => {
  refuseOidc(call)
  const sent = sentBy(call)
  const { token, old, warnings } = applyTokenNames(call, current)
  const role: JwtRole = {
    boundAudiences: sent('bound_audiences') ?? current.boundAudiences,
    boundSubject: sent('bound_subject') ?? current.boundSubject,
    boundClaims: sent('bound_claims') ?? current.boundClaims,
    boundClaimsType: call.values.bound_claims_type,
    userClaim: sent('user_claim') ?? current.userClaim,
    isUserClaimPointer: sent('user_claim_json_pointer') ?? current.isUserClaimPointer,
    groupsClaim: sent('groups_claim') ?? current.groupsClaim,
    claimMappings: sent('claim_mappings') ?? current.claimMappings,
    clockSkewSeconds: sent('clock_skew_leeway') ?? current.clockSkewSeconds,
    expirationLeewaySeconds: sent('expiration_leeway') ?? current.expirationLeewaySeconds,
    notBeforeLeewaySeconds: sent('not_before_leeway') ?? current.notBeforeLeewaySeconds,
    redirectUris: sent('allowed_redirect_uris') ?? current.redirectUris,
    oidcScopes: sent('oidc_scopes') ?? current.oidcScopes,
    maxAgeSeconds: sent('max_age') ?? current.maxAgeSeconds,
    token,
    old,
  }
  checkRole(role)
  return { role, warnings }
}

/** Throws LogicalError 400 for a role of logins with a browser, and for a log of tokens. */
const refuseOidc = ({ values }: RoleCall): void => {
  const { role_type: type } = values
  if (type === 'oidc') throw invalid('role_type "oidc" is not supported by this server: set role_type to "jwt"')
  if (type !== 'jwt') throw invalid(`invalid 'role_type': ${type}`)
  if (values.verbose_oidc_logging) throw invalid('verbose_oidc_logging is not supported: this server logs no tokens')
}

/** The metadata key of the role of a login. */
export const ROLE_METADATA = 'role'

const checkRole = (role: JwtRole): void => {
  if (role.userClaim === '') throw invalid('a user claim must be defined on the role')
  if (!['string', 'glob'].includes(role.boundClaimsType)) {
    throw invalid(`invalid 'bound_claims_type': ${role.boundClaimsType}`)
  }
  if (role.boundClaimsType === 'glob') Object.values(role.boundClaims).forEach(checkGlobs)
  const keys = Object.values(role.claimMappings)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined) throw invalid(`multiple keys are mapped to metadata key ${JSON.stringify(twice)}`)
  if (keys.includes(ROLE_METADATA)) {
    throw invalid(`metadata key "${ROLE_METADATA}" is reserved and may not be a mapping destination`)
  }
  const bounds = [role.boundAudiences, role.boundSubject, Object.keys(role.boundClaims), role.token.boundCidrs ?? []]
  if (bounds.every(({ length }) => length === 0)) {
    throw invalid('must have at least one bound constraint when creating/updating a role')
  }
}

const checkGlobs = (value: JsonValue): void => {
  const values = claimValues(value)
  if (!values) throw invalid(`claim is not a string or list: ${JSON.stringify(value)}`)
  const other = values.find((one) => typeof one !== 'string')
  if (other !== undefined) throw invalid(`claim is not a string: ${JSON.stringify(other)}`)
}

const roleData = (role: JwtRole): Record<string, unknown> => ({
  ...tokenFieldsData(role.token),
  ...oldNamesData(role),
  allowed_redirect_uris: nullIfEmpty(role.redirectUris),
  bound_audiences: nullIfEmpty(role.boundAudiences),
  bound_claims: nullIfEmpty(role.boundClaims),
  bound_claims_type: role.boundClaimsType,
  bound_subject: role.boundSubject,
  claim_mappings: nullIfEmpty(role.claimMappings),
  clock_skew_leeway: wholeSeconds(role.clockSkewSeconds),
  expiration_leeway: wholeSeconds(role.expirationLeewaySeconds),
  groups_claim: role.groupsClaim,
  max_age: wholeSeconds(role.maxAgeSeconds),
  not_before_leeway: wholeSeconds(role.notBeforeLeewaySeconds),
  oidc_scopes: nullIfEmpty(role.oidcScopes),
  role_type: 'jwt',
  user_claim: role.userClaim,
  user_claim_json_pointer: role.isUserClaimPointer,
  verbose_oidc_logging: false,
})
