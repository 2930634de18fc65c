/** Builds the audit entries of a request and its response, in the format of a device. */
import { wholeSeconds } from '../../base/duration.js'
import { LIMITS } from '../../base/limits.js'
import { formatTime } from '../../base/rfc3339.js'
import { LogicalError, wrapErrorText } from '../../logical/errors.js'
import { RawJson } from '../../base/json.js'
import {
  type AuthAnswer,
  type NamespaceRef,
  type Request,
  type Response,
  ROOT_NAMESPACE,
  type TokenView,
} from '../../logical/request.js'
import type { LineKind } from './audit-file.js'
import type { AclVerdict } from '../acl/acl.js'
import type { Redactor, WholeDigests } from './audit-hash.js'
import type { MountEntry } from '../mounts/mount-entry.js'
import { allPolicies } from '../tokens/token-format.js'
import type { TokenInfo } from '../../logical/token-request.js'

/** One request as the pipeline logs it. */
export interface AuditEntry {
  readonly request: Request
  readonly mount: AuditedMount | undefined
  /** Undefined if the request has no valid token. */
  readonly token: AuditedToken | undefined
  /** Undefined if no policy was checked. */
  readonly verdict: Pick<AclVerdict, 'isAllowed' | 'grantingPolicies'> | undefined
  /** The policies that the token's entity adds. */
  readonly identityPolicies?: readonly string[]
  readonly error?: unknown
}

export interface AuditResponseEntry extends AuditEntry {
  readonly response: Response | undefined
}

interface AuditedMount {
  readonly entry: Pick<MountEntry, 'kind' | 'type' | 'accessor' | 'config'>
  readonly view: { readonly path: string }
}

/** `numUses` is the number of remaining uses before this request; 0 means unlimited. */
type AuditedToken = TokenView & Pick<TokenInfo, 'meta' | 'numUses' | 'createdAtMs' | 'ttlSeconds'>

/** The options of one device, and the data that all devices share. */
export interface AuditStyle {
  readonly redactor: Redactor
  readonly wholes: WholeDigests
  readonly elidesLists: boolean
  /** Request headers to log, by lower-case name. `hmac`: the values of the header are hashed. */
  readonly headers: ReadonlyMap<string, { readonly hmac: boolean }>
}

const NO_KEYS: ReadonlySet<string> = new Set()

/** Builds the entry of a request, or of its response. */
export const describeEntry = (
  kind: LineKind,
  entry: AuditEntry & Partial<AuditResponseEntry>,
  timeMs: number,
  style: AuditStyle,
): Record<string, unknown> => ({
  time: formatTime(timeMs),
  type: kind,
  auth: authOf(entry, kind === 'response' ? entry.response : undefined, style),
  request: requestOf(entry, style),
  ...(kind === 'response' && { response: responseOf(entry, entry.response, style) }),
  ...errorOf(entry.error),
})

/** Builds the entry that tests a device when it is enabled. It describes no real request. */
export const describeTest = (id: string, timeMs: number): Record<string, unknown> => ({
  time: formatTime(timeMs),
  type: 'request',
  auth: { policy_results: { allowed: true }, token_type: 'default' },
  request: { id, operation: 'update', namespace: namespaceOf(ROOT_NAMESPACE), path: 'sys/audit/test' },
})

/**
 * Returns the `auth` field of an entry. Describes the token of the request or, without one, the token that a login
 * issued.
 */
const authOf = (entry: AuditEntry, response: Response | undefined, style: AuditStyle): Record<string, unknown> => {
  const { request, token, identityPolicies = [], verdict, error } = entry
  const { redactor } = style
  const policyResults = {
    allowed: verdict?.isAllowed ?? !(error instanceof LogicalError && error.code === 'permission-denied'),
    ...(verdict?.grantingPolicies.length && {
      granting_policies: verdict.grantingPolicies.map(({ name, namespaceId, type }) => ({
        name,
        namespace_id: namespaceId,
        type,
      })),
    }),
  }
  if (!token && response?.auth) return { ...issuedAuth(response.auth, redactor), policy_results: policyResults }
  const hidden = request.clientToken && { client_token: redactor.text(request.clientToken) }
  if (!token) return { ...hidden, policy_results: policyResults, token_type: 'default' }
  return {
    ...hidden,
    ...(token.accessor !== '' && { accessor: redactor.accessor(token.accessor) }),
    display_name: token.displayName,
    policies: allPolicies(token.policies, identityPolicies),
    token_policies: token.policies,
    ...(identityPolicies.length > 0 && { identity_policies: identityPolicies }),
    policy_results: policyResults,
    ...(token.meta && Object.keys(token.meta).length > 0 && { metadata: token.meta }),
    ...(token.entityId !== '' && { entity_id: token.entityId }),
    ...(token.numUses > 0 && { remaining_uses: token.numUses }),
    token_type: token.type,
    ...(token.ttlSeconds > 0 && { token_ttl: wholeSeconds(token.ttlSeconds) }),
    token_issue_time: formatTime(token.createdAtMs),
  }
}

/** Returns the request fields whose values are not hashed. */
export const requestKeysOf = ({ mount }: Pick<AuditEntry, 'mount'>): ReadonlySet<string> =>
  new Set(mount?.entry.config.auditNonHmacRequestKeys)

