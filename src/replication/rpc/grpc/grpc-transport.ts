import type { ClusterTransport } from '../transport.js'
import { ClusterListener, type ListenerOptions } from './cluster-listener.js'
import { GrpcConnection } from './grpc-connection.js'
import { SecureContexts } from './secure-contexts.js'

/** gRPC over TLS, both ways with one set of TLS contexts. `times` and `log` are for the port. */
export const createGrpcTransport = (options: Omit<ListenerOptions, 'contexts'>): ClusterTransport => {
  const own = { ...options, contexts: new SecureContexts() }
  return {
    listen: (address) => ClusterListener.start(address, own),
    connect: (address, call) => GrpcConnection.open(address, own, call),
  }
}
