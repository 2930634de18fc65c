import { awaitChange } from '../../base/await-change.js'
import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn, yieldToEventLoop } from '../../base/turn.js'
import { bodyTooLarge, LogicalError } from '../../logical/errors.js'
import { isWrite, type Request, type Response } from '../../logical/request.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import { decodeAnswer, type ForwardAnswer } from './forward-codec.js'
import { encodeRequest } from './forward-request.js'
import { PRIMARY_OVERTAKEN_TEXT, PRIMARY_UNREACHABLE_TEXT } from '../model/guard-texts.js'
import { compareEpochs, type EpochChain, findSurplus } from '../model/epoch.js'
import type { ReplicationSettings } from '../host/host.js'
import type { FollowerService } from '../host/services.js'

/** Maximum payload in bytes: the message limit between clusters minus space for the other fields. */
const PAYLOAD_BYTES_MAX = LIMITS.rpcMessageBytesMax - 64 * 1024

/** A response of the primary, and the position of the primary's log after the request. */
interface Forwarded {
  readonly response: Response | undefined
  readonly state: { readonly clusterId: string; readonly localIndex: number; readonly replicatedIndex: number }
}

interface ForwarderOptions {
  readonly clock: Clock
  readonly store: Pick<ReplicableStore, 'onCommit'>
  readonly settings: ReplicationSettings
  /** The follower of performance replication; undefined while this cluster has no primary. */
  readonly follower: () => FollowerService | undefined
  /** Returns the applied index of the current primary's log. */
  readonly appliedIndex: () => number
}

/**
 * Forwards requests from a performance secondary to its primary if only the primary may execute them. After a write,
 * waits briefly until the secondary has applied the result.
 */
export class Forwarder {
  readonly #options: ForwarderOptions

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Forwards a request. Rejects with the error of the primary's backend, or with 503 if the primary is unreachable. */
  async forward(request: Request): Promise<Forwarded> {
    const clusterId = this.#options.follower()?.primary?.clusterId ?? ''
    // Earlier work for this request may have blocked the event loop for a long time, so other requests run first.
    await nextTurn()
    const payload = await encodeRequest(request)
    if (payload.length > PAYLOAD_BYTES_MAX) throw bodyTooLarge()
    await yieldToEventLoop(payload.length)
    const { answer, epochs } = await this.#ask(payload)
    const { index, response } = answer
    const state = { clusterId, localIndex: index, replicatedIndex: index }
    if (!isWrite(request.operation)) return { response, state }
    const isSeen = await this.#sees(index, epochs)
    if (this.#isLost(index, epochs)) throw new LogicalError('unavailable', PRIMARY_OVERTAKEN_TEXT)
    if (isSeen) return { response, state }
    const warning = 'the primary cluster has executed the write, but the result is not yet visible on this cluster'
    return { response: { ...response, warnings: [...(response?.warnings ?? []), warning] }, state }
  }

  async #ask(payload: Buffer): Promise<{ answer: ForwardAnswer; epochs: EpochChain }> {
    const follower = this.#options.follower()
    if (follower?.connectionState !== 'ready') throw new LogicalError('unavailable', PRIMARY_UNREACHABLE_TEXT)
    const reply = await follower.forward(payload)
    return { answer: decodeAnswer(reply.payload), epochs: reply.epochs }
  }

  /** Returns true if a newer primary, which may lack the result, has replaced the primary that executed the request. */
  #isLost(index: number, epochs: EpochChain): boolean {
    const now = this.#options.follower()?.primaryEpochs ?? epochs
    const surplus = findSurplus(epochs, now)
    return surplus !== undefined && (surplus.after ?? 0) < index
  }

  /** Waits until this store has applied the index. Resolves to false after the configured maximum time. */
  async #sees(index: number, epochs: EpochChain): Promise<boolean> {
    const { clock, store, settings, appliedIndex, follower } = this.#options
    // The log of another primary has different indexes.
    const isSame = () => compareEpochs(epochs, follower()?.primaryEpochs ?? epochs) === 'same'
    const isReached = () => isSame() && appliedIndex() >= index
    if (isReached()) return true
    const limits = { clock, timeoutMs: settings.bestEffortWalWaitMs }
    return (await awaitChange((listener) => store.onCommit(listener), isReached, limits)) || isReached()
  }
}
