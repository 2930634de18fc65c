import type { ClusterTransport } from '../transport.js'
import { ClusterListener, type ListenerOptions } from './cluster-listener.js'
import { SecureContexts } from './secure-contexts.js'

/**
 * Creates a transport with gRPC over TLS. Both directions share one set of TLS contexts. `times` and `log` apply to the
 * port. The gRPC library is loaded with the first connection or service, because it needs a fifth of the memory of a
 * server without replication.
 */
export const createGrpcTransport = (options: Omit<ListenerOptions, 'contexts'>): ClusterTransport => {
  const own = { ...options, contexts: new SecureContexts() }
  return {
    listen: (address) => ClusterListener.start(address, own),
    connect: async (address, call) => (await import('./grpc-connection.js')).GrpcConnection.open(address, own, call),
  }
}
