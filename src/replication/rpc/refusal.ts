import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { LogicalError } from '../../logical/errors.js'
import type { Refusal, RefusalCode } from '../types.js'

/** How "no" travels: a gRPC status whose trailing metadata names the reason, and back into the product's error. */

const STATUS_OF: Readonly<Record<RefusalCode, status>> = {
  revoked: status.PERMISSION_DENIED,
  version: status.FAILED_PRECONDITION,
  epoch: status.FAILED_PRECONDITION,
  set: status.FAILED_PRECONDITION,
  superseded: status.ABORTED,
  unavailable: status.UNAVAILABLE,
  invalid: status.INVALID_ARGUMENT,
  forbidden: status.PERMISSION_DENIED,
  failed: status.INTERNAL,
}

const METADATA_KEY = 'refusal'

export const refusalError = (code: RefusalCode, text: string, cause?: unknown): LogicalError =>
  new LogicalError('unavailable', text, { data: { refusal: code }, ...(cause === undefined ? {} : { cause }) })

const isRefusalCode = (value: unknown): value is RefusalCode => typeof value === 'string' && value in STATUS_OF

/** The reason the other side gave; undefined when the link failed and nobody refused. */
export const refusalCodeOf = (error: unknown): RefusalCode | undefined => {
  const code = error instanceof LogicalError ? error.data?.refusal : undefined
  return isRefusalCode(code) ? code : undefined
}

/** What a handler's failure becomes on the wire. Texts of our own errors travel; those of bugs do too, for the log. */
export const toStatus = (error: unknown): Partial<StatusObject> & { code: status; details: string } => {
  const code = refusalCodeOf(error) ?? 'failed'
  const metadata = new Metadata()
  metadata.set(METADATA_KEY, code)
  return { code: STATUS_OF[code], details: error instanceof Error ? error.message : String(error), metadata }
}

export const throwRefusal = (refusal: Refusal): never => {
  throw refusalError(refusal.code, refusal.text)
}

/** What a call's failure becomes here. Without a named reason it is the link that failed. */
export const fromServiceError = (error: ServiceError): LogicalError => {
  const code = error.metadata?.get(METADATA_KEY)[0]
  if (isRefusalCode(code)) return refusalError(code, error.details)
  return new LogicalError('unavailable', error.details || error.message, { cause: error })
}
