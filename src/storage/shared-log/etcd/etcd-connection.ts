import type { Facilities } from '../../../base/facilities.js'
import {
  type ChannelCredentials,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { Backoff } from '../../../base/backoff.js'
import { linkSignals } from '../../../base/linked-signal.js'
import { systemRoots } from '../../../base/system-roots.js'
import { LogRefused } from '../shared-log.js'
import { createMembers, type EtcdCalls, type EtcdMember, type WatchResponse } from './etcd-api.js'
import { growTimeout } from './grow-timeout.js'

export interface EtcdConnectionOptions extends Pick<Facilities, 'clock' | 'random'> {
  /** Addresses (`host:port`) of etcd members. If a member fails, the next one is used. */
  readonly addresses: readonly string[]
  /** If undefined, the connection uses plaintext HTTP/2. */
  readonly tls?: Readonly<Record<'ca' | 'cert' | 'key', Buffer | undefined>> | undefined
  readonly login?: { readonly name: string; readonly password: string } | undefined
  /** Timeout of a request to one member, in milliseconds. The request is then sent to the next member. */
  readonly requestTimeoutMs: number
}

type Request<N extends keyof EtcdCalls> = Parameters<EtcdCalls[N]>[0]
type Response<N extends keyof EtcdCalls> = NonNullable<Parameters<Parameters<EtcdCalls[N]>[3]>[1]>

/** Backoff between attempts. It is short, because only one member may be configured. */
const RECONNECT = { initialMs: 20, maxMs: 500 }
/** Interval of keepalive pings. etcd rejects pings at shorter intervals. */
const KEEPALIVE_MS = 10_000

/** Status codes of a failed member or connection. The request may succeed at another member. */
const IS_UNREACHABLE: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.UNKNOWN,
  status.INTERNAL,
])

/** Returns true if etcd rejected a request because its storage quota is exhausted. */
export const isFull = (error: unknown): boolean => isServiceError(error) && error.code === status.RESOURCE_EXHAUSTED

/**
 * Rethrows an error of etcd. Converts it to `LogRefused` if etcd is full. May be used only for requests that etcd
 * certainly did not execute.
 */
export const refuseWhenFull = (error: unknown): never => {
  throw isFull(error) && error instanceof Error ? new LogRefused(error.message, error) : error
}

const isServiceError = (error: unknown): error is ServiceError => error instanceof Error && 'code' in error

const createTrust = ({ ca, key, cert }: NonNullable<EtcdConnectionOptions['tls']>): ChannelCredentials =>
  credentials.createSsl(ca ?? Buffer.from(systemRoots().join('\n')), key, cert)

/** Sends requests to one member of an etcd cluster. If the member fails, sends them to the next member. */
export class EtcdConnection {
  readonly #options: EtcdConnectionOptions
  readonly #members: readonly EtcdMember[]
  readonly #ended = new AbortController()
  #at = 0
  #token: Promise<string> | undefined

