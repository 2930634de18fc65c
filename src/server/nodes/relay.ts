import { LIMITS } from '../../base/limits.js'
import { turnFor } from '../../base/turn.js'
import { bodyTooLarge, LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import { isWrite } from '../../logical/request.js'
import { decodeRelayedAnswer } from '../../replication/forwarding/relayed-answer.js'
import { type Asked, encodeRelayed } from '../../replication/forwarding/relayed-request.js'
import { refusalCodeOf } from '../../replication/rpc/refusal.js'
import type { PrimaryConnection } from '../../replication/rpc/transport.js'
import type { LeaderRecord } from '../../storage/commit-log/shared-log.js'

/** The largest request that fits into a message between nodes beside the other fields of it. */
const PAYLOAD_BYTES_MAX = LIMITS.rpcMessageBytesMax - 64 * 1024

const noActiveNode = (): LogicalError =>
  new LogicalError('unavailable', 'local node not active but active cluster node not found')

interface RelayOptions {
  /** The active node, as far as it is known: undefined where it is this one, too. */
  readonly activeNode: () => LeaderRecord | undefined
  /** How long a request that no node has accepted is retried, in milliseconds. */
  readonly leftMs: (request: IncomingRequest) => number
  /** Resolves when another node than that of the term is active, or after a moment: one that was elected is not there at once. */
  readonly awaitOther: (request: IncomingRequest, term: number) => Promise<void>
  /** True when this node is the active one, or about to be. */
  readonly isOwnTurn: () => boolean
  /** Resolves when what is answered from the copy here shows all of the shared log up to the index, or after a while. */
  readonly reach: (index: number) => Promise<void>
  readonly connect: (active: LeaderRecord) => Promise<PrimaryConnection>
  readonly timeoutMs: number
}

/** Nobody else has taken the request, and this node is to answer it by now. */
export class OwnTurn extends Error {
  override readonly name = 'OwnTurn'
}

/** What became of one attempt to have the active node answer. */
type Attempt =
  | { readonly is: 'answered'; readonly payload: Buffer }
  /** Nobody has taken the request: it is as if it had not been sent. */
  | { readonly is: 'untaken'; readonly term: number; readonly cause: unknown }
  /** It was sent, and there will be no answer. */
  | { readonly is: 'lost'; readonly term: number; readonly cause: unknown }

/** Hands requests on to the active node. */
export class Relay {
  readonly #options: RelayOptions

  constructor(options: RelayOptions) {
    this.#options = options
  }

  get isActiveKnown(): boolean {
    return this.#options.activeNode() !== undefined
  }

  /** The active node. Throws LogicalError 503 where none is known. */
  requireActive(): LeaderRecord {
    const active = this.#options.activeNode()
    if (!active) throw noActiveNode()
    return active
  }

  /**
   * The answer of the active node; rejects with its error, with 400 for what it cannot read, with 503 where it cannot be asked, with 502 for a write that it may
   * have done, and with `OwnTurn`. What changes nothing is asked again.
   */
  async send(request: IncomingRequest, asks: Asked = 'answer'): Promise<Rendered> {
    const isRepeatable = asks === 'allowance' || !isWrite(request.operation)
    const last = await this.#attempts(request, asks, isRepeatable)
    if (last.is === 'answered') {
      const { index, open } = decodeRelayedAnswer(last.payload)
      // Whoever is answered reads no older state here next, whichever the answer was.
      if (index !== undefined && asks === 'answer') await this.#options.reach(index)
      return open()
    }
    throw last.is === 'lost' && !isRepeatable ? outcomeUnknown(last.cause) : unreachable(last.cause)
  }

  /** What nobody has taken waits for another active node; a read that was lost is tried once more. */
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
    await turnFor(payload.length)
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
