import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { LIMITS } from '../../../base/limits.js'
import { ReplicationService } from '../proto.js'
import type { ClusterService } from '../service.js'
import { toHandlers } from './handlers.js'
import { type KeepaliveTimes, pingOptions } from './silence.js'

/** A gRPC server without a port, which is given connections that others have accepted. */
export class Endpoint {
  readonly #server: Server
  readonly #injector: ReturnType<Server['createConnectionInjector']>

  constructor(service: ClusterService, times: KeepaliveTimes) {
    this.#server = new Server({
      'grpc.max_receive_message_length': LIMITS.rpcMessageBytesMax,
      'grpc.max_send_message_length': LIMITS.rpcMessageBytesMax,
      ...pingOptions(times),
      'grpc.enable_channelz': 0,
    })
    this.#server.addService(ReplicationService.service, toHandlers(service))
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure())
  }

  take(connection: Duplex): void {
    this.#injector.injectConnection(connection)
  }

  close(): void {
    this.#injector.destroy()
    this.#server.forceShutdown()
  }
}
