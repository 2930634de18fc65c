import type { MessageStream } from './message-stream.js'
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
  ReceivedUp,
  StreamDown,
  SubPageHashesReply,
  SubPageHashesRequest,
} from './messages.js'

/** The caller: common name of its connection's certificate. `gone` is aborted when the call ends. */
export interface Caller {
  readonly commonName: string
  readonly gone: AbortSignal
}

/** The calls that a primary answers, independent of gRPC. The caller receives the text and reason of a thrown error. */
export interface ClusterService {
  bootstrap(caller: Caller, request: BootstrapRequest): Promise<BootstrapReply>
  echo(caller: Caller, request: EchoRequest): Promise<EchoReply>
  /** Resolves when the stream has ended. */
  streamWals(caller: Caller, stream: PrimaryStream): Promise<void>
  conflictingPages(caller: Caller, request: ConflictingPagesRequest): Promise<ConflictingPagesReply>
  subPageHashes(caller: Caller, request: SubPageHashesRequest): Promise<SubPageHashesReply>
  fetchKeys(caller: Caller, request: FetchKeysRequest): AsyncIterable<FetchKeysReply>
  forward(caller: Caller, request: ForwardRequest): Promise<ForwardReply>
  ping(caller: Caller, request: PingRequest): Promise<PingReply>
  commonPosition(caller: Caller, request: CommonPositionRequest): Promise<CommonPositionReply>
}

export type PrimaryStream = MessageStream<StreamDown, ReceivedUp>

/** The unary calls. */
export type UnaryMethod = Exclude<keyof ClusterService, 'streamWals' | 'fetchKeys'>
export type RequestOf<M extends UnaryMethod> = Parameters<ClusterService[M]>[1]
export type ReplyOf<M extends UnaryMethod> = Awaited<ReturnType<ClusterService[M]>>
