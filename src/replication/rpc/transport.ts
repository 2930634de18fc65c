import type { Recorder } from '../../base/meter.js'
import type { PrimaryCredentials, ReplicationTimes, ServerIdentity } from '../model/types.js'
import type { MessageStream } from './message-stream.js'
import type { FetchKeysReply, FetchKeysRequest, ReceivedDown, StreamUp } from './messages.js'
import type { ClusterService, ReplyOf, RequestOf, UnaryMethod } from './service.js'

/** How clusters reach one another: gRPC over sockets, or messages that never leave the process. */
export interface ClusterTransport {
  /** Binds a cluster port, `host:port` with port 0 for any; nothing is served until an identity is. Rejects when it is taken. */
  listen(address: string): Promise<ClusterPort>
  /** Dials one address. Rejects with a LogicalError when it does not answer as our primary within the connect timeout. */
  connect(address: string, options: ConnectOptions): Promise<PrimaryConnection>
}

/**
 * A port behind which each kind of replication is told by a server name, the name of its CA. A connection reaches a service
 * only with a certificate of that very CA. Identities come and go without the port being bound again.
 */
export interface ClusterPort {
  /** The address really bound, as `host:port`. */
  readonly address: string
  /** Serves `service` under the identity's name from now on; connections of a former identity of that name are cut. */
  serve(identity: ServerIdentity, service: ClusterService): void
  /** Stops serving a name and cuts everybody who is connected under it. */
  withdraw(serverName: string): void
  /** Destroys the connections made with a certificate of that common name, now; others are not touched. */
  cut(serverName: string, commonName: string): void
  /** Closes the port and every connection. */
  close(): Promise<void>
}

export interface ConnectOptions {
  readonly credentials: PrimaryCredentials
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  readonly signal: AbortSignal
  /** Counts and times the calls. */
  readonly recorder?: Recorder | undefined
}

/** How long a call may take. Without a time it lasts as long as the connection. */
export interface CallLimits {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export type FollowerStream = MessageStream<StreamUp, ReceivedDown>

/**
 * One connection of a secondary to its primary. It is either good or lost, never dialled again. Every failed call rejects
 * with a LogicalError; `refusalCodeOf` tells a refusal from a broken link.
 */
export interface PrimaryConnection {
  /** `host:port` that answered. */
  readonly address: string
  /** Aborted when the connection is gone, with the reason: a LogicalError. */
  readonly lost: AbortSignal
  close(): void
  /** One message and its answer. */
  call<M extends UnaryMethod>(method: M, request: RequestOf<M>, limits: CallLimits): Promise<ReplyOf<M>>
  /** Replies in order; read no faster than they are taken. Throws a LogicalError when the call fails. */
  fetchKeys(request: FetchKeysRequest): AsyncGenerator<FetchKeysReply>
  streamWals(): FollowerStream
}
