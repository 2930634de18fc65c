import { wholeSeconds } from '../base/duration.js'
import { RawJson } from '../base/json.js'
import { holdsBytes, printJson, printPieces } from '../base/json-print.js'
import { parseJson } from './json.js'
import type { Rendered } from './incoming.js'
import type { AuthAnswer, Operation, Response, WrapInfo } from './request.js'

const JSON_TYPE = 'application/json'

/** Returns whether a response has an envelope, which can contain warnings, instead of bare JSON or a raw body. */
export const hasBody = (response: Response): boolean => !response.bare && !response.raw && hasContent(response)

/** Returns whether a response can be wrapped. Raw texts are wrapped unchanged. Streams cannot be wrapped. */
export const canBeWrapped = (response: Response): boolean =>
  hasBody(response) ||
  (typeof response.raw?.body === 'string' && response.raw.body !== '' && (response.status ?? 200) < 400)

/** Returns true for the response to a list that has no keys and no other content. */
export const answersEmptyList = ({ data, warnings, raw, wrapInfo }: Response): boolean => {
  if (raw || wrapInfo || data instanceof RawJson) return false
  const keys = data?.keys
  if (keys === undefined || keys === null) return Object.keys(data ?? {}).length === 0 && !warnings?.length
  return Array.isArray(keys) && keys.length === 0
}

const hasContent = ({ data, warnings, auth, login, wrapInfo, leaseId }: Response): boolean =>
  (data !== undefined && data !== null) ||
  leaseId !== undefined ||
  auth !== undefined ||
  login !== undefined ||
  wrapInfo !== undefined ||
  (warnings !== undefined && warnings.length > 0)

/** Renders the whole response. An empty response is 404 for a read or a list, otherwise 204. */
export const renderAnswer = (
  request: { readonly id: string; readonly operation: Operation },
  response: Response | undefined,
): Rendered => {
  const isEmpty = !response || (response.status === undefined && !response.raw && !hasContent(response))
  const isQuery = request.operation === 'read' || request.operation === 'list'
  if (isEmpty && isQuery) return { ...NOT_FOUND, headers: response?.headers ?? {} }
  return renderBody(request.id, response ?? {})
}

const NOT_FOUND: Rendered = { status: 404, contentType: JSON_TYPE, body: '{"errors":[]}', headers: {} }

/**
 * Renders the status and the body: an envelope with all keys in the order of the API, bare data, or a raw body. A
 * response without content is 204 without a body.
 */
export const renderBody = (requestId: string, response: Response): Rendered => {
  const headers = response.headers ?? {}
  if (response.raw) return { status: response.status ?? 200, ...response.raw, headers }
  if (!hasContent(response)) {
    return { status: response.status ?? 204, contentType: JSON_TYPE, body: '', headers }
  }
  const body = response.bare ? printed(response.data, '', '') : renderEnvelope(requestId, response)
  return { status: response.status ?? 200, contentType: JSON_TYPE, body, headers }
}

/**
 * Returns the body with `value` as JSON between `before` and `after`: text, or bytes if `value` contains large
 * documents.
 */
const printed = (value: unknown, before: string, after: string): string | Buffer =>
  holdsBytes(value)
    ? Buffer.concat([before, ...printPieces(value), after].map(toBytes))
    : `${before}${printJson(value)}${after}`

const toBytes = (piece: string | Buffer): Buffer => (typeof piece === 'string' ? Buffer.from(piece) : piece)

const renderEnvelope = (requestId: string, response: Response): string | Buffer => {
  const { data, warnings, auth, wrapInfo } = response
  // The response with the wrapping token has no request ID. Only the wrapped response has an ID.
  const before =
    `{"request_id":${JSON.stringify(wrapInfo ? '' : requestId)},` +
    `"lease_id":${JSON.stringify(response.leaseId ?? '')},` +
    `"renewable":${response.renewable ?? false},` +
    `"lease_duration":${wholeSeconds(response.leaseDurationSeconds ?? 0)},` +
    '"data":'
  const after =
    `,"wrap_info":${wrapInfo ? printJson(renderWrapInfo(wrapInfo)) : 'null'},` +
    `"warnings":${warnings?.length ? JSON.stringify(warnings) : 'null'},` +
    `"auth":${auth ? printJson(renderAuth(auth)) : 'null'},` +
    `"mount_type":${JSON.stringify(wrapInfo ? '' : (response.mountType ?? ''))}`
  return printed(data ?? null, before, `${after}${response.mirror ? renderMirror(response.data) : ''}}`)
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  'request_id',
  'lease_id',
  'renewable',
  'lease_duration',
  'data',
  'wrap_info',
  'warnings',
  'auth',
  'mount_type',
])

/**
 * Renders the members of `data` for the top level of the envelope, where some clients expect them. Keys of the envelope
 * take precedence.
 */
const renderMirror = (data: Response['data']): string => {
  const members = data instanceof RawJson ? parseJson(data.text) : data
  if (typeof members !== 'object' || members === null) return ''
  return Object.entries(members)
    .filter(([key, value]) => value !== undefined && !ENVELOPE_KEYS.has(key))
    .map(([key, value]) => `,${JSON.stringify(key)}:${printJson(value)}`)
    .join('')
}

const renderAuth = (auth: AuthAnswer): Record<string, unknown> => ({
  client_token: auth.clientToken,
  accessor: auth.accessor,
  policies: auth.policies,
  token_policies: auth.tokenPolicies.length > 0 ? auth.tokenPolicies : undefined,
  identity_policies: auth.identityPolicies.length > 0 ? auth.identityPolicies : undefined,
  metadata: auth.metadata,
  lease_duration: wholeSeconds(auth.leaseDurationSeconds),
  renewable: auth.renewable,
  entity_id: auth.entityId,
  token_type: auth.tokenType,
  orphan: auth.orphan,
  mfa_requirement: null,
  num_uses: auth.numUses,
})

const renderWrapInfo = (info: WrapInfo): Record<string, unknown> => ({
  token: info.token,
  accessor: info.accessor,
  ttl: wholeSeconds(info.ttlSeconds),
  creation_time: info.creationTime,
  creation_path: info.creationPath,
  ...(info.wrappedAccessor === '' ? {} : { wrapped_accessor: info.wrappedAccessor }),
})
