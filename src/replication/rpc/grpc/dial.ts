import type { Facilities } from '../../../base/facilities.js'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { LogicalError } from '../../../logical/errors.js'
import type { PrimaryCredentials } from '../../model/types.js'
import { withoutScheme } from '../addresses.js'
import type { SecureContexts } from './secure-contexts.js'

interface DialOptions extends Pick<Facilities, 'clock' | 'network'> {
  readonly credentials: PrimaryCredentials
  readonly contexts: SecureContexts
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Connects to a cluster port with TLS. Rejects, and destroys the connection, after an error or the timeout. On success,
 * the peer has presented a certificate of the set's CA. Whether the peer accepts the client certificate is known only
 * after its first response.
 */
export const dialTls = async (address: string, options: DialOptions): Promise<tls.TLSSocket> => {
  const { network, clock, credentials, contexts, timeoutMs, signal } = options
  const target = withoutScheme(address)
  const startMs = clock.monotonic()
  const raw = await network.dial(target, { timeoutMs, signal })
  raw.on('error', () => raw.destroy())
  const socket = tls.connect({
    socket: raw,
    servername: credentials.serverName,
    secureContext: contexts.of({
      key: credentials.privateKey,
      cert: credentials.certificate,
      ca: credentials.caCertificate,
    }),
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
  })
  socket.once('close', () => raw.destroy())
  const restMs = Math.max(timeoutMs - (clock.monotonic() - startMs), 1)
  await settled(socket, raw, target, { clock, timeoutMs: restMs, signal })
  return socket
}

const settled = (
  socket: tls.TLSSocket,
  raw: Duplex,
  target: string,
  { clock, timeoutMs, signal }: Pick<DialOptions, 'clock' | 'timeoutMs' | 'signal'>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const finish = (error: unknown) => {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
      socket.off('error', finish)
      socket.off('close', onClose)
      if (error === undefined) return resolve()
      socket.on('error', () => undefined)
      socket.destroy()
      raw.destroy()
      reject(error)
    }
    const onAbort = () => finish(signal.reason)
    const onClose = () => finish(new LogicalError('unavailable', `${target} closed the connection`))
    const timer = clock.setTimer(timeoutMs, () =>
      finish(new LogicalError('unavailable', `no TLS connection to ${target} within ${Math.round(timeoutMs)} ms`)),
    )
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('error', finish)
    socket.once('close', onClose)
    socket.once('secureConnect', () => finish(undefined))
    if (signal.aborted) onAbort()
  })
