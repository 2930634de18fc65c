import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Certificate and key in PEM, and which clients are admitted. */
export interface TlsSettings {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Who signs the certificates of clients. Without it none is asked for, unless one must be presented. */
  readonly clientCa?: string | Buffer | undefined
  readonly mustPresentCertificate?: boolean | undefined
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** As OpenSSL has them. */
  readonly ciphers?: string | undefined
}

/** With a CA a client that presents a certificate must present one of it; one that presents none may still be let in. */
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

/** True for a client that presents a certificate which the CA of this listener did not sign. */
export const isForeign = (socket: Socket): boolean =>
  socket instanceof TLSSocket && !socket.authorized && Object.keys(socket.getPeerCertificate() ?? {}).length > 0
