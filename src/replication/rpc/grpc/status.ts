import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { LogicalError } from '../../../logical/errors.js'
import type { RefusalCode } from '../../model/types.js'
import { carriedRefusal, fromCarried } from '../refusal.js'

const STATUS_OF: Readonly<Record<RefusalCode, status>> = {
  revoked: status.PERMISSION_DENIED,
  version: status.FAILED_PRECONDITION,
  epoch: status.FAILED_PRECONDITION,
  over: status.FAILED_PRECONDITION,
  set: status.FAILED_PRECONDITION,
  superseded: status.ABORTED,
  rewound: status.OUT_OF_RANGE,
  standby: status.UNAVAILABLE,
  unavailable: status.UNAVAILABLE,
  invalid: status.INVALID_ARGUMENT,
  forbidden: status.PERMISSION_DENIED,
  failed: status.INTERNAL,
}

const METADATA_KEY = 'refusal'
const OVERTAKER_KEY = 'overtaker'

/** Returns the gRPC status for the error of a handler. Its trailing metadata contains the refusal code. */
export const toStatus = (error: unknown): Partial<StatusObject> & { code: status; details: string } => {
  const { code, text, overtaker } = carriedRefusal(error)
  const metadata = new Metadata()
  metadata.set(METADATA_KEY, code)
  if (overtaker !== undefined) metadata.set(OVERTAKER_KEY, overtaker)
  return { code: STATUS_OF[code], details: text, metadata }
}

/** Returns the `LogicalError` for a failed call. Without a refusal code, the connection has failed. */
export const fromServiceError = (error: ServiceError): LogicalError => {
  const [code] = error.metadata?.get(METADATA_KEY) ?? []
  const [overtaker] = error.metadata?.get(OVERTAKER_KEY) ?? []
  return (
    fromCarried({ code, text: error.details, overtaker }) ??
    new LogicalError('unavailable', describeLink(error), { cause: error })
  )
}

/**
 * Describes a failed connection. Replaces the library's messages about HTTP/2 frames and streams, which do not help
 * callers.
 */
const describeLink = ({ code, details, message }: ServiceError): string => {
  if (code === status.DEADLINE_EXCEEDED) return 'no response arrived in time'
  return /HTTP\/2|RST_STREAM|stream/i.test(details) ? 'the connection was lost' : details || message
}
