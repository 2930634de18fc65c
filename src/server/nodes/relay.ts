import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { bodyTooLarge, LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import { isWrite } from '../../logical/request.js'
import { decodeRelayedAnswer } from '../../replication/forwarding/relayed-answer.js'
import { type Asked, encodeRelayed } from '../../replication/forwarding/relayed-request.js'
import { refusalCodeOf } from '../../replication/rpc/refusal.js'
import type { PrimaryConnection } from '../../replication/rpc/transport.js'
import type { LeaderRecord } from '../../storage/shared-log/shared-log.js'

/** The maximum request size in a message between nodes, less its other fields. */
const PAYLOAD_BYTES_MAX = LIMITS.rpcMessageBytesMax - 64 * 1024

const noActiveNode = (): LogicalError =>
  new LogicalError('unavailable', 'local node not active but active cluster node not found')

interface RelayOptions {
  /** Returns the known active node; undefined if unknown, or if it is this node. */
  readonly activeNode: () => LeaderRecord | undefined
  /** Returns how long a request that no node has accepted is retried, in milliseconds. */
  readonly leftMs: (request: IncomingRequest) => number
  /** Resolves when a node of another term is active, or after a moment, since an elected node is not available at once. */
  readonly awaitOther: (request: IncomingRequest, term: number) => Promise<void>
  readonly isOwnTurn: () => boolean
  /** Resolves when the local copy has applied the shared log up to the index, or after a timeout. */
  readonly reach: (index: number) => Promise<void>
  readonly connect: (active: LeaderRecord) => Promise<PrimaryConnection>
  readonly timeoutMs: number
}

/** No other node has accepted the request, and this node can answer it now. */
export class OwnTurn extends Error {
  override readonly name = 'OwnTurn'
}

/** The outcome of one attempt to forward a request to the active node. */
type Attempt =
  | { readonly is: 'answered'; readonly payload: Buffer }
  /** No node has accepted the request: it can be sent again safely. */
  | { readonly is: 'untaken'; readonly term: number; readonly cause: unknown }
  /** It was sent, and no response will arrive. */
  | { readonly is: 'lost'; readonly term: number; readonly cause: unknown }

export class Relay {
  readonly #options: RelayOptions

  constructor(options: RelayOptions) {
    this.#options = options
  }

  get isActiveKnown(): boolean {
    return this.#options.activeNode() !== undefined
  }

  /** Returns the active node. Throws LogicalError 503 if it is unknown. */
  requireActive(): LeaderRecord {
    const active = this.#options.activeNode()
    if (!active) throw noActiveNode()
    return active
  }

  /**
   * Returns the response of the active node. Retries reads. Rejects with the node's error or with `OwnTurn`. Other errors:
   * 400 if the node cannot read the request, 503 if it is unreachable, 502 for a write that it may have executed.
   */
  async send(request: IncomingRequest, asks: Asked = 'answer'): Promise<Rendered> {
    const isRepeatable = asks === 'allowance' || !isWrite(request.operation)
    const last = await this.#attempts(request, asks, isRepeatable)
    if (last.is === 'answered') {
      const { index, open } = decodeRelayedAnswer(last.payload)
      // Ensures that the client's next read here is not older than this response.
      if (index !== undefined && asks === 'answer') await this.#options.reach(index)
      return open()
    }
    throw last.is === 'lost' && !isRepeatable ? outcomeUnknown(last.cause) : unreachable(last.cause)
  }

  /** Waits for another active node if none accepted the request; retries a read once if its response was lost. */
  async #attempts(request: IncomingRequest, asks: Asked, isRepeatable: boolean): Promise<Attempt> {
    let attempt = await this.#attempt(request, asks)
    if (attempt.is === 'lost' && isRepeatable) attempt = await this.#attempt(request, asks)
    const { leftMs, awaitOther, isOwnTurn } = this.#options
    for (let isLate = false; attempt.is === 'untaken' && !isLate; ) {
      isLate = leftMs(request) === 0
      await awaitOther(request, attempt.term)
      if (isOwnTurn()) throw new OwnTurn()
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
      if (code === 'invalid') throw new LogicalError('invalid-request', textOf(cause), { cause })
      return { is: code === 'unavailable' ? 'untaken' : 'lost', term, cause }
    }
  }
}

const unreachable = (cause: unknown): LogicalError =>
  new LogicalError('unavailable', `the active node of the cluster cannot be reached: ${textOf(cause)}`, { cause })

const outcomeUnknown = (cause: unknown): LogicalError =>
  new LogicalError('bad-gateway', `the active node of the cluster gave no answer: outcome unknown`, { cause })

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
