import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn, turnFor } from '../../base/turn.js'
import { bodyTooLarge, LogicalError } from '../../logical/errors.js'
import { isWrite, type Request, type Response } from '../../logical/request.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import { decodeAnswer, type ForwardAnswer } from './forward-codec.js'
import { encodeRequest } from './forward-request.js'
import { PRIMARY_OVERTAKEN_TEXT, PRIMARY_UNREACHABLE_TEXT } from '../model/guard-texts.js'
import { compareEpochs, type EpochChain, findSurplus } from '../model/epoch.js'
import type { ReplicationSettings } from '../host/host.js'
import type { FollowerService } from '../host/services.js'

/** The largest payload that fits into a message between clusters beside the other fields of it. */
const PAYLOAD_BYTES_MAX = LIMITS.rpcMessageBytesMax - 64 * 1024

/** An answer of the primary, and how far its log had come when the request was done. */
interface Forwarded {
  readonly response: Response | undefined
  readonly state: { readonly clusterId: string; readonly localIndex: number; readonly replicatedIndex: number }
}

interface ForwarderOptions {
  readonly clock: Clock
  readonly store: Pick<ReplicableStore, 'onCommit'>
  readonly settings: ReplicationSettings
  /** Of the performance kind; undefined while this cluster follows nobody. */
  readonly follower: () => FollowerService | undefined
  /** Of the log of the primary that is followed now. */
  readonly appliedIndex: () => number
}

/** Sends what a performance secondary may not do itself to its primary, and waits a little to see the outcome here. */
export class Forwarder {
  readonly #options: ForwarderOptions

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Rejects with the error of the primary's backend, or with 503 when the primary cannot be asked. */
  async forward(request: Request): Promise<Forwarded> {
    const clusterId = this.#options.follower()?.primary?.clusterId ?? ''
    // The work on the request here so far may have taken long, and it was in vain.
    await nextTurn()
    const payload = await encodeRequest(request)
    if (payload.length > PAYLOAD_BYTES_MAX) throw bodyTooLarge()
    await turnFor(payload.length)
    const { answer, epochs } = await this.#ask(payload)
    const { index, response } = answer
    const state = { clusterId, localIndex: index, replicatedIndex: index }
    if (!isWrite(request.operation)) return { response, state }
    const isSeen = await this.#sees(index, epochs)
    if (this.#isGivenUp(index, epochs)) throw new LogicalError('unavailable', PRIMARY_OVERTAKEN_TEXT)
    if (isSeen) return { response, state }
    const warning = 'the write was made on the primary cluster, but is not yet visible on this cluster'
    return { response: { ...response, warnings: [...(response?.warnings ?? []), warning] }, state }
  }

  async #ask(payload: Buffer): Promise<{ answer: ForwardAnswer; epochs: EpochChain }> {
    const follower = this.#options.follower()
    if (follower?.connectionState !== 'ready') throw new LogicalError('unavailable', PRIMARY_UNREACHABLE_TEXT)
    const reply = await follower.forward(payload)
    return { answer: decodeAnswer(reply.payload), epochs: reply.epochs }
  }

  /** True when the primary that ran it was replaced since by one that may not know of it. */
  #isGivenUp(index: number, epochs: EpochChain): boolean {
    const now = this.#options.follower()?.primaryEpochs ?? epochs
    const surplus = findSurplus(epochs, now)
    return surplus !== undefined && (surplus.after ?? 0) < index
  }

  /** True as soon as this store has applied the index; false when it has not within the configured wait. */
  #sees(index: number, epochs: EpochChain): Promise<boolean> {
    const { clock, store, settings, appliedIndex, follower } = this.#options
    // Another primary numbers its log otherwise.
    const isSame = () => compareEpochs(epochs, follower()?.primaryEpochs ?? epochs) === 'same'
    const isReached = () => isSame() && appliedIndex() >= index
    if (isReached()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const finish = (isSeen: boolean) => {
        timer.cancel()
        unsubscribe()
        resolve(isSeen)
      }
      const unsubscribe = store.onCommit(() => {
        if (isReached()) finish(true)
      })
      const timer = clock.setTimer(settings.bestEffortWalWaitMs, () => finish(isReached()))
    })
  }
}
