import type { ServerHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { ReplicationService } from '../proto.js'
import type { ClusterService } from '../service.js'
import { toHandlers } from './handlers.js'
import { connectionOptions, type KeepaliveTimes } from './silence.js'

/**
 * Maximum bytes that a client may send before this server must read. With Node's default of 64 KiB, only 32 KiB pass
 * per round trip, so that a body of a few MiB over a link with latency would exceed `forwarding_timeout`.
 */
const RECEIVE_WINDOW_BYTES = 8 * 1024 * 1024

/** Creates a gRPC server without a port. The caller passes accepted connections to `take`. */
export const createEndpoint = (service: ClusterService, times: KeepaliveTimes) => {
  const server = new Server(connectionOptions(times))
  server.addService(ReplicationService.service, toHandlers(service))
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  // The library's option for this window, `grpc-node.flow_control_window`, applies to clients only.
  for (const http2 of server['http2Servers'].keys())
    http2.on('session', (session: ServerHttp2Session) => {
      session.settings({ initialWindowSize: RECEIVE_WINDOW_BYTES })
      session.setLocalWindowSize(RECEIVE_WINDOW_BYTES)
    })
  return {
    take: (connection: Duplex): void => injector.injectConnection(connection),
    close: (): void => {
      injector.destroy()
      server.forceShutdown()
    },
  }
}
