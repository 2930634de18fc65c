import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { parseDurationMs } from '../../base/duration.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { WrapRequest } from '../../logical/request.js'

const BEARER = 'Bearer '
const MERGE_PATCH = 'application/merge-patch+json'

/** Returns the value of a single-valued header; undefined if it is absent or empty. */
export const headerText = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  const text = Array.isArray(value) ? value[0] : value
  return text === '' ? undefined : text
}

/** Single-valued headers. If a client repeats one, the first value counts, but Node joins all values. */
const SAID_ONCE: readonly string[] = [
  'x-vault-token',
  'x-vault-namespace',
  'x-vault-wrap-ttl',
  'x-vault-wrap-format',
  'x-vault-inconsistent',
  'x-vault-forward',
  'x-vault-no-request-forwarding',
  'x-vault-request',
  'x-understudy-token',
]

/** Keeps the first value of each single-valued header. Node already does so for Authorization and Content-Type. */
export const keepFirst = ({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): void => {
  for (const name of SAID_ONCE) {
    if (!String(headers[name] ?? '').includes(',')) continue
    const at = rawHeaders.findIndex((raw, index) => index % 2 === 0 && raw.toLowerCase() === name)
    headers[name] = rawHeaders[at + 1]
  }
}

/** Returns X-Vault-Token, or else the bearer token. */
export const findClientToken = (headers: IncomingHttpHeaders): string | undefined => {
  const token = headerText(headers, 'x-vault-token')
  if (token !== undefined) return token
  const authorization = headers.authorization
  if (!authorization?.startsWith(BEARER)) return undefined
  return authorization.slice(BEARER.length).trim() || undefined
}

/** Parses X-Vault-Wrap-TTL and X-Vault-Wrap-Format. A TTL of zero means no wrapping. */
export const parseWrap = (headers: IncomingHttpHeaders): WrapRequest | undefined => {
  const text = headerText(headers, 'x-vault-wrap-ttl')
  if (text === undefined) return undefined
  const ms = parseDurationMs(text)
  if (ms === undefined) throw invalid('error parsing X-Vault-Wrap-TTL header: invalid duration')
  if (ms < 0) throw invalid('error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative')
  const ttlSeconds = ms / 1000
  if (ttlSeconds === 0) return undefined
  if (ttlSeconds > Number.MAX_SAFE_INTEGER) throw invalid('error parsing X-Vault-Wrap-TTL header: invalid duration')
  return { ttlSeconds, format: headerText(headers, 'x-vault-wrap-format') === 'jwt' ? 'jwt' : 'token' }
}

/** Requires the merge-patch media type for a patch. Throws 400 if Content-Type is missing, 415 if it is another one. */
export const checkPatchType = (headers: IncomingHttpHeaders): void => {
  const [, mediaType] = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)\s*(?:;|$)/.exec(headers['content-type'] ?? '') ?? []
  if (mediaType === undefined) throw invalid('mime: no media type')
  if (mediaType.toLowerCase() === MERGE_PATCH) return
  throw new LogicalError('media-type', `PATCH requires Content-Type of ${MERGE_PATCH}, provided ${mediaType}`)
}

/**
 * Rejects framing that two readers could interpret differently: any transfer encoding but `chunked`, and compressed bodies,
 * whose decoded size is unknown.
 */
export const checkFraming = (headers: IncomingHttpHeaders): void => {
  const transfer = headers['transfer-encoding']
  if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked') {
    throw invalid('unsupported transfer encoding')
  }
  const content = headers['content-encoding']
  if (content !== undefined && content.trim().toLowerCase() !== 'identity') {
    throw new LogicalError('media-type', 'unsupported content encoding')
  }
}
