import type { ClusterTransport } from '../transport.js'
import { ClusterListener, type ListenerOptions } from './cluster-listener.js'
import { SecureContexts } from './secure-contexts.js'

/**
 * gRPC over TLS, both ways with one set of TLS contexts. `times` and `log` are for the port. The library is loaded when the first
 * connection or service needs it: it is a fifth of the memory of a server that replicates nothing.
 */
export const createGrpcTransport = (options: Omit<ListenerOptions, 'contexts'>): ClusterTransport => {
  const own = { ...options, contexts: new SecureContexts() }
  return {
    listen: (address) => ClusterListener.start(address, own),
    connect: async (address, call) => (await import('./grpc-connection.js')).GrpcConnection.open(address, own, call),
  }
}
