/** The parameters of requests that create certificates, and the data of their responses. */
import type { KeyObject } from 'node:crypto'
import { formatTime } from '../../base/rfc3339.js'
import { certificatePem } from '../../crypto/pem.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, duration, string } from '../../logical/fields.js'
import { type KeyTypeName, privateKeyText } from './key-types.js'
import type { Issued } from './issuance.js'
import { certificateOf, colons, type IssuerRecord } from './records.js'

export const NAME_FIELDS = {
  common_name: string('Common name.'),
  alt_names: commaList('DNS names and email addresses.'),
  ip_sans: commaList('IP addresses.'),
  uri_sans: commaList('URIs.'),
  other_sans: commaList('Not supported: other alternative names.'),
  exclude_cn_from_sans: bool('Does not repeat the common name as an alternative name.'),
  serial_number: string('Serial number of the subject.'),
} as const

export const FORMAT_FIELDS = {
  format: string('Format of the response: pem, der or pem_bundle.', 'pem'),
  private_key_format: string('Format of the private key: der for that of its type, or pkcs8.', 'der'),
} as const

export const VALIDITY_FIELDS = {
  ttl: duration('Duration of the validity.'),
  not_after: string('End of the validity, such as 2031-01-01T00:00:00Z, instead of a TTL.'),
} as const

export const CHAIN_FIELDS = {
  remove_roots_from_chain: bool('Leaves self-signed certificates out of the chain.'),
} as const

interface Formats {
  readonly format: string
  readonly private_key_format?: string
}

/** Throws LogicalError 400 for unknown formats. */
export const checkFormats = ({ format, private_key_format: form = 'der' }: Formats): void => {
  if (!['pem', 'der', 'pem_bundle'].includes(format)) {
    throw invalid('the "format" path parameter must be "pem", "der", or "pem_bundle"')
  }
  if (!['', 'der', 'pem', 'pkcs8'].includes(form)) {
    throw invalid('the "private_key_format" path parameter must be "der", "pem" or "pkcs8"')
  }
}

/** Throws LogicalError 400 if the request uses fields that this server does not support. */
export const refuseUnsupported = (values: {
  readonly other_sans?: readonly string[]
  readonly cert_metadata?: string
}) => {
  if (values.other_sans?.length) throw invalid('other_sans is not supported by this server: remove it from the request')
  if (values.cert_metadata) throw invalid('cert_metadata is not supported by this server: remove it from the request')
}

export interface NewKey {
  readonly key: KeyObject
  readonly type: KeyTypeName
}

interface Rendering extends Formats {
  readonly remove_roots_from_chain?: boolean
  /** The issuer and its parents. */
  readonly chain: readonly IssuerRecord[]
  /** The key that the response contains. */
  readonly privateKey?: NewKey | undefined
  /** True if the response contains `ca_chain`. */
  readonly showsChain: boolean
}

/** Returns the data of a response with a certificate. */
export const issuedData = (issued: Issued, rendering: Rendering): Record<string, unknown> => {
  const { format, chain, privateKey, showsChain } = rendering
  const encode = (der: Buffer) => (format === 'der' ? der.toString('base64') : certificatePem(der).trim())
  const own = encode(issued.der)
  const parents = chain.map((issuer) => ({ text: encode(certificateOf(issuer)), isRoot: issuer.isSelfSigned }))
  const shown = parents.filter(({ isRoot }) => !(isRoot && rendering.remove_roots_from_chain)).map(({ text }) => text)
  return {
    certificate: format === 'pem_bundle' ? bundleOf(own, parents[0]?.isRoot ? [] : shown, privateKey) : own,
    issuing_ca: parents[0]?.text ?? own,
    ...(showsChain && { ca_chain: shown }),
    serial_number: colons(issued.serial),
    expiration: Math.floor(issued.notAfterMs / 1000),
    ...privateKeyData(privateKey, rendering),
  }
}

const bundleOf = (own: string, chain: readonly string[], privateKey: NewKey | undefined): string =>
  [...(privateKey ? [privateKeyText(privateKey.key, privateKey.type)] : []), own, ...chain].join('\n')

/** Returns the fields of a private key; none without a key. */
export const privateKeyData = (
  privateKey: NewKey | undefined,
  { format, private_key_format: form = 'der' }: Formats,
): Record<string, string> =>
  privateKey
    ? {
        private_key: privateKeyText(privateKey.key, privateKey.type, format, form),
        private_key_type: privateKey.type,
      }
    : {}

/** Returns the fields with the time of a revocation. */
export const revocationTimes = (revokedMs: number) => ({
  revocation_time: Math.floor(revokedMs / 1000),
  revocation_time_rfc3339: formatTime(revokedMs),
})
