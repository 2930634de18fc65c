import { parseDurationMs } from '../../base/duration.js'
import { bool, int, pairs, string, stringList, type Values } from '../../logical/fields.js'
import { invalid } from '../../logical/errors.js'
import type { TokenOrigin, TokenType } from '../../logical/request.js'
import type { TokenInfo, TokenRequest } from '../../logical/token-request.js'
import { decidePolicies, matchesGlob } from './policies.js'
import type { TokenRole } from './role-record.js'

export const CREATE_FIELDS = {
  id: string('A custom token ID. Requires sudo.'),
  policies: stringList('Policies of the token. Default: the policies of its parent.'),
  meta: pairs('Metadata of the token. Audit logs show it.'),
  no_parent: bool('Creates a token without a parent. Requires sudo.'),
  no_default_policy: bool('Omits the policy `default`.'),
  renewable: bool('Whether the token can be renewed.', true),
  ttl: string('TTL of the token until its next renewal.'),
  lease: string('Deprecated name of ttl.', '', { isDeprecated: true }),
  type: string('Token type: service or batch.'),
  explicit_max_ttl: string('Maximum TTL from creation. Renewals cannot extend it.'),
  display_name: string('Name in audit logs and lookups, after the prefix `token-`.'),
  num_uses: int('Number of uses of the token; 0 means unlimited.'),
  period: string('Period of the token: each renewal sets its TTL to this value. Requires sudo.'),
  entity_alias: string('Alias whose entity the token gets. Requires a token role.'),
}

type CreateValues = Values<typeof CREATE_FIELDS>

interface CreateFacts {
  readonly values: CreateValues
  readonly parent: TokenInfo
  readonly hasSudo: boolean
  readonly role: TokenRole | undefined
  /** Path of the request, relative to its namespace. */
  readonly path: string
  readonly namespace: TokenRequest['namespace']
  /** True for create-orphan, which requires no sudo. */
  readonly isOrphanPath: boolean
}

const CUSTOM_ID_WARNING =
  'Supplying a custom ID for the token uses the weaker SHA1 hashing instead of the more secure SHA2-256 HMAC for token ' +
  'obfuscation. SHA1 hashed tokens on the wire leads to less secure lookups.'

/**
 * Decides the properties of a new token from its parent, its role and the request. Does not resolve an entity alias:
 * the caller does. Throws LogicalError 400 for the first violated rule.
 */
export const decideCreation = (facts: CreateFacts): { wanted: TokenRequest; warnings: string[] } => {
  const { values, parent, role, hasSudo, namespace } = facts
  const asked = parseAsked(values)
  refuseParent(parent)
  if (values.num_uses < 0) throw invalid('number of uses cannot be negative')
  const type = decideType(values.type, role)
  const isBatch = type === 'batch'
  refuseBatch(isBatch, values.num_uses, asked)
  const id = isBatch || values.id === '' ? undefined : values.id
  if (values.id !== '' && !hasSudo) throw invalid('root or sudo privileges required to specify token id')
  if (id?.includes('.')) throw invalid("custom token ID cannot have a '.' in the value")
  const policies = decidePolicies({
    asked: values.policies,
    noDefaultPolicy: values.no_default_policy,
    parent: { policies: parent.policies, isInOtherNamespace: parent.namespace.id !== namespace.id },
    hasSudo,
    role,
  })
  if (isBatch && policies.includes('root')) throw invalid('batch tokens cannot be root tokens')
  const isOrphan = decideOrphan(facts)
  if (asked.periodSeconds > 0 && !hasSudo) throw invalid('root or sudo privileges required to create periodic token')
  refuseEndlessRoot(parent, policies, asked, role)
  const wanted: TokenRequest = {
    namespace,
    path: role?.pathSuffix ? `${facts.path}/${role.pathSuffix}` : facts.path,
    type,
    ...(id === undefined ? {} : { id }),
    policies,
    displayName: displayNameOf(values.display_name),
    meta: values.meta,
    entityId: isOrphan ? '' : parent.entityId,
    parent: isOrphan ? '' : parent.storageId,
    numUses: lesser(values.num_uses, role?.numUses ?? 0),
    ttlSeconds: asked.ttlSeconds,
    maxTtlSeconds: 0,
    explicitMaxTtlSeconds: asked.explicitMaxTtlSeconds,
    periodSeconds: asked.periodSeconds,
    rolePeriodSeconds: role?.period.value ?? 0,
    roleExplicitMaxTtlSeconds: role?.explicitMaxTtl.value ?? 0,
    role: role?.name ?? '',
    boundCidrs: role ? role.boundCidrs.value : isOrphan ? [] : parent.boundCidrs,
    isRenewable: values.renewable && (role?.isRenewable ?? true),
    origin: role && originOf(role, namespace.id),
  }
  if (isBatch && wanted.numUses > 0) throw invalid('batch tokens cannot have "num_uses" set')
  return { wanted, warnings: [...(values.id === '' ? [] : [CUSTOM_ID_WARNING]), ...lesserWarnings(asked, role)] }
}

