import { messageOf } from '../../base/printable.js'
import { isServedWhile } from '../../core/pipeline/gate.js'
import { isForActiveNode } from '../../core/pipeline/for-active-node.js'
import { readWithinBudget } from '../../core/pipeline/large-answers.js'
import { renderAnswer } from '../../logical/envelope.js'
import { bodyTooLarge, LogicalError } from '../../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { PathRules } from '../../logical/path-rules.js'
import type { NodeMembership } from '../parts/parts.js'
import { goneOf, type RequestQueue } from '../runtime/admission.js'
import type { OpenCluster } from '../wiring/open-cluster.js'
import { isWrite, ROOT_NAMESPACE } from '../../logical/request.js'
import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { decodeRelayedAnswer } from '../../replication/forwarding/relayed-answer.js'
import { type Asked, encodeRelayed } from '../../replication/forwarding/relayed-request.js'
import { refusalCodeOf } from '../../replication/rpc/refusal.js'
import type { PrimaryConnection } from '../../replication/rpc/transport.js'
import type { LeaderRecord } from '../../storage/shared-log/shared-log.js'

/** Maximum bytes of a request in a message between nodes, minus 64 KiB for the other fields of the message. */
const PAYLOAD_BYTES_MAX = LIMITS.rpcMessageBytesMax - 64 * 1024

const noActiveNode = (): LogicalError =>
  new LogicalError('unavailable', 'local node not active but active cluster node not found')

interface RelayOptions {
  /** Returns the active node, or undefined if it is unknown or is this node. */
  readonly activeNode: () => LeaderRecord | undefined
  /** Returns the remaining time in milliseconds for retries of a request that no node has accepted. */
  readonly leftMs: (request: IncomingRequest) => number
  /** Resolves when a node of another term is active, or after a pause, because a new active node needs time to open. */
  readonly awaitOther: (request: IncomingRequest, term: number) => Promise<void>
  readonly canServeLocally: () => boolean
  /** Resolves when the local copy has applied the shared log up to `index`, or after a timeout. */
  readonly reach: (index: number) => Promise<void>
  readonly connect: (active: LeaderRecord) => Promise<PrimaryConnection>
  readonly timeoutMs: number
}

/** The error if no other node has accepted the request, and this node itself can serve it now. */
export class ServeLocally extends Error {
  override readonly name = 'ServeLocally'
}

/** The outcome of one attempt to forward a request to the active node. */
type Attempt =
  | { readonly is: 'answered'; readonly payload: Buffer }
  /** No node has accepted the request, so it can be sent again safely. */
  | { readonly is: 'untaken'; readonly term: number; readonly cause: unknown }
  /** The request was sent, but no response will arrive. */
  | { readonly is: 'lost'; readonly term: number; readonly cause: unknown }

/** Forwards requests from this standby to the active node. */
export class Relay {
  readonly #options: RelayOptions

  constructor(options: RelayOptions) {
    this.#options = options
  }

  get isActiveKnown(): boolean {
    return this.#options.activeNode() !== undefined
  }

  /** Returns the active node. Throws `LogicalError` `unavailable` if it is unknown. */
  requireActive(): LeaderRecord {
    const active = this.#options.activeNode()
    if (!active) throw noActiveNode()
    return active
  }

  /**
   * Forwards a request. Resolves to the response of the active node. Retries reads. Rejects with the error of the
   * active node, or with `ServeLocally`. Other errors:
   *
   * - 400: the active node cannot parse the request
   * - 503: the active node is unreachable
   * - 502: the active node may have executed the write
   */
  async send(request: IncomingRequest, asks: Asked = 'answer'): Promise<Rendered> {
    const isRepeatable = asks === 'allowance' || !isWrite(request.operation)
    const last = await this.#attempts(request, asks, isRepeatable)
    if (last.is === 'answered') {
      const { index, open } = decodeRelayedAnswer(last.payload)
      // The next read of this client on this node must not be older than this response.
      if (index !== undefined && asks === 'answer') await this.#options.reach(index)
      return open()
    }
    throw last.is === 'lost' && !isRepeatable ? outcomeUnknown(last.cause) : unreachable(last.cause)
  }

