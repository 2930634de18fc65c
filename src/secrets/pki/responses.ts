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
  other_sans: commaList('Other alternative names, as OID;UTF8:TEXT.'),
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

/** Throws LogicalError 400 for an unknown format. An unknown format of the private key is that of its type. */
export const checkFormat = ({ format }: Formats): void => {
  if (!['pem', 'der', 'pem_bundle'].includes(format)) {
    throw invalid('the "format" path parameter must be "pem", "der", or "pem_bundle"')
  }
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
  /** What `ca_chain` contains: the issuer and its parents, or the certificate before them. Default: no chain. */
  readonly chainForm?: 'issuers' | 'with-self'
}

/** Returns the data of a response with a certificate. */
export const issuedData = (issued: Issued, rendering: Rendering): Record<string, unknown> => {
  const { format, chain, privateKey, chainForm } = rendering
  const encode = (der: Buffer) => (format === 'der' ? der.toString('base64') : certificatePem(der).trim())
  const own = encode(issued.der)
  const parents = chain.map((issuer) => ({ text: encode(certificateOf(issuer)), isRoot: issuer.isSelfSigned }))
  const shown = parents.filter(({ isRoot }) => !(isRoot && rendering.remove_roots_from_chain)).map(({ text }) => text)
  const caChain = chainForm === undefined ? [] : chainForm === 'with-self' ? [own, ...shown] : shown
  return {
    certificate: format === 'pem_bundle' ? bundleOf(own, chainForm ? shown : [], privateKey) : own,
    issuing_ca: parents[0]?.text ?? own,
    ...(caChain.length > 0 && { ca_chain: caChain }),
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
