import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { LogicalError } from '../../logical/errors.js'
import type { Overtaker, RefusalCode } from '../types.js'

/** How "no" travels: a gRPC status whose trailing metadata names the reason, and back into the product's error. */

const STATUS_OF: Readonly<Record<RefusalCode, status>> = {
  revoked: status.PERMISSION_DENIED,
  version: status.FAILED_PRECONDITION,
  epoch: status.FAILED_PRECONDITION,
  set: status.FAILED_PRECONDITION,
  superseded: status.ABORTED,
  rewound: status.OUT_OF_RANGE,
  unavailable: status.UNAVAILABLE,
  invalid: status.INVALID_ARGUMENT,
  forbidden: status.PERMISSION_DENIED,
  failed: status.INTERNAL,
}

const METADATA_KEY = 'refusal'

/** Who is to be asked instead travels along, as far as the headers of a call have room. */
const OVERTAKER_KEY = 'overtaker'
const OVERTAKER_EPOCHS_MAX = 16

export const refusalError = (
  code: RefusalCode,
  text: string,
  { overtaker }: { readonly overtaker?: Overtaker | undefined } = {},
): LogicalError =>
  new LogicalError('unavailable', text, {
    data: { refusal: code, ...(overtaker && { overtaker: encodeOvertaker(overtaker) }) },
  })

/** The newer primary that the refusal names. */
export const overtakerIn = (error: unknown): Overtaker | undefined => {
  const text = error instanceof LogicalError ? error.data?.overtaker : undefined
  return typeof text === 'string' ? parseOvertaker(text) : undefined
}

const encodeOvertaker = ({ epochs, ...rest }: Overtaker): string =>
  Buffer.from(JSON.stringify({ ...rest, epochs: epochs.slice(-OVERTAKER_EPOCHS_MAX) })).toString('base64')

/** Undefined for what no primary of ours has written. */
const parseOvertaker = (text: string): Overtaker | undefined => {
  try {
    const value = JSON.parse(Buffer.from(text, 'base64').toString()) as Overtaker
    const isWhole =
      typeof value.clusterId === 'string' &&
      typeof value.apiAddress === 'string' &&
      Array.isArray(value.epochs) &&
      value.epochs.every((epoch) => typeof epoch.id === 'string' && typeof epoch.number === 'number') &&
      Array.isArray(value.clusterAddresses) &&
      value.clusterAddresses.every((address) => typeof address === 'string')
    return isWhole ? value : undefined
  } catch {
    return undefined
  }
}

const isRefusalCode = (value: unknown): value is RefusalCode => typeof value === 'string' && value in STATUS_OF

/** The reason the other side gave; undefined when the link failed and nobody refused. */
export const refusalCodeOf = (error: unknown): RefusalCode | undefined => {
  const code = error instanceof LogicalError ? error.data?.refusal : undefined
  return isRefusalCode(code) ? code : undefined
}

/** The gRPC status for a handler's failure. Texts of our own errors travel; those of bugs do too, for the log. */
export const toStatus = (error: unknown): Partial<StatusObject> & { code: status; details: string } => {
  const code = refusalCodeOf(error) ?? 'failed'
  const metadata = new Metadata()
  metadata.set(METADATA_KEY, code)
  const overtaker = error instanceof LogicalError ? error.data?.overtaker : undefined
  if (typeof overtaker === 'string') metadata.set(OVERTAKER_KEY, overtaker)
  return { code: STATUS_OF[code], details: error instanceof Error ? error.message : String(error), metadata }
}

/** The product's error for a failed call. Without a named reason it is the link that failed. */
export const fromServiceError = (error: ServiceError): LogicalError => {
  const code = error.metadata?.get(METADATA_KEY)[0]
  const overtaker = error.metadata?.get(OVERTAKER_KEY)[0]
  const named = typeof overtaker === 'string' ? parseOvertaker(overtaker) : undefined
  if (isRefusalCode(code)) return refusalError(code, error.details, { overtaker: named })
  return new LogicalError('unavailable', error.details || error.message, { cause: error })
}
