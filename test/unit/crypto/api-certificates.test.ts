import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { createApiCertificates } from '../../../src/crypto/certificates.js'
import { systemClock } from '../../../src/base/clock.js'

/** Returns the error of a client of `host` that trusts `ca`, or the negotiated protocol. */
const visit = async (server: tls.Server, host: string, ca: string): Promise<string> => {
  const { port } = server.address() as AddressInfo
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    servername: host === '127.0.0.1' ? '' : host,
    ca,
    checkServerIdentity: (_, cert) => tls.checkServerIdentity(host, cert),
  })
  try {
    await once(socket, 'secureConnect')
    return 'connected'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    socket.destroy()
  }
}

test('clients that trust the CA connect by each name and address, and by no other', async () => {
  const made = await createApiCertificates(['localhost', 'vault.example', '127.0.0.1'], systemClock.now())
  const other = await createApiCertificates(['localhost'], systemClock.now())
  const server = tls.createServer({ cert: made.certificate, key: made.privateKey })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    for (const host of ['localhost', 'vault.example', '127.0.0.1']) {
      expect(await visit(server, host, made.ca)).toBe('connected')
    }
    expect(await visit(server, 'elsewhere.example', made.ca)).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
    expect(await visit(server, 'localhost', other.ca)).not.toBe('connected')
  } finally {
    server.close()
  }
})
