import { createPrivateKey, X509Certificate } from 'node:crypto'
import { LIMITS } from '../../../base/limits.js'
import { findCommonName } from '../../../crypto/certificates.js'
import { LogicalError } from '../../../logical/errors.js'
import type { PrimaryCredentials } from '../../model/types.js'

/**
 * The checks of both sides of a connection that TLS would make. Each throws a LogicalError. What has been found sound once is
 * not looked at again: to read a certificate takes longer than all else of a connection within a process.
 */
export class Identities {
  readonly #sound = new Map<string, string>()

  /** Nobody shows a certificate whose key it has not got. */
  requireOwnKey(certificate: string, privateKey: string): void {
    this.#once(['own', certificate, privateKey], () => {
      const isOwn = read(certificate).checkPrivateKey(createPrivateKey(privateKey))
      if (!isOwn) throw new LogicalError('unavailable', 'the certificate belongs to another key')
      return ''
    })
  }

  /** The common name of a caller whose certificate the authority has issued. */
  callerName(certificate: string, authority: string): string {
    return this.#once(['caller', certificate, authority], () => {
      const shown = read(certificate)
      if (!isIssuedBy(shown, read(authority)))
        throw new LogicalError('unavailable', 'the certificate is of another authority')
      return findCommonName(certificate) ?? ''
    })
  }

  /** The server that answers is the authority that is trusted, under the name that is asked for. */
  requirePrimary(certificate: string, { caCertificate, serverName }: PrimaryCredentials): void {
    this.#once(['primary', certificate, caCertificate, serverName], () => {
      const shown = read(certificate)
      const isTrusted = isIssuedBy(shown, read(caCertificate)) && shown.checkHost(serverName) !== undefined
      if (!isTrusted) throw new LogicalError('unavailable', 'another replication set answers there')
      return ''
    })
  }

  #once(what: readonly string[], check: () => string): string {
    const key = what.join('\n')
    const known = this.#sound.get(key)
    if (known !== undefined) return known
    const found = check()
    if (this.#sound.size >= LIMITS.simulatedIdentitiesMax) this.#sound.clear()
    this.#sound.set(key, found)
    return found
  }
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