  constructor(options: EtcdConnectionOptions) {
    this.#options = options
    const makeMember = createMembers()
    const { tls } = options
    const trust = tls ? createTrust(tls) : credentials.createInsecure()
    this.#members = options.addresses.map((address) =>
      makeMember(address, trust, {
        'grpc.max_receive_message_length': -1,
        'grpc.keepalive_time_ms': KEEPALIVE_MS,
        'grpc.keepalive_timeout_ms': options.requestTimeoutMs,
        'grpc.enable_retries': 0,
        'grpc.enable_channelz': 0,
        'grpc.enable_http_proxy': 0,
        'grpc.service_config_disable_resolution': 1,
        'grpc.initial_reconnect_backoff_ms': RECONNECT.initialMs,
        'grpc.min_reconnect_backoff_ms': RECONNECT.initialMs,
        'grpc.max_reconnect_backoff_ms': RECONNECT.maxMs,
      }),
    )
  }

  /** Aborted when the connection is closed. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  get requestTimeoutMs(): number {
    return this.#options.requestTimeoutMs
  }

  /**
   * Sends a request, and repeats it until a member responds. etcd may execute the request more than once. Rejects with
   * etcd's error if etcd refuses the request. Rejects with the reason of the signal or of `close` if one of them ends
   * the call. etcd may have executed the request in this case too. `onRetry` is called before each retry.
   */
  async ask<N extends keyof EtcdCalls>(
    name: N,
    request: Request<N>,
    signal?: AbortSignal,
    onRetry: () => void = () => undefined,
  ): Promise<Response<N>> {
    using linked = signal && linkSignals([signal, this.ended])
    const ends = linked?.signal ?? this.ended
    const backoff = new Backoff(RECONNECT, this.#options.random)
    for (let timeouts = 0; ; ) {
      ends.throwIfAborted()
      try {
        const timeoutMs = growTimeout(this.#options.requestTimeoutMs, timeouts / this.#members.length)
        return await this.#askOnce(name, request, { timeoutMs, ends })
      } catch (error) {
        ends.throwIfAborted()
        if (isServiceError(error) && error.code === status.DEADLINE_EXCEEDED) timeouts++
        if (isServiceError(error) && isOldToken(error)) this.#token = undefined
        else if (!isServiceError(error) || !IS_UNREACHABLE.has(error.code)) throw error
        this.#at++
      }
      onRetry()
      await this.#options.clock.sleep(backoff.next(), ends)
    }
  }

  /** Sends a request to every configured member, one by one. If some fail, rejects with the first error at the end. */
  async askEach<N extends keyof EtcdCalls>(
    name: N,
    request: Request<N>,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const ends = AbortSignal.any([signal, this.ended])
    const failures: unknown[] = []
    for (const member of this.#members) {
      ends.throwIfAborted()
      const call = { metadata: await this.#metadata(), timeoutMs, ends }
      await this.#call(member, name, request, call).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async watch(): Promise<ClientDuplexStream<object, WatchResponse>> {
    const metadata = await this.#metadata()
    this.ended.throwIfAborted()
    return this.#member.Watch(metadata)
  }

  /** Renews a lease once. Resolves to its remaining seconds, or to 0 if it has expired. Rejects after `timeoutMs`. */
  async keepAlive(lease: string, timeoutMs: number): Promise<number> {
    const metadata = await this.#metadata()
    this.ended.throwIfAborted()
    const stream = this.#member.LeaseKeepAlive(metadata)
    return new Promise<number>((resolve, reject) => {
      const end = () => stream.cancel()
      const timer = this.#options.clock.setTimer(timeoutMs, end)
      this.ended.addEventListener('abort', end, { once: true })
      const done = () => {
        timer.cancel()
        this.ended.removeEventListener('abort', end)
        stream.cancel()
      }
      stream.on('data', ({ TTL }) => {
        resolve(Number(TTL))
        done()
      })
      stream.on('error', (error: ServiceError) => {
        if (isOldToken(error)) this.#token = undefined
        this.#at++
        reject(error)
        done()
      })
      stream.write({ ID: lease })
    })
  }

  /** Closes the connection. Pending requests reject. */
  close(): void {
    this.#ended.abort(new Error('the connection to etcd is closed'))
    for (const member of this.#members) member.close()
  }

  /** Sends further requests to the next member. */
  skip(): void {
    this.#at++
  }

  get #member(): EtcdMember {
    const member = this.#members[this.#at % this.#members.length]
    if (!member) throw new Error('no etcd address is configured')
    return member
  }

  async #askOnce<N extends keyof EtcdCalls>(
    name: N,
    request: Request<N>,
    limits: { readonly timeoutMs: number; readonly ends: AbortSignal },
  ): Promise<Response<N>> {
    const metadata = name === 'Authenticate' ? new Metadata() : await this.#metadata()
    return this.#call(this.#member, name, request, { metadata, ...limits })
  }

  #call<N extends keyof EtcdCalls>(
    member: EtcdMember,
    name: N,
    request: Request<N>,
    {
      metadata,
      timeoutMs,
      ends,
    }: { readonly metadata: Metadata; readonly timeoutMs: number; readonly ends: AbortSignal },
  ): Promise<Response<N>> {
    const deadline = this.#options.clock.now() + timeoutMs
    const ask = member[name] as unknown as (
      request: Request<N>,
      metadata: Metadata,
      options: { deadline: number },
      answer: (error: ServiceError | null, response: Response<N>) => void,
    ) => { cancel(): void }
    return new Promise((resolve, reject) => {
      const call = ask(request, metadata, { deadline }, (error, response) => {
        ends.removeEventListener('abort', end)
        if (error) reject(error)
        else resolve(response)
      })
      const end = () => call.cancel()
      ends.addEventListener('abort', end, { once: true })
    })
  }

  async #metadata(): Promise<Metadata> {
    const metadata = new Metadata()
    const { login } = this.#options
    if (!login) return metadata
    this.#token ??= this.ask('Authenticate', login).then(({ token }) => token)
    this.#token.catch(() => {
      this.#token = undefined
    })
    metadata.set('token', await this.#token)
    return metadata
  }
}

/** Returns true if the token has expired, or was issued by a member that has restarted since. */
const isOldToken = ({ code, details }: ServiceError): boolean =>
  code === status.UNAUTHENTICATED || /invalid auth token/.test(details)
