/** The path that signs the certificates of intermediates. */
import type { CertificateContent } from '../../crypto/x509-content.js'
import { type Call, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { authorityValidity, authorityWarnings, CA_FIELDS, caContent, signatureOf } from './authority-fields.js'
import type { Issuance } from './issuance.js'
import { type Request, readRequest } from './leaf-content.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import type { IssuerRecord } from './records.js'
import { checkFormat, issuedData } from './responses.js'
import { limitToIssuer } from './validity.js'

const SIGN_FIELDS = {
  ...CA_FIELDS,
  issuer_ref: string('Issuer: `default`, an ID or a name.', DEFAULT_REFERENCE),
  csr: string('Signing request in PEM.', '', { isRequired: true }),
  use_csr_values: bool('Takes the subject and the extensions from the signing request.'),
  skid: string('Identifier of the key in hex. Default: computed from the key.'),
  enforce_leaf_not_after_behavior: bool('Applies the setting of the issuer. By default, any end is permitted.'),
} as const

type SignCall = Pick<Call<typeof SIGN_FIELDS>, 'values' | 'supplied'>

const AFTER_ISSUER =
  "The expiration time for the signed certificate is after the CA's expiration time. If the new certificate is not treated as a root, validation paths with the certificate past the issuing CA's expiration time will fail."

export const intermediatePaths = (issuance: Issuance): PathSpec[] => {
  const { authorities } = issuance
  const { clock, mount } = authorities.context

  const sign = async ({ values, supplied }: SignCall): Promise<Response> => {
    checkFormat(values)
    const issuer = await issuance.requireIssuer(values.issuer_ref)
    const request = await readRequest(values.csr)
    const maxPathLength = pathLengthBelow(issuer, supplied('max_path_length') ? values.max_path_length : undefined)
    const behavior = values.enforce_leaf_not_after_behavior ? issuer.leafNotAfterBehavior : 'permit'
    const validity = authorityValidity(values, clock.now(), mount)
    const content = { ...contentOf(values, request), basicConstraints: { isCa: true, maxPathLength } }
    const issued = await issuance.sign(issuer, {
      content,
      publicKey: request.publicKey,
      notBeforeSeconds: values.not_before_duration,
      notAfterMs: limitToIssuer(validity.notAfterMs, issuer.notAfterMs, behavior),
      signature: signatureOf(values),
      isStored: true,
    })
    const chain = await authorities.chainOf(issuer)
    const hasNoUrls = issuance.urls.isMissing(issuer)
    return {
      data: issuedData(issued, { ...values, chain, chainForm: 'with-self' }),
      warnings: [
        ...(issued.notAfterMs > issuer.notAfterMs ? [AFTER_ISSUER] : []),
        ...authorityWarnings({ content, maxPathLength, hasNoUrls, verb: 'signed' }),
        ...validity.warnings,
      ],
    }
  }

  return definePaths(
    ['root/sign-intermediate', 'issuer/:issuer_ref/sign-intermediate'],
    SIGN_FIELDS,
    'Sign a signing request as an intermediate.',
    { update: sign },
  )
}

/** Returns the content of the certificate, without its basic constraints. */
const contentOf = (values: SignCall['values'], request: Request): CertificateContent => {
  const own = caContent({
    ...values,
    common_name: values.common_name || request.commonName,
    serial_number: values.serial_number || request.serialNumber,
  })
  return {
    ...own,
    ...(values.skid !== '' && { subjectKeyId: parseKeyId(values.skid) }),
    ...(values.use_csr_values && {
      subject: request.subject,
      altNames: [],
      otherNames: [],
      keyUsage: own.keyUsage | (request.keyUsage ?? 0),
      copied: request.extensions.filter(({ type }) => !REPLACED.has(type)),
    }),
  }
}

/** The extensions of a signing request that the authority sets itself: usage, constraints and identifiers of keys. */
const REPLACED: ReadonlySet<string> = new Set(['2.5.29.15', '2.5.29.19', '2.5.29.14', '2.5.29.35'])

/** Returns the path length below an issuer. Throws LogicalError 400 if the issuer does not permit intermediates. */
const pathLengthBelow = ({ maxPathLength: limit }: IssuerRecord, wanted: number | undefined): number | undefined => {
  if (limit === 0) {
    throw invalid('signing certificate has a max path length of zero, and cannot issue further CA certificates')
  }
  const length = wanted ?? (limit === undefined ? -1 : limit - 1)
  return length < 0 ? undefined : length
}

/** Returns the identifier without separators. Throws LogicalError 400 for a text that is not in hex. */
const parseKeyId = (text: string): string => {
  const hex = text.replaceAll(/[: -]/g, '')
  if (!/^(?:[0-9a-f]{2}){1,64}$/i.test(hex)) throw invalid(`cannot parse requested SKID value as hex: ${text}`)
  return hex
}
