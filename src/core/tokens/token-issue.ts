/**
 * Decides the type, the policies and the TTL of a new token, without access to storage. Requests for tokens come from
 * auth/token (which compares them with the parent token), from logins, and from response wrapping.
 */
import { lifeMs } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'
import { type LoginAuth, type NamespaceRef, ROOT_NAMESPACE, type TokenType } from '../../logical/request.js'
import { normalizePolicies } from '../../logical/token-fields.js'
import type { TokenRequest } from '../../logical/token-request.js'
import { decideTtl, type LeaseTtls, smallestSet, type TtlDecision } from '../../logical/ttl.js'
import type { MountTokenType } from '../mounts/mount-entry.js'
import type { StoredToken } from './token-record.js'

/** An orphan token without policies. */
const BARE_TOKEN_REQUEST: TokenRequest = {
  namespace: ROOT_NAMESPACE,
  path: '',
  type: 'service',
  policies: [],
  displayName: '',
  meta: null,
  entityId: '',
  parent: '',
  numUses: 0,
  ttlSeconds: 0,
  maxTtlSeconds: 0,
  explicitMaxTtlSeconds: 0,
  periodSeconds: 0,
  role: '',
  boundCidrs: [],
  isRenewable: false,
  origin: undefined,
}

export const ROOT_TOKEN_REQUEST: TokenRequest = {
  ...BARE_TOKEN_REQUEST,
  path: 'auth/token/root',
  policies: ['root'],
  displayName: 'root',
}
export const WRAPPING_TOKEN_REQUEST: TokenRequest = {
  ...BARE_TOKEN_REQUEST,
  policies: ['response-wrapping'],
  numUses: 1,
}

export const decideLife = (request: TokenRequest, mount: LeaseTtls, nowMs: number): TtlDecision => {
  const periodSeconds = smallestSet(request.periodSeconds, request.rolePeriodSeconds ?? 0)
  const explicitMaxTtlSeconds = smallestSet(request.explicitMaxTtlSeconds, request.roleExplicitMaxTtlSeconds ?? 0)
  const isEndless = request.policies.includes('root') && periodSeconds === 0 && request.ttlSeconds === 0
  if (isEndless) return { ttlSeconds: explicitMaxTtlSeconds, warnings: [] }
  return decideTtl({
    nowMs,
    issuedMs: nowMs,
    incrementSeconds: 0,
    ttlSeconds: request.ttlSeconds,
    maxTtlSeconds: request.maxTtlSeconds,
    explicitMaxTtlSeconds,
    periodSeconds,
    mount,
  })
}

export const makeRecord = (
  request: TokenRequest,
  names: Pick<StoredToken, 'id' | 'accessor' | 'isIndexed'>,
  ttlSeconds: number,
  nowMs: number,
): StoredToken => {
  const expiresAtMs = ttlSeconds > 0 ? nowMs + lifeMs(ttlSeconds) : null
  return {
    id: names.id,
    accessor: names.accessor,
    namespaceId: request.namespace.id,
    policies: request.policies,
    path: request.path,
    displayName: request.displayName,
    meta: request.meta,
    entityId: request.entityId,
    parent: request.parent,
    numUses: request.numUses,
    createdAtMs: nowMs,
    ttlSeconds,
    leaseTtlSeconds: ttlSeconds,
    expiresAtMs,
    lastRenewalMs: null,
    explicitMaxTtlSeconds: request.explicitMaxTtlSeconds,
    periodSeconds: request.periodSeconds,
    role: request.role,
    boundCidrs: request.boundCidrs,
    isRenewable: request.isRenewable && ttlSeconds > 0 && request.type === 'service',
    sweepAtMs: expiresAtMs,
    login: request.origin ?? null,
    mountAccessor: request.mountAccessor ?? '',
    isIndexed: names.isIndexed,
  }
}

/** Decides the type of a token from the mount's tuning and the type requested by the role. */
const decideTokenType = (tuned: MountTokenType | undefined, asked: LoginAuth['tokenType']): TokenType => {
  if (tuned === 'service' || tuned === 'batch') return tuned
  if (asked !== 'default') return asked
  return tuned === 'default-batch' ? 'batch' : 'service'
}

/** Returns the policies of a login's token. Throws LogicalError 400 for policies that auth methods may not grant. */
const decideLoginPolicies = (login: LoginAuth): string[] => {
  const asked = normalizePolicies(login.policies)
  if (asked.includes('root')) throw invalid('auth methods cannot create root tokens')
  if (asked.includes('response-wrapping')) throw invalid('cannot assign policy "response-wrapping"')
  return login.noDefaultPolicy ? asked : normalizePolicies([...asked, 'default'])
}

/** Returns the display name of a login's token, such as `approle` or, with a user name, `userpass-joe`. */
const loginDisplayName = (mountPath: string, displayName: string): string =>
  `${mountPath.replace(/^auth\//, '').replaceAll('/', '-')}${displayName}`.replace(/-$/, '')

export interface LoginFacts {
  readonly login: LoginAuth
  readonly mount: {
    /** For example `auth/approle/`. */
    readonly path: string
    readonly accessor: string
    readonly view: LeaseTtls & { readonly isLocal: boolean }
    readonly tokenType: MountTokenType | undefined
  }
  readonly namespace: NamespaceRef
  /** The path of the request, such as `auth/approle/login`. */
  readonly path: string
  /** The ID of the entity, if another cluster has found or created it. */
  readonly entityId?: string
}

export const loginTokenRequest = ({ login, mount, namespace, path, entityId = '' }: LoginFacts): TokenRequest => {
  const type = decideTokenType(mount.tokenType, login.tokenType)
  if (type === 'batch' && login.numUses > 0) throw invalid('batch tokens cannot have "num_uses" set')
  return {
    namespace,
    path,
    type,
    policies: decideLoginPolicies(login),
    displayName: loginDisplayName(mount.path, login.displayName),
    meta: login.metadata,
    entityId,
    parent: '',
    numUses: login.numUses,
    ttlSeconds: login.ttlSeconds,
    maxTtlSeconds: login.maxTtlSeconds,
    explicitMaxTtlSeconds: login.explicitMaxTtlSeconds,
    periodSeconds: login.periodSeconds,
    role: '',
    boundCidrs: login.boundCidrs,
    isRenewable: true,
    origin: { policies: login.policies, internal: login.internal },
    mountAccessor: mount.accessor,
  }
}
