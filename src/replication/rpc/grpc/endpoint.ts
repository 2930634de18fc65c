import type { ServerHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { ReplicationService } from '../proto.js'
import type { ClusterService } from '../service.js'
import { toHandlers } from './handlers.js'
import { connectionOptions, type KeepaliveTimes } from './silence.js'

/**
 * Bytes that a client may send before this server must read. With Node's 64 KiB, 32 KiB pass per round trip, so a body
 * of a few MiB over a link with latency exceeded `forwarding_timeout`.
 */
const RECEIVE_WINDOW_BYTES = 8 * 1024 * 1024

/** A gRPC server without a port, which receives accepted connections. */
export const createEndpoint = (service: ClusterService, times: KeepaliveTimes) => {
  const server = new Server(connectionOptions(times))
  server.addService(ReplicationService.service, toHandlers(service))
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  // The library has no server option for the window: `grpc-node.flow_control_window` applies to clients only.
  // biome-ignore lint/complexity/useLiteralKeys: private to the library's types
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
