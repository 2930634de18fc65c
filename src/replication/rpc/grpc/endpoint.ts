import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { LIMITS } from '../../../base/limits.js'
import type { ReplicationTimes } from '../../types.js'
import { ReplicationService } from '../proto.js'
import type { ClusterService } from '../service.js'
import { toHandlers } from './handlers.js'

/** A gRPC server without a port, which is given connections that others have accepted. */
export class Endpoint {
  readonly #server: Server
  readonly #injector: ReturnType<Server['createConnectionInjector']>

  constructor(
    service: ClusterService,
    { keepaliveTimeMs, keepaliveTimeoutMs }: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs'>,
  ) {
    this.#server = new Server({
      'grpc.max_receive_message_length': LIMITS.rpcMessageBytesMax,
      'grpc.max_send_message_length': LIMITS.rpcMessageBytesMax,
      'grpc.keepalive_time_ms': keepaliveTimeMs,
      'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
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
