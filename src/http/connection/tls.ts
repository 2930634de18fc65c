import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Certificate and key in PEM, and the rules for client certificates. */
export interface TlsSettings {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** The CA of client certificates. If absent, the server requests no client certificate, unless it is required. */
  readonly clientCa?: string | Buffer | undefined
  readonly mustPresentCertificate?: boolean | undefined
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** In OpenSSL format. */
  readonly ciphers?: string | undefined
}

/**
 * Returns the TLS options. With a client CA, a presented certificate must be signed by it. A client without a certificate
 * may still be admitted.
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
