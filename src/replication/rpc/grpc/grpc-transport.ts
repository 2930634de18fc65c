import type { ClusterTransport } from '../transport.js'
import { ClusterListener, type ListenerOptions } from './cluster-listener.js'
import { SecureContexts } from './secure-contexts.js'

/**
 * Creates a transport that uses gRPC over TLS, with one set of TLS contexts for both directions. `times` and `log`
 * apply to the port. The library is loaded with the first connection or service, because it needs a fifth of the memory
 * of a server without replication.
 */
export const createGrpcTransport = (options: Omit<ListenerOptions, 'contexts'>): ClusterTransport => {
  const own = { ...options, contexts: new SecureContexts() }
  return {
    listen: (address) => ClusterListener.start(address, own),
    connect: async (address, call) => (await import('./grpc-connection.js')).GrpcConnection.open(address, own, call),
  }
}
