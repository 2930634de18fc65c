/** The path that signs the certificates of intermediates. */
import { definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, string } from '../../logical/fields.js'
import {
  authorityValidity,
  authorityWarnings,
  CA_FIELDS,
  caContent,
  checkSubject,
  signatureOf,
} from './authority-fields.js'
import type { Issuance } from './issuance.js'
import { readRequest } from './leaf-paths.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import type { IssuerRecord } from './records.js'
import { CHAIN_FIELDS, issuedData } from './responses.js'
import { limitToIssuer } from './validity.js'

const SIGN_FIELDS = {
  ...CA_FIELDS,
  ...CHAIN_FIELDS,
  issuer_ref: string('Issuer: `default`, an ID or a name.', DEFAULT_REFERENCE),
  csr: string('Signing request in PEM.', '', { isRequired: true }),
  use_csr_values: bool('Takes the subject and the extensions from the signing request.'),
  skid: string('Identifier of the key in hex. Default: computed from the key.'),
  enforce_leaf_not_after_behavior: bool('Applies the setting of the issuer instead of truncating the validity.'),
} as const

export const intermediatePaths = (issuance: Issuance): PathSpec[] => {
  const { authorities, urls } = issuance
  const { clock, mount } = authorities.context
  return definePaths(
    ['root/sign-intermediate', 'issuer/:issuer_ref/sign-intermediate'],
    SIGN_FIELDS,
    'Sign a signing request as an intermediate.',
    {
      update: async ({ values }) => {
        const request = await readRequest(values.csr)
        const named = { ...values, common_name: values.common_name || request.commonName }
        checkSubject(values.use_csr_values ? { ...values, common_name: 'csr' } : named)
        const issuer = await authorities.issuers.require(values.issuer_ref)
        const maxPathLength = pathLengthBelow(issuer, values.max_path_length)
        const behavior = values.enforce_leaf_not_after_behavior ? issuer.leafNotAfterBehavior : 'truncate'
        const validity = authorityValidity(values, clock.now(), mount)
        const own = caContent(named)
        const issued = await issuance.sign(issuer, {
          content: {
            ...own,
            basicConstraints: { isCa: true, maxPathLength },
            ...(values.skid !== '' && { subjectKeyId: parseKeyId(values.skid) }),
            ...(values.use_csr_values && {
              subject: request.subject,
              altNames: request.altNames,
              keyUsage: own.keyUsage | (request.keyUsage ?? 0),
              copied: request.extensions.filter(({ type }) => !REPLACED.has(type)),
            }),
          },
          publicKey: request.publicKey,
          notBeforeSeconds: values.not_before_duration,
          notAfterMs: limitToIssuer(validity.notAfterMs, issuer.notAfterMs, behavior),
          signature: signatureOf(values),
          isStored: true,
        })
        const chain = await authorities.chainOf(issuer)
        return {
          data: issuedData(issued, { ...values, chain, showsChain: true }),
          warnings: [...validity.warnings, ...authorityWarnings(maxPathLength, urls.isMissing(issuer))],
        }
      },
    },
  )
}

/** The extensions of a signing request that the authority sets itself: alternative names, usage, constraints. */
const REPLACED: ReadonlySet<string> = new Set(['2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.14', '2.5.29.35'])

/** Returns the path length below an issuer. Throws LogicalError 400 if the issuer does not permit it. */
const pathLengthBelow = ({ maxPathLength: limit }: IssuerRecord, wanted: number): number | undefined => {
  if (limit === undefined) return wanted < 0 ? undefined : wanted
  if (limit === 0) {
    throw invalid('signing certificate has a max path length of zero, and cannot issue further CA certificates')
  }
  if (wanted < limit) return wanted < 0 ? limit - 1 : wanted
  throw invalid(`max_path_length ${wanted} must be less than that of the signing certificate, which is ${limit}`)
}

/** Returns the identifier without separators. Throws LogicalError 400 for a text that is not in hex. */
const parseKeyId = (text: string): string => {
  const hex = text.replaceAll(/[:-]/g, '')
  if (!/^(?:[0-9a-f]{2}){1,64}$/i.test(hex)) throw invalid(`cannot parse requested SKID value as hex: ${text}`)
  return hex
}
