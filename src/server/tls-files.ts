import { readNamedFile } from '../base/named-file.js'
import type { TlsSettings } from '../http/connection/tls.js'
import type { ListenerTls } from './config/config.js'

/** Reads the files named in a listener's configuration, relative to the working directory. */
export const readTls = (tls: ListenerTls): TlsSettings => ({
  cert: readNamedFile(tls.certFile),
  key: readNamedFile(tls.keyFile),
  clientCa: tls.clientCaFile && !tls.disableClientCerts ? readNamedFile(tls.clientCaFile) : undefined,
  mustPresentCertificate: tls.requireClientCert,
  maxVersion: tls.maxVersion === 'TLSv1.2' ? 'TLSv1.2' : undefined,
  ciphers: tls.ciphers,
  minVersion: tls.minVersion === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2',
})
