import type tls from 'node:tls'
import type { ClientUnaryCall, ServiceError } from '@grpc/grpc-js'
import type { Clock } from '../../../base/clock.js'
import { linkText } from '../../../base/link-text.js'
import type { Recorder } from '../../../base/meter.js'
import type { Network } from '../../../base/network.js'
import { LogicalError } from '../../../logical/errors.js'
import { withoutScheme } from '../addresses.js'
import { MessageStream } from '../message-stream.js'
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
import type { CallLimits, ConnectOptions, FollowerStream, PrimaryConnection } from '../transport.js'
import { createClientOver, type ReplicationClient } from './channel.js'
import { dialTls } from './dial.js'
import type { SecureContexts } from './secure-contexts.js'
import { fromServiceError } from './status.js'

interface Opened {
  readonly address: string
  readonly client: ReplicationClient
  readonly socket: tls.TLSSocket
  readonly clock: Clock
  readonly recorder: Recorder | undefined
}

/** The surroundings that connections are made over, the same for all of a process. */
interface Dialler {
  readonly network: Network
  readonly clock: Clock
  readonly contexts: SecureContexts
}

const SURROUNDINGS = { isTls: true, authorityHint: 'does another replication set answer there?' }

/** A connection by gRPC over TLS. */
export class GrpcConnection implements PrimaryConnection {
  /** `host:port` that answered. */
  readonly address: string
  readonly #client: ReplicationClient
  readonly #socket: tls.TLSSocket
  readonly #clock: Clock
  readonly #recorder: Recorder | undefined
  readonly #lost = new AbortController()

  private constructor({ address, client, socket, clock, recorder }: Opened) {
    this.address = address
    this.#client = client
    this.#socket = socket
    this.#clock = clock
    this.#recorder = recorder
    socket.on('error', () => undefined)
    socket.once('close', () => this.#end(new LogicalError('unavailable', `the connection to ${address} was lost`)))
  }

  static async open(address: string, dialler: Dialler, options: ConnectOptions): Promise<GrpcConnection> {
    try {
      return await GrpcConnection.#open(address, dialler, options)
    } catch (error) {
      if (error instanceof LogicalError) throw error
      throw new LogicalError('unavailable', linkText(error, SURROUNDINGS), { cause: error })
    }
  }

  static async #open(address: string, dialler: Dialler, options: ConnectOptions): Promise<GrpcConnection> {
    const { clock } = dialler
    const { times } = options
    const startMs = clock.monotonic()
    const socket = await dialTls(address, { ...dialler, ...options, timeoutMs: times.connectTimeoutMs })
    // A peer that takes the connection and then says nothing would keep this waiting for ever.
    const timer = clock.setTimer(times.connectTimeoutMs - (clock.monotonic() - startMs), () => socket.destroy())
    const onAbort = () => socket.destroy()
    options.signal.addEventListener('abort', onAbort, { once: true })
    try {
      const client = await createClientOver(socket, times)
      return new GrpcConnection({ address: withoutScheme(address), client, socket, clock, recorder: options.recorder })
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      timer.cancel()
      options.signal.removeEventListener('abort', onAbort)
    }
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  close(): void {
    this.#end(new LogicalError('unavailable', 'the connection was closed'))
  }

  bootstrap(request: BootstrapRequest, limits: CallLimits): Promise<BootstrapReply> {
    return this.#unary('bootstrap', (done) => this.#client.Bootstrap(request, done), limits)
  }

  echo(request: EchoRequest, limits: CallLimits): Promise<EchoReply> {
    return this.#unary('echo', (done) => this.#client.Echo(request, done), limits)
  }

  conflictingPages(request: ConflictingPagesRequest, limits: CallLimits): Promise<ConflictingPagesReply> {
    return this.#unary('conflicting_pages', (done) => this.#client.ConflictingPages(request, done), limits)
  }

  subPageHashes(request: SubPageHashesRequest, limits: CallLimits): Promise<SubPageHashesReply> {
    return this.#unary('sub_page_hashes', (done) => this.#client.SubPageHashes(request, done), limits)
  }

  forward(request: ForwardRequest, limits: CallLimits): Promise<ForwardReply> {
    return this.#unary('forward', (done) => this.#client.Forward(request, done), limits)
  }

  ping(request: PingRequest, limits: CallLimits): Promise<PingReply> {
    return this.#unary('ping', (done) => this.#client.Ping(request, done), limits)
  }

  commonPosition(request: CommonPositionRequest, limits: CallLimits): Promise<CommonPositionReply> {
    return this.#unary('common_position', (done) => this.#client.CommonPosition(request, done), limits)
  }

  async *fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply> {
    this.lost.throwIfAborted()
    this.#note('fetch_keys', 0)
    const call = this.#client.FetchKeys(request)
    try {
      for await (const reply of call as AsyncIterable<FetchKeysReply>) yield reply
    } catch (error) {
      throw isServiceError(error) ? fromServiceError(error) : error
    } finally {
      call.cancel()
    }
  }

  streamWals(): FollowerStream {
    this.lost.throwIfAborted()
    this.#note('stream_wals', 0)
    const call = this.#client.StreamWals()
    const stream: FollowerStream = new MessageStream(call, () => call.cancel())
    // One failure fires both of these; the stream takes only the first.
    call.on('error', (error: ServiceError) => stream.markEnded(fromServiceError(error)))
    call.on('end', () => stream.markEnded(new LogicalError('unavailable', 'the primary ended the stream')))
    this.lost.addEventListener('abort', () => stream.markEnded(this.lost.reason), { once: true })
    return stream
  }

  #note(name: string, ms: number): void {
    this.#recorder?.record(`vault.replication.rpc.client.${name}`, ms)
  }

  #unary<Reply>(
    name: string,
    start: (done: (error: ServiceError | null, reply?: Reply) => void) => ClientUnaryCall,
    { timeoutMs, signal }: CallLimits,
  ): Promise<Reply> {
    const startMs = this.#clock.monotonic()
    return new Promise((resolve, reject) => {
      this.lost.throwIfAborted()
      signal?.throwIfAborted()
      let reason: unknown
      const call = start((error, reply) => {
        timer?.cancel()
        this.#note(name, this.#clock.monotonic() - startMs)
        signal?.removeEventListener('abort', onAbort)
        if (reason !== undefined) reject(reason)
        else if (error) reject(fromServiceError(error))
        else if (reply !== undefined) resolve(reply)
        else reject(new Error('a call ended without reply and without error'))
      })
      const giveUp = (why: unknown) => {
        reason ??= why
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
    })
  }

  #end(reason: LogicalError): void {
    if (this.#lost.signal.aborted) return
    this.#lost.abort(reason)
    this.#client.close()
    this.#socket.destroy()
  }
}

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error
