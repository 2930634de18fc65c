import { LIMITS } from '../../../base/limits.js'
import { textsOfJson } from '../../../base/json-print.js'
import { parseExactJson } from '../../../base/exact-json.js'
import { isMap, type JsonMap } from './json-map.js'

/** Data written with maximum nesting is returned inside an envelope. */
const ANSWER_DEPTH_MAX = LIMITS.jsonDepthMax + 10

/** The envelope of a response. Absent parts are undefined. */
export interface Secret {
  readonly requestId: string
  readonly leaseId: string
  readonly leaseDuration: unknown
  readonly isRenewable: boolean
  readonly data: JsonMap | undefined
  readonly warnings: readonly string[]
  readonly auth: JsonMap | undefined
  readonly wrapInfo: JsonMap | undefined
  readonly mountType: string
  /** The response as received. */
  readonly bytes: Buffer
}

/**
 * Parses a response body. A body without an envelope, for example that of sys/seal-status, counts as data. Returns
 * undefined for an empty body and for a body that is not a JSON object.
 */
export const parseSecret = (bytes: Buffer): Secret | undefined => {
  const body = parseBody(bytes)
  if (!body) return undefined
  const secret: Secret = {
    requestId: textOf(body.request_id),
    leaseId: textOf(body.lease_id),
    leaseDuration: body.lease_duration ?? 0,
    isRenewable: body.renewable === true,
    data: isMap(body.data) ? body.data : undefined,
    warnings: textsOfJson(body.warnings),
    auth: isMap(body.auth) ? body.auth : undefined,
    wrapInfo: isMap(body.wrap_info) ? body.wrap_info : undefined,
    mountType: textOf(body.mount_type),
    bytes,
  }
  return isEnvelope(secret) ? secret : { ...secret, data: body }
}

export const parseBody = (bytes: Buffer): JsonMap | undefined => {
  if (bytes.length === 0) return undefined
  try {
    const body = parseExactJson(bytes.toString('utf8'), ANSWER_DEPTH_MAX)
    return isMap(body) ? body : undefined
  } catch {
    return undefined
  }
}

const isEnvelope = ({ requestId, leaseId, data, warnings, auth, wrapInfo }: Secret): boolean =>
  requestId !== '' || leaseId !== '' || warnings.length > 0 || [data, auth, wrapInfo].some((part) => part !== undefined)

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