  /**
   * Sends the request until a node accepts it or the time is over. Retries a read once if its response was lost.
   * Rejects with `ServeLocally` if this node can serve the request now.
   */
  async #attempts(request: IncomingRequest, asks: Asked, isRepeatable: boolean): Promise<Attempt> {
    let attempt = await this.#attempt(request, asks)
    if (attempt.is === 'lost' && isRepeatable) attempt = await this.#attempt(request, asks)
    const { leftMs, awaitOther, canServeLocally } = this.#options
    for (let isLate = false; attempt.is === 'untaken' && !isLate; ) {
      isLate = leftMs(request) === 0
      await awaitOther(request, attempt.term)
      if (canServeLocally()) throw new ServeLocally()
      attempt = this.isActiveKnown ? await this.#attempt(request, asks) : { ...attempt, cause: noActiveNode() }
    }
    return attempt
  }

  async #attempt(request: IncomingRequest, asks: Asked): Promise<Attempt> {
    const payload = await encodeRelayed({ request, asks, waitMs: this.#options.leftMs(request) })
    if (payload.length > PAYLOAD_BYTES_MAX) throw bodyTooLarge()
    await yieldToEventLoop(payload.length)
    const active = this.requireActive()
    const { term } = active
    let connection: PrimaryConnection
    try {
      connection = await this.#options.connect(active)
    } catch (cause) {
      return { is: 'untaken', term, cause }
    }
    try {
      const reply = await connection.call('forward', { who: null, payload }, { timeoutMs: this.#options.timeoutMs })
      return { is: 'answered', payload: reply.payload }
    } catch (cause) {
      const code = refusalCodeOf(cause)
      if (code === 'invalid') throw new LogicalError('invalid-request', messageOf(cause), { cause })
      return { is: code === 'unavailable' ? 'untaken' : 'lost', term, cause }
    }
  }
}

const unreachable = (cause: unknown): LogicalError =>
  new LogicalError('unavailable', `the active node of the cluster is unreachable: ${messageOf(cause)}`, { cause })

const outcomeUnknown = (cause: unknown): LogicalError =>
  new LogicalError('bad-gateway', `the active node of the cluster did not respond: outcome unknown`, { cause })

interface StandbyOptions {
  readonly membership: Pick<NodeMembership, 'isServing' | 'isTakingOver'>
  readonly relay: Relay
  /** Returns the copy from which a performance standby serves reads, or undefined while the copy is incomplete. */
  readonly copy: () => Pick<OpenCluster, 'pipeline'> | undefined
  readonly queue: RequestQueue
  readonly rulesOf: (path: string) => PathRules
  readonly answerHere: (request: IncomingRequest) => Promise<Rendered>
  /** Waits until the runtime for the request is ready, or until a timeout. */
  readonly admit: (request: IncomingRequest) => Promise<void>
}

/** A request to this path seals the receiving node. The active node must authorize it first. */
const SEAL_PATH = 'sys/seal'
const FORWARD = 'x-vault-forward'
const NO_FORWARDING = 'x-vault-no-request-forwarding'

/** Serves client requests on a node that is not active. */
export class Standby {
  readonly #options: StandbyOptions

  constructor(options: StandbyOptions) {
    this.#options = options
  }

  /** Serves a request from a performance standby's copy. Resolves to undefined if the active node must serve it. */
  async answerAlone(request: IncomingRequest): Promise<Rendered | undefined> {
    const copy = this.#options.copy()
    if (!copy || this.#isAnsweredHere(request) || request.headers[FORWARD] === 'active-node') return undefined
    // The pipeline modifies the request, but the active node must receive the original request.
    const own = { ...request }
    try {
      const rendered = renderAnswer(own, await copy.pipeline.handle('active', own))
      return this.#options.copy() === copy ? rendered : undefined
    } catch (error) {
      if (this.#options.copy() !== copy || isForActiveNode(error, request)) return undefined
      throw error
    }
  }

  /** Waits until any node, including this one, is active, or until a timeout. */
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
      // A new runtime may be about to replace the current one.
      await admit(request)
      return answerHere(request)
    }
    // The body of such a request does not fit into a message between nodes.
    const isRedirected = rulesOf(request.path).body === 'file' || (request.headers[NO_FORWARDING] ?? '') !== ''
    if (isRedirected) return this.#redirect(request)
    return readWithinBudget(request, () => relay.send(request), bodySize)
  }

  /**
   * Resolves to the limits of a body that has not arrived yet, from the active node; undefined if this node serves it.
   */
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

/** Returns the bytes of a response from the active node, whose body is a Buffer. */
const bodySize = ({ body }: Rendered): number => (Buffer.isBuffer(body) ? body.length : 0)

/** Returns the request without body with which a standby asks the active node for the limits of the body. */
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

/** A `BodyAllowance` as JSON. `null` stands for `Infinity`, which JSON cannot represent. */
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
