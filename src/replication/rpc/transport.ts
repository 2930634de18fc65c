import type { Recorder } from '../../base/meter.js'
import type { PrimaryCredentials, ReplicationTimes, ServerIdentity } from '../model/types.js'
import type { MessageStream } from './message-stream.js'
import type { FetchKeysReply, FetchKeysRequest, ReceivedDown, StreamUp } from './messages.js'
import type { ClusterService, ReplyOf, RequestOf, UnaryMethod } from './service.js'

/** The transport between clusters: gRPC over sockets, or messages within the process. */
export interface ClusterTransport {
  /**
   * Binds a cluster port to `host:port`. Port 0 selects a free port. Connections are rejected until `serve` is called.
   * Rejects if the address is in use.
   */
  listen(address: string): Promise<ClusterPort>
  /**
   * Connects to one address. Rejects with `LogicalError` if no primary with the expected identity responds within the
   * connect timeout.
   */
  connect(address: string, options: ConnectOptions): Promise<PrimaryConnection>
}

/**
 * A port that serves both kinds of replication. Each kind has a CA, whose name is the TLS server name. The server name
 * selects the service. A client needs a certificate of this CA. Identities can change without rebinding the port.
 */
export interface ClusterPort {
  /** The bound address, as `host:port`. */
  readonly address: string
  /**
   * Serves `service` under the name of the identity from now on. Closes the connections of an earlier identity with
   * this name.
   */
  serve(identity: ServerIdentity, service: ClusterService): void
  /** Stops serving a name and closes its connections. */
  withdraw(serverName: string): void
  /** Destroys the connections that use a certificate with this common name. Other connections are not affected. */
  cut(serverName: string, commonName: string): void
  /** Closes the port and every connection. */
  close(): Promise<void>
}

export interface ConnectOptions {
  readonly credentials: PrimaryCredentials
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  readonly signal: AbortSignal
  readonly recorder?: Recorder | undefined
}

/** Limits of a call. Without a timeout, a call lasts until its response, or until the connection is lost. */
export interface CallLimits {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export type FollowerStream = MessageStream<StreamUp, ReceivedDown>

/**
 * One connection of a secondary to its primary. A lost connection is not reopened. Every failed call rejects with
 * `LogicalError`. `refusalCodeOf` distinguishes a refusal from a lost connection.
 */
export interface PrimaryConnection {
  /** `host:port` of the peer. */
  readonly address: string
  /** Aborted when the connection is lost. The reason is a `LogicalError`. */
  readonly lost: AbortSignal
  close(): void
  call<M extends UnaryMethod>(method: M, request: RequestOf<M>, limits: CallLimits): Promise<ReplyOf<M>>
  /** Yields replies in order, with backpressure. Throws `LogicalError` if the call fails. */
  fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply>
  streamWals(): FollowerStream
}
