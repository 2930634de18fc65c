import type { Facilities } from '../../../base/facilities.js'
import { constants } from 'node:crypto'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import type { Timer } from '../../../base/clock.js'
import { LIMITS } from '../../../base/limits.js'
import type { NetworkListener } from '../../../base/network.js'
import type { ReplicationTimes, ServerIdentity } from '../../model/types.js'
import type { ClusterService } from '../service.js'
import type { ClusterPort } from '../transport.js'
import type { createEndpoint } from './endpoint.js'
import type { SecureContexts } from './secure-contexts.js'
import { cutWhenSilent } from './silence.js'

export interface ListenerOptions extends Pick<Facilities, 'clock' | 'network' | 'log'> {
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  readonly contexts: SecureContexts
}

interface Served {
  readonly context: tls.SecureContext
  /** The gRPC server of this identity. The library is loaded with the first one. */
  readonly endpoint: Promise<ReturnType<typeof createEndpoint>>
  readonly sockets: Set<tls.TLSSocket>
}

/**
 * The cluster port: one TCP listener for all served identities. Each connection must present a certificate, because TLS
 * sessions are never resumed. The port closes a connection that does not complete its handshake in time. If too many
 * handshakes are pending, the port closes the oldest connection.
 */
export class ClusterListener implements ClusterPort {
  readonly #options: ListenerOptions
  readonly #served = new Map<string, Served>()
  /** Connections with a pending TLS handshake, oldest first. */
  readonly #handshaking = new Map<Duplex, Timer>()
  readonly #open = new Set<Duplex>()
  #listener: NetworkListener | undefined

  private constructor(options: ListenerOptions) {
    this.#options = options
  }

  static async start(address: string, options: ListenerOptions): Promise<ClusterListener> {
    const listener = new ClusterListener(options)
    listener.#listener = await options.network.listen(address, (raw) => listener.#handshake(raw))
    return listener
  }

  get address(): string {
    return this.#listener?.address ?? ''
  }

  serve(identity: ServerIdentity, service: ClusterService): void {
    this.withdraw(identity.serverName)
    this.#served.set(identity.serverName, {
      context: this.#options.contexts.of({
        key: identity.privateKey,
        cert: identity.certificate,
        ca: identity.certificate,
      }),
      endpoint: import('./endpoint.js').then((late) => late.createEndpoint(service, this.#options.times)),
      sockets: new Set(),
    })
  }

  withdraw(serverName: string): void {
    const served = this.#served.get(serverName)
    if (!served) return
    this.#served.delete(serverName)
    for (const socket of served.sockets) socket.destroy()
    void served.endpoint.then((endpoint) => endpoint.close())
  }

  cut(serverName: string, commonName: string): void {
    for (const socket of this.#served.get(serverName)?.sockets ?? []) {
      if (peerName(socket) === commonName) socket.destroy()
    }
  }

  async close(): Promise<void> {
    for (const serverName of [...this.#served.keys()]) this.withdraw(serverName)
    for (const raw of this.#open) raw.destroy()
    this.#options.contexts.clear()
    await this.#listener?.close()
  }

  #handshake(raw: Duplex): void {
    const { clock, times } = this.#options
    this.#open.add(raw)
    // Node's own handshake timeout keeps the underlying connection open, and restarts with every byte.
    this.#handshaking.set(
      raw,
      clock.setTimer(times.connectTimeoutMs, () => raw.destroy()),
    )
    raw.once('close', () => {
      this.#open.delete(raw)
      this.#endHandshake(raw)
    })
    this.#closeOldest()
    // Before the handshake, only this handler receives errors of the connection.
    raw.on('error', () => raw.destroy())
    this.#frontOf(raw).emit('connection', raw)
  }

  /** Creates one TLS server per connection, because Node does not report which connection a handshake belongs to. */
  #frontOf(raw: Duplex): tls.Server {
    const { clock, times } = this.#options
    const startMs = clock.monotonic()
    const front = tls.createServer(
      {
        minVersion: 'TLSv1.3',
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
        // With session tickets, a client could use a ticket of one server name for another, without a certificate.
        secureOptions: constants.SSL_OP_NO_TICKET,
        SNICallback: (name, done) => {
          const served = this.#served.get(name)
          if (served) done(null, served.context)
          else done(new Error('unknown server name'))
        },
      },
      (socket) => {
        this.#endHandshake(raw)
        cutWhenSilent(socket, { clock, times, roundTripMs: clock.monotonic() - startMs })
        this.#accept(socket)
      },
    )
    front.on('tlsClientError', (error) => {
      this.#options.log.debug('cluster connection refused', { error: error.message })
      raw.destroy()
    })
    return front
  }

  #closeOldest(): void {
    const [oldest] = this.#handshaking.keys()
    if (!oldest || this.#handshaking.size <= LIMITS.clusterHandshakesMax) return
    this.#endHandshake(oldest)
    oldest.destroy()
  }

  #endHandshake(raw: Duplex): void {
    this.#handshaking.get(raw)?.cancel()
    this.#handshaking.delete(raw)
  }

  #accept(socket: tls.TLSSocket): void {
    const name = socketServerName(socket)
    const served = this.#served.get(name)
    const issuer = socket.getPeerCertificate().issuer?.CN
    if (!served || socket.isSessionReused() || issuer !== name || socket.alpnProtocol !== 'h2') {
      socket.destroy()
      return
    }
    served.sockets.add(socket)
    socket.once('close', () => served.sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    void served.endpoint.then((endpoint) => {
      if (!socket.destroyed) endpoint.take(socket)
    })
  }
}

const peerName = (socket: tls.TLSSocket): string | undefined => {
  const name = socket.getPeerCertificate().subject?.CN
  return typeof name === 'string' ? name : undefined
}

/** Returns the server name that the client requested. Node's types omit this property of a server socket. */
const socketServerName = (socket: tls.TLSSocket): string => {
  const name: unknown = Reflect.get(socket, 'servername')
  return typeof name === 'string' ? name : ''
}
