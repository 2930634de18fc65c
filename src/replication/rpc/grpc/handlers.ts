import type * as grpc from '@grpc/grpc-js'
import { nextChange } from '../../../base/await-change.js'
import { LogicalError } from '../../../logical/errors.js'
import { MessageStream } from '../message-stream.js'
import type { FetchKeysReply, FetchKeysRequest, ReceivedUp, StreamDown } from '../messages.js'
import type { Caller, ClusterService, PrimaryStream } from '../service.js'
import { toStatus } from './status.js'

type AnyCall = Pick<grpc.ServerUnaryCall<unknown, unknown>, 'getAuthContext'> & NodeJS.EventEmitter

const callerOf = (call: AnyCall): Caller => {
  const gone = new AbortController()
  const commonName = call.getAuthContext().sslPeerCertificate?.subject?.CN
  call.on('cancelled', () => gone.abort(new LogicalError('unavailable', 'the caller disconnected')))
  return { commonName: typeof commonName === 'string' ? commonName : '', gone: gone.signal }
}

const unary =
  <Request, Reply>(run: (caller: Caller, request: Request) => Promise<Reply>): grpc.handleUnaryCall<Request, Reply> =>
  (call, callback) => {
    run(callerOf(call), call.request).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(toStatus(error)),
    )
  }

const downStream =
  (run: ClusterService['fetchKeys']) => (call: grpc.ServerWritableStream<FetchKeysRequest, FetchKeysReply>) => {
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

const drained = async (call: NodeJS.EventEmitter, gone: AbortSignal): Promise<void> => {
  const watch = (go: () => void) => {
    call.on('drain', go)
    return () => void call.off('drain', go)
  }
  await nextChange(watch, gone)
}

const duplex = (run: ClusterService['streamWals']) => (call: grpc.ServerDuplexStream<ReceivedUp, StreamDown>) => {
  const caller = callerOf(call)
  const stream: PrimaryStream = new MessageStream<StreamDown, ReceivedUp>(call, (error) => {
    if (error === undefined) call.end()
    else call.emit('error', toStatus(error))
  })
  caller.gone.addEventListener('abort', () => stream.markEnded(caller.gone.reason))
  call.on('end', () => stream.end())
  call.on('error', () => stream.markEnded(new LogicalError('unavailable', 'the stream failed')))
  stream.endAfter(run(caller, stream))
}

export const toHandlers = (service: ClusterService): grpc.UntypedServiceImplementation => ({
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
