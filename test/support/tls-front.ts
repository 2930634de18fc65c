import net from 'node:net'
import tls from 'node:tls'
import { systemClock } from '../../src/base/clock.js'
import { createAuthority } from '../../src/crypto/certificates.js'
import { certificatePem, privateKeyPem } from '../../src/crypto/pem.js'

export interface TlsFront {
  /** `https://localhost:port`. */
  readonly address: string
  /** The certificate that a client must trust. */
  readonly caPem: string
  close(): Promise<void>
}

/** Opens a TLS proxy in front of a plain API port, with a self-signed certificate. */
export const openTlsFront = async (targetPort: number): Promise<TlsFront> => {
  const { certificate, privateKey } = await createAuthority({ name: 'localhost', nowMs: systemClock.now() })
  const caPem = certificatePem(certificate)
  const sockets = new Set<net.Socket>()
  const server = tls.createServer({ cert: caPem, key: privateKeyPem(privateKey) }, (socket) => {
    const target = net.connect(targetPort, '127.0.0.1')
    for (const each of [socket, target]) {
      sockets.add(each)
      each.on('error', () => undefined)
      each.on('close', () => sockets.delete(each))
    }
    socket.pipe(target).pipe(socket)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const { port } = server.address() as net.AddressInfo
  return {
    address: `https://localhost:${port}`,
    caPem,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}
