import type { Clock } from '../../../base/clock.js'
import type { Recorder } from '../../../base/meter.js'
import { LogicalError } from '../../../logical/errors.js'
import { watchLimits } from '../call-limits.js'
import type { FetchKeysReply, FetchKeysRequest } from '../messages.js'
import { FETCH_KEYS, methodOf, recordCall, STREAM_WALS } from '../methods.js'
import type { ReplyOf, RequestOf, UnaryMethod } from '../service.js'
import type { CallLimits, FollowerStream, PrimaryConnection } from '../transport.js'
import { codedStream, errorOf } from './coded-stream.js'
import type { Session } from './session.js'

/** A connection to a primary with messages inside the process. */
export class SimulatedConnection implements PrimaryConnection {
  readonly address: string
  readonly #session: Session
  readonly #clock: Clock
  readonly #recorder: Recorder | undefined

  constructor(address: string, session: Session, clock: Clock, recorder: Recorder | undefined) {
    this.address = address
    this.#session = session
    this.#clock = clock
    this.#recorder = recorder
  }

  get lost(): AbortSignal {
    return this.#session.lost
  }

  close(): void {
    this.#session.close(new LogicalError('unavailable', 'the connection was closed'))
  }

  async call<M extends UnaryMethod>(method: M, request: RequestOf<M>, limits: CallLimits): Promise<ReplyOf<M>> {
    this.lost.throwIfAborted()
    limits.signal?.throwIfAborted()
    const startMs = this.#clock.monotonic()
    try {
      return await this.#answer(method, request, limits)
    } finally {
      recordCall(this.#recorder, method, this.#clock.monotonic() - startMs)
    }
  }

  async *fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply> {
    this.lost.throwIfAborted()
    recordCall(this.#recorder, 'fetchKeys', 0)
    const call = this.#session.call('fetchKeys')
    const codec = { encode: FETCH_KEYS.requestSerialize, decode: FETCH_KEYS.responseDeserialize }
    const stream = codedStream<FetchKeysRequest, FetchKeysReply>(call, codec, () => call.cancel())
    let isDone = false
    call.onEnd((end) => {
      const error = errorOf(end)
      isDone = error === undefined
      stream.markEnded(error ?? new LogicalError('unavailable', 'the call has ended'))
    })
    try {
      await stream.send(request)
      for (;;) yield* await stream.receive()
    } catch (error) {
      if (!isDone || error !== stream.ended.reason) throw error
    } finally {
      stream.end()
    }
  }

  streamWals(): FollowerStream {
    this.lost.throwIfAborted()
    recordCall(this.#recorder, 'streamWals', 0)
    const call = this.#session.call('streamWals')
    const codec = { encode: STREAM_WALS.requestSerialize, decode: STREAM_WALS.responseDeserialize }
    const stream: FollowerStream = codedStream(call, codec, () => call.cancel())
    call.onEnd((end) =>
      stream.markEnded(errorOf(end) ?? new LogicalError('unavailable', 'the primary ended the stream')),
    )
    return stream
  }

  #answer<M extends UnaryMethod>(method: M, request: RequestOf<M>, limits: CallLimits): Promise<ReplyOf<M>> {
    const { requestSerialize, responseDeserialize } = methodOf(method)
    const call = this.#session.call(method)
    return new Promise((resolve, reject) => {
      let reply: ReplyOf<M> | undefined
      const abort = (why: unknown) => {
        reject(why)
        call.cancel()
      }
      const unwatch = watchLimits(limits, { clock: this.#clock, address: this.address }, abort)
      call.listen((payload) => {
        reply = responseDeserialize(payload)
      })
      call.onEnd((end) => {
        unwatch()
        const error = errorOf(end)
        if (error) reject(error)
        else if (reply !== undefined) resolve(reply)
        else reject(new Error('a simulated call ended without a reply or an error'))
      })
      try {
        call.write(requestSerialize(request))
      } catch (error) {
        abort(error)
      }
    })
  }
}
