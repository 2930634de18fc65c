import type {
  handleUnaryCall,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { LogicalError } from '../../logical/errors.js'
import { MessageStream } from './message-stream.js'
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
import { toStatus } from './refusal.js'

/** Who calls: the common name of the certificate its connection was made with. `gone` is aborted when the call ends. */
export interface Caller {
  readonly commonName: string
  readonly gone: AbortSignal
}

/** The calls that a primary answers, free of gRPC. Thrown errors reach the caller with text and reason. */
export interface ClusterService {
  bootstrap(caller: Caller, request: BootstrapRequest): Promise<BootstrapReply>
  echo(caller: Caller, request: EchoRequest): Promise<EchoReply>
  /** Resolves when the stream is done with. */
  streamWals(caller: Caller, stream: PrimaryStream): Promise<void>
  conflictingPages(caller: Caller, request: ConflictingPagesRequest): Promise<ConflictingPagesReply>
  subPageHashes(caller: Caller, request: SubPageHashesRequest): Promise<SubPageHashesReply>
  fetchKeys(caller: Caller, request: FetchKeysRequest): AsyncIterable<FetchKeysReply>
  forward(caller: Caller, request: ForwardRequest): Promise<ForwardReply>
  ping(caller: Caller, request: PingRequest): Promise<PingReply>
  commonPosition(caller: Caller, request: CommonPositionRequest): Promise<CommonPositionReply>
}

export type PrimaryStream = MessageStream<StreamDown, ReceivedUp>

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, 'getAuthContext'> & NodeJS.EventEmitter

const callerOf = (call: AnyCall): Caller => {
  const gone = new AbortController()
  const commonName = call.getAuthContext().sslPeerCertificate?.subject?.CN
  call.on('cancelled', () => gone.abort(new LogicalError('unavailable', 'the caller has gone')))
  return { commonName: typeof commonName === 'string' ? commonName : '', gone: gone.signal }
}

const unary =
  <Request, Reply>(run: (caller: Caller, request: Request) => Promise<Reply>): handleUnaryCall<Request, Reply> =>
  (call, callback) => {
    run(callerOf(call), call.request).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(toStatus(error)),
    )
  }

const downStream =
  (run: ClusterService['fetchKeys']) => (call: ServerWritableStream<FetchKeysRequest, FetchKeysReply>) => {
    const caller = callerOf(call)
    const pump = async () => {
      for await (const reply of run(caller, call.request)) {
        if (caller.gone.aborted) return
        if (!call.write(reply)) await drained(call, caller.gone)
      }
      call.end()
    }
    pump().catch((error: unknown) => call.emit('error', toStatus(error)))
  }

const drained = (call: NodeJS.EventEmitter, gone: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const go = () => {
      call.off('drain', go)
      gone.removeEventListener('abort', go)
      resolve()
    }
    call.on('drain', go)
    gone.addEventListener('abort', go)
    if (gone.aborted) go()
  })

const duplex = (run: ClusterService['streamWals']) => (call: ServerDuplexStream<ReceivedUp, StreamDown>) => {
  const caller = callerOf(call)
  const stream: PrimaryStream = new MessageStream<StreamDown, ReceivedUp>(call, (error) => {
    if (error === undefined) call.end()
    else call.emit('error', toStatus(error))
  })
  caller.gone.addEventListener('abort', () => stream.markEnded(caller.gone.reason))
  call.on('end', () => stream.end())
  call.on('error', () => stream.markEnded(new LogicalError('unavailable', 'the stream failed')))
  run(caller, stream).then(
    () => stream.end(),
    (error: unknown) =>
      stream.end(error instanceof LogicalError ? error : new LogicalError('internal', String(error), { cause: error })),
  )
}

/** The service in the shape gRPC wants. */
export const toHandlers = (service: ClusterService): UntypedServiceImplementation => ({
  Bootstrap: unary(service.bootstrap.bind(service)),
  Echo: unary(service.echo.bind(service)),
  StreamWals: duplex(service.streamWals.bind(service)),
  ConflictingPages: unary(service.conflictingPages.bind(service)),
  SubPageHashes: unary(service.subPageHashes.bind(service)),
  FetchKeys: downStream(service.fetchKeys.bind(service)),
  Forward: unary(service.forward.bind(service)),
  Ping: unary(service.ping.bind(service)),
  CommonPosition: unary(service.commonPosition.bind(service)),
})
