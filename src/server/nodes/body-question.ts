import type { BodyAllowance, BodySender, IncomingRequest, Rendered } from '../../logical/incoming.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import { goneOf } from '../runtime/waiting-room.js'

/** Returns the head-only request with which a standby asks the active node for the limits of a body. */

export const headOf = (sender: BodySender, gone: AbortSignal): IncomingRequest => ({
  ...sender,
  id: '',
  namespace: ROOT_NAMESPACE,
  data: {},
  headers: {},
  remotePort: 0,
  wrap: undefined,
  isHead: false,
  onGone: goneOf(gone),
})

/** JSON cannot represent Infinity. */
interface WireAllowance extends Omit<BodyAllowance, 'bytesMax' | 'refusal'> {
  readonly bytesMax: number | null
}

export const renderAllowance = ({ bytesMax, valuesMax, isAuthorised }: BodyAllowance): Rendered => {
  const wire: WireAllowance = { bytesMax: Number.isFinite(bytesMax) ? bytesMax : null, valuesMax, isAuthorised }
  return { status: 200, contentType: 'application/json', headers: {}, body: JSON.stringify(wire) }
}

export const readAllowance = ({ body }: Rendered): BodyAllowance => {
  const { bytesMax, ...rest } = JSON.parse(String(body)) as WireAllowance
  return { ...rest, bytesMax: bytesMax ?? Number.POSITIVE_INFINITY }
}
