import { LogicalError } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import type { Message } from './direct-answer.js'
import { renderError } from './status-codes.js'

/** What web pages of other origins may do. */
interface CorsSettings {
  /** Origins, or only `*` for all origins. */
  readonly allowedOrigins: readonly string[]
  readonly allowedHeaders: readonly string[]
}

/** The settings of the cluster for web pages. */
export interface WebSettings {
  /** Undefined if requests of web pages have no special treatment. */
  readonly cors: CorsSettings | undefined
  /** Headers of the own page, in addition to its usual headers. */
  readonly pageHeaders: Readonly<Record<string, string>>
}

const METHODS = ['DELETE', 'GET', 'OPTIONS', 'POST', 'PUT', 'LIST']
const MAX_AGE_SECONDS = 300

const isAllowed = (settings: CorsSettings, origin: string): boolean =>
  settings.allowedOrigins.some((allowed) => allowed === '*' || allowed === origin)

/** Returns the headers that allow a page to read the response, as alternating names and values. */
export const corsHeaders = (settings: CorsSettings | undefined, origin: string | undefined): readonly string[] =>
  settings && origin !== undefined && isAllowed(settings, origin)
    ? ['Access-Control-Allow-Origin', origin, 'Vary', 'Origin']
    : []

/**
 * Returns the response to a preflight request, or to a request of an origin that is not allowed. Returns undefined for
 * requests that the server must handle.
 */
export const answerCors = (
  settings: CorsSettings | undefined,
  { headers }: Pick<Message, 'headers'>,
  verb: string,
): Rendered | undefined => {
  const { origin, host } = headers
  // A browser also sends the origin of a page of this server.
  if (!settings || origin === undefined || origin.replace(/^https?:\/\//, '') === host) return undefined
  if (!isAllowed(settings, origin)) return renderError(new LogicalError('permission-denied', 'origin not allowed'))
  if (verb !== 'OPTIONS') return undefined
  if (!METHODS.includes(String(headers['access-control-request-method'])))
    return renderError(new LogicalError('unsupported-operation', ''))
  return {
    status: 204,
    contentType: 'application/json',
    body: '',
    headers: {
      'Access-Control-Allow-Methods': METHODS.join(', '),
      'Access-Control-Allow-Headers': settings.allowedHeaders.join(', '),
      'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
    },
  }
}
