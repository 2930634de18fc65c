import { createPrivateKey, X509Certificate } from 'node:crypto'
import { findCommonName } from '../../../crypto/certificates.js'
import { LogicalError } from '../../../logical/errors.js'
import type { PrimaryCredentials } from '../../types.js'

/** The checks of both sides of a connection that TLS would make. Each throws a LogicalError. */

/** Nobody shows a certificate whose key it has not got. */
export const requireOwnKey = (certificate: string, privateKey: string): void => {
  const isOwn = read(certificate).checkPrivateKey(createPrivateKey(privateKey))
  if (!isOwn) throw new LogicalError('unavailable', 'the certificate belongs to another key')
}

/** The common name of a caller whose certificate the authority has issued. */
export const callerName = (certificate: string, authority: string): string => {
  const shown = read(certificate)
  if (!isIssuedBy(shown, read(authority)))
    throw new LogicalError('unavailable', 'the certificate is of another authority')
  return findCommonName(certificate) ?? ''
}

/** The server that answers is the authority that is trusted, under the name that is asked for. */
export const requirePrimary = (certificate: string, { caCertificate, serverName }: PrimaryCredentials): void => {
  const shown = read(certificate)
  const isTrusted = isIssuedBy(shown, read(caCertificate)) && shown.checkHost(serverName) !== undefined
  if (!isTrusted) throw new LogicalError('unavailable', 'another replication set answers there')
}

const isIssuedBy = (shown: X509Certificate, authority: X509Certificate): boolean =>
  shown.issuer === authority.subject && shown.verify(authority.publicKey)

const read = (pem: string): X509Certificate => {
  try {
    return new X509Certificate(pem)
  } catch (error) {
    throw new LogicalError('unavailable', 'there is no certificate', { cause: error })
  }
}
