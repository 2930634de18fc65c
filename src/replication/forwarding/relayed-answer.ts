import { printJson } from '../../base/json-print.js'
import { LogicalError } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import { parseJson } from '../../logical/json-text.js'
import { failureFields, failureOf, type WireFailure } from './forward-codec.js'

/** How the answer of the active node travels back to a standby: a line of JSON, and behind it the body as it is sent. */

type Head = Pick<Rendered, 'status' | 'contentType' | 'headers'>
type WireHead = Head & { readonly error?: WireFailure }

const LINE_END = 0x0a

export const encodeRendered = ({ status, contentType, headers, body }: Rendered): Buffer => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
    throw new LogicalError('unavailable', 'a standby does not hand on an answer of this kind; ask the active node')
  }
  return withBody({ status, contentType, headers }, Buffer.from(body as string))
}

export const encodeRelayFailure = (error: LogicalError): Buffer =>
  withBody({ error: failureFields(error) }, Buffer.alloc(0))

/** Throws the error that the active node has thrown. */
export const decodeRelayedAnswer = (payload: Buffer): Rendered => {
  const end = payload.indexOf(LINE_END)
  const { error, ...head } = parseJson(payload.toString('utf8', 0, end)) as unknown as WireHead
  if (error) throw failureOf(error)
  return { ...head, body: payload.subarray(end + 1) }
}

const withBody = (head: object, body: Buffer): Buffer => Buffer.concat([Buffer.from(`${printJson(head)}\n`), body])
