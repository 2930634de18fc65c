/** The paths that revoke certificates of this cluster, and rebuild its revocation lists. */
import { createPrivateKey } from 'node:crypto'
import { attempt } from '../../base/attempt.js'
import { publicHashOf } from '../../crypto/key-pairs.js'
import { derOf } from '../../crypto/pem.js'
import { isIssuedBy, parseCertificate } from '../../crypto/x509-parsing.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { Authorities } from './authorities.js'
import { type CertificateStore, type IssuedCertificate, parseSerial } from './certificate-store.js'
import { requirePem } from './import-paths.js'
import { colons, hyphenated, x509Of } from './records.js'
import { revocationTimes } from './responses.js'
import type { Revocation } from './revocation.js'

const FIELDS = {
  serial_number: string('Serial number with colons or hyphens.'),
  certificate: string('The certificate in PEM, instead of its serial number.'),
} as const

const KEY_FIELDS = {
  ...FIELDS,
  private_key: string('The private key of the certificate in PEM.', '', { isRequired: true, isSecret: true }),
} as const

const NO_KEY = 'Must have private key to revoke via the /revoke-with-key path.'
const FOREIGN =
  'unable to verify signature on presented cert from any present issuer in this mount; certificates from previous CAs will need to have their issuing CA and key re-imported if revocation is necessary'

interface Target {
  /** With hyphens. */
  readonly serial: string
  readonly certificate: IssuedCertificate
}

export const revokePaths = (authorities: Authorities, store: CertificateStore, revocation: Revocation): PathSpec[] => {
  const { clock } = authorities.context

  /** Finds the certificate of a request. Rejects with LogicalError 400 if this mount did not issue it. */
  const findTarget = async (values: { serial_number: string; certificate: string }): Promise<Target> => {
    if ((values.serial_number === '') === (values.certificate === '')) {
      throw invalid(
        values.certificate === ''
          ? 'The serial number or certificate to revoke must be provided.'
          : 'Must provide either the certificate or the serial to revoke; not both.',
      )
    }
    return values.certificate === '' ? bySerial(values.serial_number) : byCertificate(values.certificate)
  }

  const bySerial = (text: string): Target => {
    const serial = parseSerial(text)
    const certificate = store.find('issued', serial) ?? store.find('revoked', serial)
    if (!certificate) throw invalid(`certificate with serial ${colons(serial)} not found.`)
    return { serial, certificate }
  }

  const byCertificate = async (pem: string): Promise<Target> => {
    requirePem(pem, 'provided certificate data')
    const parsed = await parseCertificate(derOf(pem)).catch(() => undefined)
    if (!parsed) throw invalid('certificate contains no data: it must be a certificate in PEM')
    const certificate = { certificate: parsed.der.toString('base64'), notAfterMs: parsed.notAfterMs }
    const issued = x509Of(certificate)
    const isOwn = (await authorities.issuers.all()).some((issuer) => isIssuedBy(issued, x509Of(issuer)))
    if (!isOwn) throw invalid(FOREIGN)
    return { serial: hyphenated(parsed.serial), certificate }
  }

  const revoke = async ({ serial, certificate }: Target): Promise<Response> => {
    const self = (await authorities.issuers.all()).find((issuer) => issuer.serial === serial)
    if (self) throw invalid(`adding issuer (id: ${self.id}) to its own CRL is not allowed`)
    const nowMs = clock.now()
    if (certificate.notAfterMs <= nowMs) {
      return { warnings: [`certificate with serial ${colons(serial)} already expired; refusing to add to CRL`] }
    }
    const revokedMs = await revocation.record(serial, certificate, nowMs)
    return { data: { ...revocationTimes(revokedMs), state: 'revoked' } }
  }

  return [
    definePath('revoke', FIELDS, 'Revoke a certificate that this cluster issued.', {
      update: async ({ values }) => revoke(await findTarget(values)),
    }),
    definePath('revoke-with-key', KEY_FIELDS, 'Revoke a certificate with its private key.', {
      update: async ({ values }) => {
        if (values.private_key === '') throw invalid(NO_KEY)
        requirePem(values.private_key, 'Provided data for private_key', '?')
        const target = await findTarget(values)
        const key = attempt(() => createPrivateKey(values.private_key))
        if (!key) throw invalid('the private key cannot be parsed: it must be an unencrypted PEM block')
        const { publicKey } = await parseCertificate(Buffer.from(target.certificate.certificate, 'base64'))
        if (publicHashOf(key) !== publicHashOf(publicKey)) {
          throw invalid("provided private key does not match certificate's public key")
        }
        return revoke(target)
      },
    }),
    definePath('crl/rotate', {}, 'Rebuild all revocation lists of this cluster.', {
      read: async () => {
        await revocation.rebuild()
        return { data: { success: true } }
      },
    }),
  ]
}