const requestOf = (entry: AuditEntry, style: AuditStyle): Record<string, unknown> => {
  const { request, mount, token } = entry
  const { redactor } = style
  const headers = headersOf(request, style)
  return {
    id: request.id,
    ...(token && token.entityId !== '' && { client_id: token.entityId }),
    operation: request.operation,
    ...mountFields(mount),
    ...(request.clientToken && { client_token: redactor.text(request.clientToken) }),
    ...(token && token.accessor !== '' && { client_token_accessor: redactor.accessor(token.accessor) }),
    namespace: namespaceOf(request.namespace),
    path: request.path,
    ...((redactor.isLarge(request.data) || !isEmpty(request.data)) &&
      dataOf(request.data, requestKeysOf(entry), style)),
    remote_address: request.remoteAddress,
    remote_port: request.remotePort,
    ...(request.wrap && { wrap_ttl: wholeSeconds(request.wrap.ttlSeconds) }),
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

const responseOf = (entry: AuditEntry, response: Response | undefined, style: AuditStyle): Record<string, unknown> => {
  const { mount } = entry
  const { redactor } = style
  if (!response) return mountFields(mount)
  const plainKeys = new Set(mount?.entry.config.auditNonHmacResponseKeys)
  const data = response.data && (elides(entry, style) ? withCounts(response.data) : response.data)
  return {
    ...(response.auth && { auth: issuedAuth(response.auth, redactor) }),
    ...mountFields(mount),
    ...(response.leaseId && { secret: { lease_id: response.leaseId } }),
    ...(data && dataOf(data, plainKeys, style)),
    ...(response.warnings?.length && { warnings: response.warnings.map(shorten) }),
    ...(response.wrapInfo && { wrap_info: wrapInfoOf(response.wrapInfo, redactor) }),
  }
}

const elides = ({ request }: AuditEntry, { elidesLists }: AuditStyle): boolean =>
  elidesLists && request.operation === 'list'

/** Replaces the contents of a list response with counts. */
const withCounts = (data: Record<string, unknown> | RawJson): Record<string, unknown> | RawJson => {
  if (data instanceof RawJson) return data
  const { keys, key_info } = data
  return {
    ...data,
    ...(Array.isArray(keys) && { keys: keys.length }),
    ...(typeof key_info === 'object' && key_info && { key_info: Object.keys(key_info).length }),
  }
}

/** Returns the data with hashed strings. If the data is too large, returns only its size and a digest. */
const dataOf = (
  data: object,
  plainKeys: ReadonlySet<string>,
  { redactor, wholes }: AuditStyle,
): Record<string, unknown> => {
  if (redactor.fits(data, plainKeys)) return { data: redactor.values(data, plainKeys) }
  const { sha256, bytes } = wholes.of(data)
  return { data_omitted: { sha256: redactor.text(sha256), bytes } }
}

/**
 * Returns whether an object has no keys. Stops at the first key, because `Object.keys` is slow on an object with a
 * million keys.
 */
const isEmpty = (data: object): boolean => {
  for (const _ in data) return false
  return true
}

const shorten = (text: string): string => {
  const max = LIMITS.auditTextCharactersMax
  return text.length <= max ? text : `${text.slice(0, max)}... (${text.length} characters)`
}

const issuedAuth = (auth: AuthAnswer, redactor: Redactor): Record<string, unknown> => ({
  client_token: redactor.text(auth.clientToken),
  ...(auth.accessor !== '' && { accessor: redactor.accessor(auth.accessor) }),
  policies: auth.policies,
  token_policies: auth.tokenPolicies,
  ...(auth.identityPolicies.length > 0 && { identity_policies: auth.identityPolicies }),
  ...(auth.metadata && Object.keys(auth.metadata).length > 0 && { metadata: auth.metadata }),
  ...(auth.entityId !== '' && { entity_id: auth.entityId }),
  ...(auth.numUses > 0 && { num_uses: auth.numUses }),
  token_type: auth.tokenType,
  ...(auth.leaseDurationSeconds > 0 && { token_ttl: wholeSeconds(auth.leaseDurationSeconds) }),
})

const wrapInfoOf = (info: NonNullable<Response['wrapInfo']>, redactor: Redactor): Record<string, unknown> => ({
  ttl: wholeSeconds(info.ttlSeconds),
  token: redactor.text(info.token),
  ...(info.accessor !== '' && { accessor: redactor.accessor(info.accessor) }),
  creation_time: info.creationTime,
  creation_path: info.creationPath,
  ...(info.wrappedAccessor !== '' && { wrapped_accessor: redactor.accessor(info.wrappedAccessor) }),
})

const mountFields = (mount: AuditedMount | undefined): Record<string, unknown> =>
  mount === undefined
    ? {}
    : {
        mount_point: mount.view.path,
        mount_type: mount.entry.type,
        mount_accessor: mount.entry.accessor,
        mount_class: mount.entry.kind,
      }

const namespaceOf = ({ id, path }: NamespaceRef): Record<string, string> => (path === '' ? { id } : { id, path })

const headersOf = ({ headers }: Request, style: AuditStyle): Record<string, unknown> => {
  const logged: Record<string, unknown> = {}
  for (const [name, { hmac }] of style.headers) {
    const sent = headers[name]
    if (sent === undefined) continue
    const values = typeof sent === 'string' ? [sent] : sent
    logged[name] = hmac ? style.redactor.values(values, NO_KEYS) : values
  }
  return logged
}

const errorOf = (error: unknown): { error?: string } => {
  if (error === undefined) return {}
  if (!(error instanceof LogicalError)) return { error: 'internal error' }
  const text = shorten(error.message)
  return { error: error.wrapped ? wrapErrorText(text) : text }
}
