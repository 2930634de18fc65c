import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Certificate and key in PEM, and the rules for client certificates. */
export interface TlsSettings {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /**
   * The CA of client certificates. If absent, the server requests a client certificate only if `mustPresentCertificate`
   * is true.
   */
  readonly clientCa?: string | Buffer | undefined
  readonly mustPresentCertificate?: boolean | undefined
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** The ciphers in OpenSSL format. */
  readonly ciphers?: string | undefined
}

/**
 * Returns the TLS options. Unless `mustPresentCertificate` is true, the handshake accepts every client. `isForeign`
 * then detects a client certificate of another CA.
 */
export const secureOptions = ({
  cert,
  key,
  clientCa,
  mustPresentCertificate = false,
  minVersion,
  maxVersion,
  ciphers,
}: TlsSettings) => ({
  cert,
  key,
  ...(clientCa === undefined ? {} : { ca: clientCa }),
  requestCert: clientCa !== undefined || mustPresentCertificate,
  rejectUnauthorized: mustPresentCertificate,
  minVersion: minVersion ?? ('TLSv1.2' as const),
  ...(maxVersion === undefined ? {} : { maxVersion }),
  ...(ciphers ? { ciphers } : {}),
})

/** Returns true if the client presented a certificate that the CA of this listener did not sign. */
export const isForeign = (socket: Socket): boolean =>
  socket instanceof TLSSocket && !socket.authorized && Object.keys(socket.getPeerCertificate() ?? {}).length > 0
