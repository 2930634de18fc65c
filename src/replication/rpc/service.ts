import type { MessageStream } from './message-stream.js'
import type * as Messages from './messages.js'

/** The caller of a call: the common name of its client certificate, and a signal that is aborted when the call ends. */
export interface Caller {
  readonly commonName: string
  readonly gone: AbortSignal
}

/**
 * The calls that a primary serves, independent of gRPC. If a method throws, the caller receives the code and the text
 * of the error.
 */
export interface ClusterService {
  bootstrap(caller: Caller, request: Messages.BootstrapRequest): Promise<Messages.BootstrapReply>
  echo(caller: Caller, request: Messages.EchoRequest): Promise<Messages.EchoReply>
  /** Resolves when the stream has ended. */
  streamWals(caller: Caller, stream: PrimaryStream): Promise<void>
  conflictingPages(caller: Caller, request: Messages.ConflictingPagesRequest): Promise<Messages.ConflictingPagesReply>
  subPageHashes(caller: Caller, request: Messages.SubPageHashesRequest): Promise<Messages.SubPageHashesReply>
  fetchKeys(caller: Caller, request: Messages.FetchKeysRequest): AsyncIterable<Messages.FetchKeysReply>
  forward(caller: Caller, request: Messages.ForwardRequest): Promise<Messages.ForwardReply>
  ping(caller: Caller, request: Messages.PingRequest): Promise<Messages.PingReply>
  commonPosition(caller: Caller, request: Messages.CommonPositionRequest): Promise<Messages.CommonPositionReply>
}

export type PrimaryStream = MessageStream<Messages.StreamDown, Messages.ReceivedUp>

export type UnaryMethod = Exclude<keyof ClusterService, 'streamWals' | 'fetchKeys'>
export type RequestOf<M extends UnaryMethod> = Parameters<ClusterService[M]>[1]
export type ReplyOf<M extends UnaryMethod> = Awaited<ReturnType<ClusterService[M]>>
