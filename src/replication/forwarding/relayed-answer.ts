import { printJson } from '../../base/json-print.js'
import { LogicalError } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import { parseJson } from '../../logical/json.js'
import { failureFields, failureOf, type WireFailure } from './forward-codec.js'

/**
 * Encodes and decodes the response of the active node to a standby: one line of JSON, followed by the unchanged
 * response body.
 */

type Head = Pick<Rendered, 'status' | 'contentType' | 'headers'>
type WireHead = Head & { readonly error?: WireFailure; readonly index?: number }

interface RelayedAnswer {
  /** The index of the shared log that the active node had applied when it responded; undefined if unknown. */
  readonly index: number | undefined
  /** Returns the response, or throws the error of the active node. */
  readonly open: () => Rendered
}

const LINE_END = 0x0a

export const encodeRendered = ({ status, contentType, headers, body }: Rendered, index?: number): Buffer => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
    throw new LogicalError(
      'unavailable',
      'a standby cannot forward a response of this kind; send the request to the active node',
    )
  }
  return withBody({ status, contentType, headers, index }, Buffer.from(body as string))
}

export const encodeRelayFailure = (error: LogicalError, index?: number): Buffer =>
  withBody({ error: failureFields(error), index }, Buffer.alloc(0))

export const decodeRelayedAnswer = (payload: Buffer): RelayedAnswer => {
  const end = payload.indexOf(LINE_END)
  const { error, index, ...head } = parseJson(payload.toString('utf8', 0, end)) as unknown as WireHead
  const open = () => {
    if (error) throw failureOf(error)
    return { ...head, body: payload.subarray(end + 1) }
  }
  return { index, open }
}

const withBody = (head: object, body: Buffer): Buffer => Buffer.concat([Buffer.from(`${printJson(head)}\n`), body])
