import { wholeSeconds } from '../../base/duration.js'
import { parseBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { bool, commaList, duration, int, string } from '../../logical/fields.js'
import { type Call, sentBy } from '../../logical/backend.js'
import { applyRenamed, lowerNames, normalizePolicies, type Renamed } from '../../logical/token-fields.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'

const ROLE_TYPES = ['default-service', 'default-batch', 'service', 'batch'] as const
type RoleTokenType = (typeof ROLE_TYPES)[number]

/**
 * A stored token role. Durations are in seconds, with 0 for not set. A `Renamed` field also contains the value that was
 * last written under its old name.
 */
export interface TokenRole {
  readonly name: string
  readonly allowedPolicies: readonly string[]
  readonly disallowedPolicies: readonly string[]
  readonly allowedPoliciesGlob: readonly string[]
  readonly disallowedPoliciesGlob: readonly string[]
  readonly allowedEntityAliases: readonly string[] | null
  readonly isOrphan: boolean
  readonly isRenewable: boolean
  readonly pathSuffix: string
  readonly period: Renamed<number>
  readonly explicitMaxTtl: Renamed<number>
  readonly boundCidrs: Renamed<readonly string[]>
  readonly numUses: number
  readonly noDefaultPolicy: boolean
  readonly tokenType: RoleTokenType
}

export const ROLE_FIELDS = {
  name: string('Name of the role.'),
  allowed_policies: commaList('Policies that tokens of the role may have.'),
  disallowed_policies: commaList('Policies that tokens of the role may not have.'),
  allowed_policies_glob: commaList('Patterns of policies that tokens of the role may have.'),
  disallowed_policies_glob: commaList('Patterns of policies that tokens of the role may not have.'),
  allowed_entity_aliases: commaList('Names or patterns of the entity aliases that tokens may have.'),
  orphan: bool('Creates tokens without a parent.'),
  renewable: bool('Tokens can be renewed.', true),
  path_suffix: string('Suffix of the creation path of tokens, so that they can be revoked together.'),
  period: duration('Deprecated name of token_period.', 0, { isDeprecated: true }),
  token_period: duration('Period of the tokens: each renewal sets their TTL to this value.'),
  explicit_max_ttl: duration('Deprecated name of token_explicit_max_ttl.', 0, { isDeprecated: true }),
  token_explicit_max_ttl: duration('Maximum TTL from creation. Renewals cannot extend it.'),
  bound_cidrs: commaList('Deprecated name of token_bound_cidrs.', { isDeprecated: true }),
  token_bound_cidrs: commaList('CIDR blocks from which tokens can be used.'),
  token_num_uses: int('Number of uses of a token; 0 means unlimited.'),
  token_no_default_policy: bool('Omits the policy `default` from the tokens.'),
  token_type: string('default-service, default-batch, service or batch.', 'default-service'),
}

type RoleCall = Pick<Call<typeof ROLE_FIELDS>, 'values' | 'supplied'>

const newRole = (name: string): TokenRole => ({
  name,
  allowedPolicies: [],
  disallowedPolicies: [],
  allowedPoliciesGlob: [],
  disallowedPoliciesGlob: [],
  allowedEntityAliases: null,
  isOrphan: false,
  isRenewable: true,
  pathSuffix: '',
  period: { value: 0, remembered: undefined },
  explicitMaxTtl: { value: 0, remembered: undefined },
  boundCidrs: { value: [], remembered: undefined },
  numUses: 0,
  noDefaultPolicy: false,
  tokenType: 'default-service',
})

/** Merges the fields of the request into the role. Throws LogicalError 400 if a field or the merged role is invalid. */
const applyRoleFields = (
  call: RoleCall,
  name: string,
  before: TokenRole | undefined,
): { role: TokenRole; warnings: string[] } => {
  const current = before ?? newRole(name)
  const sent = sentBy(call)
  const cidrs = (texts: readonly string[] | undefined) => texts && parseCidrs(texts)
  const policies = (texts: readonly string[] | undefined) => texts && normalizePolicies(texts)
  const names = (texts: readonly string[] | undefined) => texts && lowerNames(texts)
  const type = sent('token_type')
  const role: TokenRole = {
    name,
    allowedPolicies: policies(sent('allowed_policies')) ?? current.allowedPolicies,
    disallowedPolicies: names(sent('disallowed_policies')) ?? current.disallowedPolicies,
    allowedPoliciesGlob: policies(sent('allowed_policies_glob')) ?? current.allowedPoliciesGlob,
    disallowedPoliciesGlob: names(sent('disallowed_policies_glob')) ?? current.disallowedPoliciesGlob,
    allowedEntityAliases: names(sent('allowed_entity_aliases')) ?? current.allowedEntityAliases,
    isOrphan: sent('orphan') ?? current.isOrphan,
    isRenewable: sent('renewable') ?? current.isRenewable,
    pathSuffix: sent('path_suffix') ?? current.pathSuffix,
    period: applyRenamed({ old: sent('period'), new: sent('token_period') }, current.period),
    explicitMaxTtl: applyRenamed(
      { old: sent('explicit_max_ttl'), new: sent('token_explicit_max_ttl') },
      current.explicitMaxTtl,
    ),
    boundCidrs: applyRenamed(
      { old: cidrs(sent('bound_cidrs')), new: cidrs(sent('token_bound_cidrs')) },
      current.boundCidrs,
    ),
    numUses: sent('token_num_uses') ?? current.numUses,
    noDefaultPolicy: sent('token_no_default_policy') ?? current.noDefaultPolicy,
    tokenType: type === undefined ? current.tokenType : parseRoleType(type),
  }
  checkRole(role)
  return {
    role,
    warnings: DEPRECATED.filter(([old, now]) => call.supplied(old) && call.supplied(now)).map(bothWarning),
  }
}

const DEPRECATED = [
  ['period', 'token_period'],
  ['explicit_max_ttl', 'token_explicit_max_ttl'],
  ['bound_cidrs', 'token_bound_cidrs'],
] as const

const bothWarning = ([old, now]: readonly [string, string]): string =>
  `Both '${now}' and deprecated '${old}' value supplied, ignoring the deprecated value`

const parseRoleType = (text: string): RoleTokenType => {
  if (text === '' || text === 'default') return 'default-service'
  const type = ROLE_TYPES.find((known) => known === text)
  if (!type) throw invalid(`invalid 'token_type' value ${JSON.stringify(text)}`)
  return type
}

const parseCidrs = (texts: readonly string[]): string[] => {
  try {
    return parseBoundCidrs(texts)
  } catch (error) {
    throw error instanceof LogicalError ? invalid(`error parsing role fields: ${error.message}`) : error
  }
}

const BATCH = "'token_type' cannot be 'batch' when role is set to generate"
const SUFFIX = /^\w[\w.-]+\w$/

/** Rules for the whole role, in Vault's order: a write fails with the first violation. */
const RULES: readonly { readonly isBroken: (role: TokenRole) => boolean; readonly message: string }[] = [
  {
    isBroken: ({ pathSuffix }) => pathSuffix !== '' && (!SUFFIX.test(pathSuffix) || pathSuffix.includes('..')),
    message: 'given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w',
  },
  { isBroken: (role) => role.numUses < 0, message: "'token_num_uses' cannot be negative" },
  { isBroken: (role) => isBatch(role) && !role.isOrphan, message: `${BATCH} non-orphan tokens` },
  { isBroken: (role) => isBatch(role) && role.period.value > 0, message: `${BATCH} periodic tokens` },
  { isBroken: (role) => isBatch(role) && role.isRenewable, message: `${BATCH} renewable tokens` },
  {
    isBroken: (role) => isBatch(role) && role.explicitMaxTtl.value > 0,
    message: `${BATCH} tokens with an explicit max TTL`,
  },
  {
    isBroken: (role) => isBatch(role) && role.numUses > 0,
    message: `${BATCH} tokens with limited use count`,
  },
]

const isBatch = (role: TokenRole): boolean => role.tokenType === 'batch'

const checkRole = (role: TokenRole): void => {
  const broken = RULES.find((rule) => rule.isBroken(role))
  if (broken) throw invalid(broken.message)
}

export const roleData = (role: TokenRole): Record<string, unknown> => ({
  allowed_entity_aliases: role.allowedEntityAliases,
  allowed_policies: role.allowedPolicies,
  allowed_policies_glob: role.allowedPoliciesGlob,
  ...(role.boundCidrs.remembered?.length ? { bound_cidrs: role.boundCidrs.remembered } : {}),
  disallowed_policies: role.disallowedPolicies,
  disallowed_policies_glob: role.disallowedPoliciesGlob,
  explicit_max_ttl: wholeSeconds(role.explicitMaxTtl.remembered ?? 0),
  name: role.name,
  orphan: role.isOrphan,
  path_suffix: role.pathSuffix,
  period: wholeSeconds(role.period.remembered ?? 0),
  renewable: role.isRenewable,
  ...(role.boundCidrs.value.length > 0 ? { token_bound_cidrs: role.boundCidrs.value } : {}),
  token_explicit_max_ttl: wholeSeconds(role.explicitMaxTtl.value),
  token_no_default_policy: role.noDefaultPolicy,
  ...(role.numUses > 0 ? { token_num_uses: role.numUses } : {}),
  token_period: wholeSeconds(role.period.value),
  token_type: role.tokenType,
})

/** The token roles, which replicate. The storage key of a role contains the namespace ID and the name. */
export class TokenRoles {
  readonly #storage: Storage

  /** `storage` contains the keys below `sys/token-roles/`. */
  constructor(storage: Storage) {
    this.#storage = storage
  }

  find(namespaceId: string, name: string): TokenRole | undefined {
    return readJson<TokenRole>(this.#storage, keyOf(namespaceId, name))
  }

  list(namespaceId: string): Promise<string[]> {
    return this.#storage.list(keyOf(namespaceId, ''))
  }

  /**
   * Merges the fields of the request into the role in one transaction. Rejects with LogicalError 400, or `read-only` on
   * a secondary.
   */
  put(namespaceId: string, name: string, call: RoleCall): Promise<{ role: TokenRole; warnings: string[] }> {
    const key = keyOf(namespaceId, name)
    return this.#storage.write((tx) => {
      const result = applyRoleFields(call, name, readJson<TokenRole>(tx, key))
      putJson(tx, key, result.role)
      return result
    })
  }

  async remove(namespaceId: string, name: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(keyOf(namespaceId, name)))
  }
}

const keyOf = (namespaceId: string, name: string): string => `${namespaceId}/${name}`
