import type { Facilities } from '../../../base/facilities.js'
import type tls from 'node:tls'
import type { ServiceError } from '@grpc/grpc-js'
import type { Clock } from '../../../base/clock.js'
import { linkText } from '../../../base/link-text.js'
import type { Recorder } from '../../../base/meter.js'
import { LogicalError } from '../../../logical/errors.js'
import { withoutScheme } from '../addresses.js'
import { watchLimits } from '../call-limits.js'
import { MessageStream } from '../message-stream.js'
import type { FetchKeysReply, FetchKeysRequest } from '../messages.js'
import { methodOf, recordCall } from '../methods.js'
import type { ReplyOf, RequestOf, UnaryMethod } from '../service.js'
import type { CallLimits, ConnectOptions, FollowerStream, PrimaryConnection } from '../transport.js'
import { createClientOver, type ReplicationClient } from './channel.js'
import { dialTls } from './dial.js'
import type { SecureContexts } from './secure-contexts.js'
import { cutWhenSilent } from './silence.js'
import { fromServiceError } from './status.js'

interface Opened {
  /** `host:port` of the peer. */
  readonly address: string
  readonly client: ReplicationClient
  readonly socket: tls.TLSSocket
  readonly clock: Clock
  readonly recorder: Recorder | undefined
}

/** The dependencies of all connections of a process. */
interface Dialler extends Pick<Facilities, 'clock' | 'network'> {
  readonly contexts: SecureContexts
}

const SURROUNDINGS = { isTls: true, authorityHint: 'does another replication set use this address?' }

/** A connection to a primary with gRPC over TLS. */
export class GrpcConnection implements PrimaryConnection {
  readonly #opened: Opened
  readonly #lost = new AbortController()

  private constructor(opened: Opened) {
    this.#opened = opened
    const { socket, address } = opened
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
    // The handshake took at least one round trip.
    const roundTripMs = clock.monotonic() - startMs
    // Without this timer, a peer that accepts the connection but never responds would block this call forever.
    const timer = clock.setTimer(times.connectTimeoutMs - (clock.monotonic() - startMs), () => socket.destroy())
    const onAbort = () => socket.destroy()
    options.signal.addEventListener('abort', onAbort, { once: true })
    try {
      const client = await createClientOver(socket, times)
      cutWhenSilent(socket, { clock, times, roundTripMs })
      return new GrpcConnection({ address: withoutScheme(address), client, socket, clock, recorder: options.recorder })
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      timer.cancel()
      options.signal.removeEventListener('abort', onAbort)
    }
  }

  get address(): string {
    return this.#opened.address
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  close(): void {
    this.#end(new LogicalError('unavailable', 'the connection was closed'))
  }

  call<M extends UnaryMethod>(method: M, request: RequestOf<M>, limits: CallLimits): Promise<ReplyOf<M>> {
    const { path, requestSerialize, responseDeserialize } = methodOf(method)
    const startMs = this.#opened.clock.monotonic()
    return new Promise((resolve, reject) => {
      this.lost.throwIfAborted()
      limits.signal?.throwIfAborted()
      let reason: unknown
      const done = (error: ServiceError | null, reply?: ReplyOf<M>) => {
        unwatch()
        recordCall(this.#opened.recorder, method, this.#opened.clock.monotonic() - startMs)
        if (reason !== undefined) reject(reason)
        else if (error) reject(fromServiceError(error))
        else if (reply !== undefined) resolve(reply)
        else reject(new Error('a gRPC call ended without a reply or an error'))
      }
      const call = this.#opened.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, done)
      const unwatch = watchLimits(limits, { clock: this.#opened.clock, address: this.address }, (why) => {
        reason ??= why
        call.cancel()
      })
    })
  }

  async *fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply> {
    this.lost.throwIfAborted()
    recordCall(this.#opened.recorder, 'fetchKeys', 0)
    const call = this.#opened.client.FetchKeys(request)
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
    recordCall(this.#opened.recorder, 'streamWals', 0)
    const call = this.#opened.client.StreamWals()
    const stream: FollowerStream = new MessageStream(call, () => call.cancel())
    // One failure triggers both handlers. The stream uses the first reason.
    call.on('error', (error: ServiceError) => stream.markEnded(fromServiceError(error)))
    call.on('end', () => stream.markEnded(new LogicalError('unavailable', 'the primary ended the stream')))
    this.lost.addEventListener('abort', () => stream.markEnded(this.lost.reason), { once: true })
    return stream
  }

  #end(reason: LogicalError): void {
    if (this.#lost.signal.aborted) return
    this.#lost.abort(reason)
    this.#opened.client.close()
    this.#opened.socket.destroy()
  }
}

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error
