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

/** Single-valued headers. If a client repeats such a header, only its first value counts, but Node joins all values. */
const SINGLE_VALUED: readonly string[] = [
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

/**
 * Removes all but the first value of each single-valued header. Node already does this for Authorization and
 * Content-Type.
 */
export const keepFirst = ({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): void => {
  for (const name of SINGLE_VALUED) {
    if (!String(headers[name] ?? '').includes(',')) continue
    const at = rawHeaders.findIndex((raw, index) => index % 2 === 0 && raw.toLowerCase() === name)
    headers[name] = rawHeaders[at + 1]
  }
}

/** Returns the token in X-Vault-Token, otherwise the bearer token; undefined if the request has neither. */
export const findClientToken = (headers: IncomingHttpHeaders): string | undefined => {
  const token = headerText(headers, 'x-vault-token')
  if (token !== undefined) return token
  const authorization = headers.authorization
  if (!authorization?.startsWith(BEARER)) return undefined
  return authorization.slice(BEARER.length).trim() || undefined
}

/**
 * Parses X-Vault-Wrap-TTL and X-Vault-Wrap-Format. A TTL of 0 means no wrapping. Throws LogicalError 400 for an invalid
 * TTL.
 */
export const parseWrap = (headers: IncomingHttpHeaders): WrapRequest | undefined => {
  const text = headerText(headers, 'x-vault-wrap-ttl')
  if (text === undefined) return undefined
  const ms = parseDurationMs(text)
  // Does not repeat the value: a client could send a token in the wrong header.
  if (ms === undefined) throw invalid('error parsing X-Vault-Wrap-TTL header: invalid duration')
  if (ms < 0) throw invalid('error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative')
  const ttlSeconds = ms / 1000
  if (ttlSeconds === 0) return undefined
  if (ttlSeconds > Number.MAX_SAFE_INTEGER) throw invalid('error parsing X-Vault-Wrap-TTL header: invalid duration')
  return { ttlSeconds, format: headerText(headers, 'x-vault-wrap-format') === 'jwt' ? 'jwt' : 'token' }
}

/**
 * Checks the media type of a patch. Throws LogicalError 400 if Content-Type is missing, and 415 if it is not that of a
 * merge patch.
 */
export const checkPatchType = (headers: IncomingHttpHeaders): void => {
  const [, mediaType] = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)\s*(?:;|$)/.exec(headers['content-type'] ?? '') ?? []
  if (mediaType === undefined) throw invalid('mime: no media type')
  if (mediaType.toLowerCase() === MERGE_PATCH) return
  throw new LogicalError('media-type', `PATCH requires Content-Type of ${MERGE_PATCH}, provided ${mediaType}`)
}

/**
 * Throws LogicalError 400 for a transfer encoding other than `chunked`, which two servers could interpret differently,
 * and 415 for a compressed body, whose decoded size is unknown.
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
