import type { Clock } from '../../../base/clock.js'
import type { Recorder } from '../../../base/meter.js'
import { LogicalError } from '../../../logical/errors.js'
import type {
  BootstrapReply,
  BootstrapRequest,
  CommonPositionReply,
  CommonPositionRequest,
  ConflictingPagesReply,
  ConflictingPagesRequest,
  EchoReply,
  EchoRequest,
  FetchKeysReply,
  FetchKeysRequest,
  ForwardReply,
  ForwardRequest,
  PingReply,
  PingRequest,
  SubPageHashesReply,
  SubPageHashesRequest,
} from '../messages.js'
import type { CallLimits, FollowerStream, PrimaryConnection } from '../transport.js'
import { type Codec, codedStream, errorOf } from './coded-stream.js'
import { FETCH_KEYS, METHODS, STREAM_WALS, type UnaryMethod } from './methods.js'
import type { Session } from './session.js'

/** A connection by messages within the process. */
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

  bootstrap(request: BootstrapRequest, limits: CallLimits): Promise<BootstrapReply> {
    return this.#unary('bootstrap', request, limits)
  }

  echo(request: EchoRequest, limits: CallLimits): Promise<EchoReply> {
    return this.#unary('echo', request, limits)
  }

  conflictingPages(request: ConflictingPagesRequest, limits: CallLimits): Promise<ConflictingPagesReply> {
    return this.#unary('conflictingPages', request, limits)
  }

  subPageHashes(request: SubPageHashesRequest, limits: CallLimits): Promise<SubPageHashesReply> {
    return this.#unary('subPageHashes', request, limits)
  }

  forward(request: ForwardRequest, limits: CallLimits): Promise<ForwardReply> {
    return this.#unary('forward', request, limits)
  }

  ping(request: PingRequest, limits: CallLimits): Promise<PingReply> {
    return this.#unary('ping', request, limits)
  }

  commonPosition(request: CommonPositionRequest, limits: CallLimits): Promise<CommonPositionReply> {
    return this.#unary('commonPosition', request, limits)
  }

  async *fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply> {
    this.lost.throwIfAborted()
    this.#note('FetchKeys', 0)
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
    this.#note('StreamWals', 0)
    const call = this.#session.call('streamWals')
    const codec = { encode: STREAM_WALS.requestSerialize, decode: STREAM_WALS.responseDeserialize }
    const stream: FollowerStream = codedStream(call, codec, () => call.cancel())
    call.onEnd((end) =>
      stream.markEnded(errorOf(end) ?? new LogicalError('unavailable', 'the primary ended the stream')),
    )
    return stream
  }

  #note(name: string, ms: number): void {
    const snake = name.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase()
    this.#recorder?.record(`vault.replication.rpc.client.${snake}`, ms)
  }

  async #unary<Request, Reply>(method: UnaryMethod, request: Request, limits: CallLimits): Promise<Reply> {
    this.lost.throwIfAborted()
    limits.signal?.throwIfAborted()
    const definition = METHODS[method]
    const codec = { encode: definition.requestSerialize, decode: definition.responseDeserialize } as Codec<
      unknown,
      unknown
    >
    const startMs = this.#clock.monotonic()
    try {
      return (await this.#answer(method, codec, request, limits)) as Reply
    } finally {
      this.#note(method, this.#clock.monotonic() - startMs)
    }
  }

  #answer(method: string, { encode, decode }: Codec<unknown, unknown>, request: unknown, limits: CallLimits) {
    const { timeoutMs, signal } = limits
    const call = this.#session.call(method)
    return new Promise((resolve, reject) => {
      let reply: unknown
      const giveUp = (why: unknown) => {
        reject(why)
        call.cancel()
      }
      const onAbort = () => giveUp(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      const timer =
        timeoutMs === undefined
          ? undefined
          : this.#clock.setTimer(timeoutMs, () =>
              giveUp(
                new LogicalError('unavailable', `no answer from ${this.address} within ${Math.round(timeoutMs)} ms`),
              ),
            )
      call.listen((payload) => {
        reply = decode(payload)
      })
      call.onEnd((end) => {
        timer?.cancel()
        signal?.removeEventListener('abort', onAbort)
        const error = errorOf(end)
        if (error) reject(error)
        else if (reply !== undefined) resolve(reply)
        else reject(new Error('a call ended without reply and without error'))
      })
      try {
        call.write(encode(request))
      } catch (error) {
        giveUp(error)
      }
    })
  }
}
