import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import net from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * The network, passed to all code that opens connections, so that a lab can cut links between clusters of one process.
 * Addresses have the form `host:port`, with IPv6 hosts in brackets.
 */
export interface Network {
  /** Opens a connection. Rejects with a system error, after the timeout, or if `signal` is aborted. */
  dial(address: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Duplex>
  /**
   * Starts to listen. The `address` of the listener contains the bound port instead of port 0. Rejects if the address
   * is in use.
   */
  listen(address: string, onConnection: (socket: Duplex) => void): Promise<NetworkListener>
  /**
   * Returns all IP addresses of a host name, in the order of the system. Rejects for an unknown name. Absent in a
   * network without host names.
   */
  resolve?(host: string): Promise<readonly string[]>
}

export interface NetworkListener {
  readonly address: string
  /** Stops listening and destroys open connections. */
  close(): Promise<void>
}

export const parseHostPort = (address: string): { host: string; port: number } => {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(address)
  if (!match || Number(match[3]) > 65535) throw new Error(`"${address}" is not of the form host:port`)
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) }
}

export const formatHostPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

export const systemNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  async dial(address, { timeoutMs, signal }) {
    const { host, port } = parseHostPort(address)
    const socket = net.connect({ host, port, noDelay: true })
    const onTimeout = () => socket.destroy(new Error(`no connection to ${address} within ${Math.round(timeoutMs)} ms`))
    socket.setTimeout(timeoutMs, onTimeout)
    try {
      await once(socket, 'connect', { signal })
    } catch (error) {
      socket.destroy()
      throw signal?.aborted ? signal.reason : error
    }
    socket.setTimeout(0, onTimeout)
    return socket
  },
  listen(address, onConnection) {
    const { host, port } = parseHostPort(address)
    return new Promise((resolve, reject) => {
      const open = new Set<net.Socket>()
      const server = net.createServer({ noDelay: true }, (socket) => {
        open.add(socket)
        socket.once('close', () => open.delete(socket))
        onConnection(socket)
      })
      server.once('error', reject)
      server.listen(port, host || undefined, () => {
        const bound = server.address() as net.AddressInfo
        resolve({
          address: formatHostPort(bound.address, bound.port),
          close: () =>
            new Promise<void>((done) => {
              server.close(() => done())
              for (const socket of open) socket.destroy()
            }),
        })
      })
    })
  },
}

/**
 * Returns a network that replaces the dialed addresses according to `routes`, for example with the addresses of link
 * proxies.
 */
export const routedNetwork = (network: Network, routes: ReadonlyMap<string, string>): Network => ({
  ...network,
  dial: (address, options) => network.dial(routes.get(address) ?? address, options),
})
