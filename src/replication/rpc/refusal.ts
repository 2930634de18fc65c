import { attempt } from '../../base/attempt.js'
import { messageOf } from '../../base/printable.js'
import { LogicalError } from '../../logical/errors.js'
import { type Overtaker, REFUSAL_CODES, type RefusalCode } from '../model/types.js'

/** A refusal in the form that is sent: a code and a text. The receiver converts it back into a `LogicalError`. */
export interface CarriedRefusal {
  readonly code: RefusalCode
  readonly text: string
  /** The newer primary to contact instead, encoded as base64 of JSON. */
  readonly overtaker?: string | undefined
}

/** Maximum number of sent epochs of the newer primary, so that they fit into the metadata of a call. */
const OVERTAKER_EPOCHS_MAX = 16

export const refusalError = (
  code: RefusalCode,
  text: string,
  { overtaker }: { readonly overtaker?: Overtaker | undefined } = {},
): LogicalError =>
  new LogicalError('unavailable', text, {
    data: { refusal: code, ...(overtaker && { overtaker: encodeOvertaker(overtaker) }) },
  })

/** Returns the newer primary that a refusal names, or undefined if it names none. */
export const overtakerIn = (error: unknown): Overtaker | undefined => {
  const text = error instanceof LogicalError ? error.data?.overtaker : undefined
  return typeof text === 'string' ? parseOvertaker(text) : undefined
}

const encodeOvertaker = ({ epochs, ...rest }: Overtaker): string =>
  Buffer.from(JSON.stringify({ ...rest, epochs: epochs.slice(-OVERTAKER_EPOCHS_MAX) })).toString('base64')

/** Decodes a newer primary. Returns undefined if the text is invalid. */
const parseOvertaker = (text: string): Overtaker | undefined =>
  attempt(() => {
    const value = JSON.parse(Buffer.from(text, 'base64').toString()) as Overtaker
    const isWhole =
      typeof value.clusterId === 'string' &&
      typeof value.apiAddress === 'string' &&
      Array.isArray(value.epochs) &&
      value.epochs.every((epoch) => typeof epoch.id === 'string' && typeof epoch.number === 'number') &&
      Array.isArray(value.clusterAddresses) &&
      value.clusterAddresses.every((address) => typeof address === 'string')
    return isWhole ? value : undefined
  })

const isRefusalCode = (value: unknown): value is RefusalCode => REFUSAL_CODES.some((code) => code === value)

/** Returns the refusal code that the other side sent, or undefined if the connection failed. */
export const refusalCodeOf = (error: unknown): RefusalCode | undefined => {
  const code = error instanceof LogicalError ? error.data?.refusal : undefined
  return isRefusalCode(code) ? code : undefined
}

/**
 * Returns the form in which the error of a handler is sent. Includes the texts of internal errors, because the receiver
 * logs them.
 */
export const carriedRefusal = (error: unknown): CarriedRefusal => {
  const overtaker = error instanceof LogicalError ? error.data?.overtaker : undefined
  return {
    code: refusalCodeOf(error) ?? 'failed',
    text: messageOf(error),
    ...(typeof overtaker === 'string' && { overtaker }),
  }
}

/**
 * Returns the `LogicalError` for a received refusal, or undefined without a known code, which means that the connection
 * failed.
 */
export const fromCarried = ({ code, text, overtaker }: Received): LogicalError | undefined => {
  if (!isRefusalCode(code)) return undefined
  return refusalError(code, text, { overtaker: typeof overtaker === 'string' ? parseOvertaker(overtaker) : undefined })
}

interface Received {
  readonly code: unknown
  readonly text: string
  readonly overtaker?: unknown
}
