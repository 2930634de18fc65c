import { isServedWhile } from '../../core/pipeline/gate.js'
import { isForActiveNode } from '../../core/pipeline/for-active-node.js'
import { readInRoom } from '../../core/pipeline/large-answers.js'
import { renderAnswer } from '../../logical/envelope.js'
import { LogicalError } from '../../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { PathRules } from '../../logical/path-rules.js'
import type { NodeMembership } from '../parts/parts.js'
import { goneOf, type RequestQueue } from '../runtime/admission.js'
import type { OpenCluster } from '../wiring/open-cluster.js'
import type { Relay } from './relay.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'

interface StandbyOptions {
  readonly membership: Pick<NodeMembership, 'isServing' | 'isTakingOver'>
  readonly relay: Relay
  /** Returns the copy from which a performance standby answers; undefined while it is incomplete. */
  readonly copy: () => RequestCopy | undefined
  readonly queue: RequestQueue
  readonly rulesOf: (path: string) => PathRules
  readonly answerHere: (request: IncomingRequest) => Promise<Rendered>
  /** Resolves when the runtime for the request is ready, or after a timeout. */
  readonly admit: (request: IncomingRequest) => Promise<void>
}

type RequestCopy = Pick<OpenCluster, 'pipeline'>

/** Seals the receiving node, after the active node has authorized it. */
const SEAL_PATH = 'sys/seal'
const FORWARD = 'x-vault-forward'
const NO_FORWARDING = 'x-vault-no-request-forwarding'

/** Handles client requests on a node that is not active. */
export class Standby {
  readonly #options: StandbyOptions

  constructor(options: StandbyOptions) {
    this.#options = options
  }

  /** Returns a performance standby's own response; undefined if the active node must answer. */
  async answerAlone(request: IncomingRequest): Promise<Rendered | undefined> {
    const copy = this.#options.copy()
    if (!copy || this.#isAnsweredHere(request) || request.headers[FORWARD] === 'active-node') return undefined
    // The pipeline modifies the request, but the active node must receive the original.
    const own = { ...request }
    try {
      const rendered = renderAnswer(own, await copy.pipeline.handle('active', own))
      return this.#options.copy() === copy ? rendered : undefined
    } catch (error) {
      if (this.#options.copy() !== copy || isForActiveNode(error, request)) return undefined
      throw error
    }
  }

  /** Resolves when any node is active, including this one, or after a timeout. */
  async awaitActive(request: IncomingRequest): Promise<void> {
    const { membership, relay, queue } = this.#options
    if (membership.isServing || this.#isAnsweredHere(request)) return
    await queue.pass(request, () => !(membership.isServing || membership.isTakingOver || relay.isActiveKnown))
  }

  async answer(request: IncomingRequest): Promise<Rendered> {
    const { relay, rulesOf, answerHere, admit } = this.#options
    if (this.#isAnsweredHere(request)) return answerHere(request)
    if (request.path === SEAL_PATH) {
      await relay.send(request, 'rights')
      // The previous runtime may be about to be replaced.
      await admit(request)
      return answerHere(request)
    }
    // A file does not fit into a message between nodes.
    const isRedirected = rulesOf(request.path).body === 'file' || (request.headers[NO_FORWARDING] ?? '') !== ''
    if (isRedirected) return this.#redirect(request)
    return readInRoom(request, () => relay.send(request), bodySize)
  }

  /** Returns the body limits from the active node; undefined if this node answers. Only the head has arrived so far. */
  async allowBody(head: IncomingRequest): Promise<BodyAllowance | undefined> {
    if (this.#isAnsweredHere(head)) return undefined
    return readAllowance(await this.#options.relay.send(head, 'allowance'))
  }

  #isAnsweredHere({ path, operation }: IncomingRequest): boolean {
    return isServedWhile('standby', this.#options.rulesOf(path), operation)
  }

  #redirect({ target = '' }: IncomingRequest): Rendered {
    const { apiAddress } = this.#options.relay.requireActive()
    if (apiAddress === '') throw new LogicalError('unavailable', 'the active node of the cluster has no api_addr')
    const headers = { Location: `${apiAddress.replace(/\/$/, '')}${target}` }
    return { status: 307, contentType: 'application/json', body: '', headers }
  }
}

/** Responses from the active node are bytes. */
const bodySize = ({ body }: Rendered): number => (Buffer.isBuffer(body) ? body.length : 0)

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

const readAllowance = ({ body }: Rendered): BodyAllowance => {
  const { bytesMax, ...rest } = JSON.parse(String(body)) as WireAllowance
  return { ...rest, bytesMax: bytesMax ?? Number.POSITIVE_INFINITY }
}