interface AskedTimes {
  readonly ttlSeconds: number
  readonly periodSeconds: number
  readonly explicitMaxTtlSeconds: number
}

const parseAsked = (values: CreateValues): AskedTimes => ({
  ttlSeconds: values.ttl === '' ? seconds('lease', values.lease) : seconds('ttl', values.ttl),
  periodSeconds: seconds('period', values.period),
  explicitMaxTtlSeconds: seconds('explicit_max_ttl', values.explicit_max_ttl),
})

const seconds = (name: string, text: string): number => {
  if (text === '') return 0
  const ms = parseDurationMs(text.trim())
  if (ms === undefined) throw invalid(`error parsing ${name}: invalid duration ${JSON.stringify(text)}`)
  if (ms < 0) throw invalid(`${name} must be positive`)
  return ms / 1000
}

const refuseParent = (parent: TokenInfo): void => {
  if (parent.type === 'batch') throw invalid('batch tokens cannot create more tokens')
  if (parent.numUses !== 0) throw invalid('restricted use token cannot generate child tokens')
}

/**
 * Decides the token type. A role type of `service` or `batch` is binding; the request can override the default types.
 * Throws LogicalError 400 for an unknown type.
 */
const decideType = (asked: string, role: TokenRole | undefined): TokenType => {
  if (asked !== '' && asked !== 'service' && asked !== 'batch') throw invalid("invalid 'token_type' value")
  if (role?.tokenType === 'service' || role?.tokenType === 'batch') return role.tokenType
  if (asked !== '') return asked
  return role?.tokenType === 'default-batch' ? 'batch' : 'service'
}

const refuseBatch = (isBatch: boolean, numUses: number, asked: AskedTimes): void => {
  if (!isBatch) return
  const set = { num_uses: numUses, period: asked.periodSeconds, explicit_max_ttl: asked.explicitMaxTtlSeconds }
  const broken = Object.entries(set).find(([, value]) => value !== 0)
  if (broken) throw invalid(`batch tokens cannot have ${JSON.stringify(broken[0])} set`)
}

const decideOrphan = ({ values, hasSudo, role, isOrphanPath }: CreateFacts): boolean => {
  if (isOrphanPath || role?.isOrphan) return true
  if (values.no_parent && !hasSudo) throw invalid('root or sudo privileges required to create orphan token')
  return values.no_parent
}

const refuseEndlessRoot = (
  parent: TokenInfo,
  policies: readonly string[],
  asked: AskedTimes,
  role: TokenRole | undefined,
): void => {
  if (!policies.includes('root') || parent.expiresAtMs === undefined) return
  const ends = [asked.ttlSeconds, asked.periodSeconds, asked.explicitMaxTtlSeconds, role?.period.value ?? 0]
  if (ends.some((end) => end > 0) || (role?.explicitMaxTtl.value ?? 0) > 0) return
  throw invalid('expiring root tokens cannot create non-expiring root tokens')
}

/** Returns the display name of a token, such as `token-Jo-Smith` for `Jo Smith!`. */
const displayNameOf = (name: string): string =>
  name === '' ? 'token' : `token-${name}`.replace(/[^A-Za-z0-9-]/g, '-').replace(/-$/, '')

/** Returns the smaller of two limits; 0 means no limit. */
const lesser = (a: number, b: number): number => (a === 0 || b === 0 ? a + b : Math.min(a, b))

const lesserWarnings = (asked: AskedTimes, role: TokenRole | undefined): string[] => {
  const both = (what: string, own: number, ofRole: number | undefined): string[] =>
    own > 0 && ofRole
      ? [
          `${what} specified both during creation call and in role; using the lesser value of ` +
            `${Math.min(own, ofRole)} seconds`,
        ]
      : []
  return [
    ...both('Explicit max TTL', asked.explicitMaxTtlSeconds, role?.explicitMaxTtl.value),
    ...both('Period', asked.periodSeconds, role?.period.value),
  ]
}

/** Throws LogicalError 400 unless the role allows tokens for this alias. */
export const checkEntityAlias = (alias: string, role: TokenRole | undefined): void => {
  if (!role) throw invalid("'entity_alias' is only allowed in combination with token role")
  if (!role.allowedEntityAliases?.some((glob) => matchesGlob(glob, alias)))
    throw invalid("invalid 'entity_alias' value")
}

/** Returns the origin of a token, from which a renewal finds the role. */
const originOf = (role: TokenRole, namespaceId: string): TokenOrigin => ({
  policies: [],
  internal: { role: role.name, namespaceId },
})
