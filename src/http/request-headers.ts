import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { parseDurationMs } from '../base/duration.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { WrapRequest } from '../logical/request.js'

const BEARER = 'Bearer '
const MERGE_PATCH = 'application/merge-patch+json'

/** Value of a header that has only one; undefined when it is absent or empty. */
export const headerText = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  const text = Array.isArray(value) ? value[0] : value
  return text === '' ? undefined : text
}

/** Headers that say one thing: of one that is sent twice the first counts, where Node joins the values. */
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

/** Leaves the first value of each header that says one thing. Node itself leaves the first Authorization and Content-Type. */
export const keepFirst = ({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): void => {
  for (const name of SAID_ONCE) {
    if (!String(headers[name] ?? '').includes(',')) continue
    const at = rawHeaders.findIndex((raw, index) => index % 2 === 0 && raw.toLowerCase() === name)
    headers[name] = rawHeaders[at + 1]
  }
}

/** X-Vault-Token, or the bearer where there is none. */
export const findClientToken = (headers: IncomingHttpHeaders): string | undefined => {
  const token = headerText(headers, 'x-vault-token')
  if (token !== undefined) return token
  const authorization = headers.authorization
  if (!authorization?.startsWith(BEARER)) return undefined
  return authorization.slice(BEARER.length).trim() || undefined
}

/** The wrapping that X-Vault-Wrap-TTL and X-Vault-Wrap-Format ask for; a TTL of zero asks for none. */
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

/** A patch must say that it is a merge patch: 400 when it says nothing, 415 when it says something else. */
export const checkPatchType = (headers: IncomingHttpHeaders): void => {
  const [, mediaType] = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)\s*(?:;|$)/.exec(headers['content-type'] ?? '') ?? []
  if (mediaType === undefined) throw invalid('mime: no media type')
  if (mediaType.toLowerCase() === MERGE_PATCH) return
  throw new LogicalError('media-type', `PATCH requires Content-Type of ${MERGE_PATCH}, provided ${mediaType}`)
}

/**
 * Refuses what could make two readers of one message disagree about its body: any transfer encoding but `chunked`, and
 * compressed bodies, whose size nobody knows.
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
