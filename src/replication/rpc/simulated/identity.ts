import { createPrivateKey, X509Certificate } from 'node:crypto'
import { LIMITS } from '../../../base/limits.js'
import { findCommonName } from '../../../crypto/certificates.js'
import { LogicalError } from '../../../logical/errors.js'
import type { PrimaryCredentials } from '../../model/types.js'

/**
 * The identity checks of TLS for both sides of a simulated connection. Each check throws `LogicalError` if it fails.
 * Successful checks are cached, because parsing a certificate takes longer than opening a simulated connection.
 */
export class Identities {
  readonly #sound = new Map<string, string>()

  /** Throws if the private key does not belong to the certificate. */
  requireOwnKey(certificate: string, privateKey: string): void {
    this.#once(['own', certificate, privateKey], () => {
      const isOwn = read(certificate).checkPrivateKey(createPrivateKey(privateKey))
      if (!isOwn) throw new LogicalError('unavailable', 'the certificate does not match the private key')
      return ''
    })
  }

  /** Returns the common name of a caller. Throws if another authority issued its certificate. */
  callerName(certificate: string, authority: string): string {
    return this.#once(['caller', certificate, authority], () => {
      const shown = read(certificate)
      if (!isIssuedBy(shown, read(authority)))
        throw new LogicalError('unavailable', 'another authority issued the certificate')
      return findCommonName(certificate) ?? ''
    })
  }

  /** Throws if the server does not present the trusted authority under the requested name. */
  requirePrimary(certificate: string, { caCertificate, serverName }: PrimaryCredentials): void {
    this.#once(['primary', certificate, caCertificate, serverName], () => {
      const shown = read(certificate)
      const isTrusted = isIssuedBy(shown, read(caCertificate)) && shown.checkHost(serverName) !== undefined
      if (!isTrusted) throw new LogicalError('unavailable', 'another replication set uses this address')
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
    throw new LogicalError('unavailable', 'the certificate of the other cluster is missing or invalid', {
      cause: error,
    })
  }
}
