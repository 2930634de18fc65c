/** Roles: certificates that may log in, or their authorities. `cert/<name>` contains a role. */
import { derOf } from '../../crypto/pem.js'
import { isForClients } from '../../crypto/certificate-chain.js'
import { type CertificateFacts, readCertificates } from '../../crypto/certificate-facts.js'
import { parsePemCertificates } from '../../crypto/certificates.js'
import {
  type BackendContext,
  type Call,
  definePath,
  listed,
  type PathSpec,
  sentBy,
  shown,
} from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { nullIfEmpty } from '../../logical/json.js'
import { bool, commaList, string } from '../../logical/fields.js'
import { applyTokenNames, OLD_TOKEN_FIELDS, oldNamesData } from '../../logical/old-token-fields.js'
import type { Response } from '../../logical/request.js'
import { putJson, readRecord, type ReadStorage } from '../../logical/storage.js'
import {
  DEFAULT_TOKEN_SETTINGS,
  type OldNames,
  TOKEN_FIELDS,
  tokenFieldsData,
  type TokenSettings,
} from '../../logical/token-fields.js'

/** The restrictions of client certificates. Each is a list of patterns; empty means no restriction. */
const RESTRICTIONS = {
  allowed_names: commaList('Deprecated: patterns of the common name, DNS names and email addresses.', {
    isDeprecated: true,
  }),
  allowed_common_names: commaList('Patterns of the common name.'),
  allowed_dns_sans: commaList('Patterns of the DNS names.'),
  allowed_email_sans: commaList('Patterns of the email addresses.'),
  allowed_uri_sans: commaList('Patterns of the URIs.'),
  allowed_organizational_units: commaList('Patterns of the organizational units.'),
  required_extensions: commaList('Required extensions, as OID:PATTERN, or hex:OID:PATTERN for the hex value.'),
} as const

type RestrictionName = keyof typeof RESTRICTIONS
const RESTRICTION_NAMES = Object.keys(RESTRICTIONS) as readonly RestrictionName[]

export interface CertRole {
  /** In PEM; one or more certificates. */
  readonly certificate: string
  readonly displayName: string
  readonly restrictions: Readonly<Record<RestrictionName, readonly string[]>>
  /** The object identifiers of the extensions that become metadata. */
  readonly metadataExtensions: readonly string[]
  readonly token: TokenSettings
  readonly old: OldNames
}

const { policies, ttl, max_ttl, period, bound_cidrs } = OLD_TOKEN_FIELDS

const ROLE_FIELDS = {
  name: string('Name of the role, case-insensitive.'),
  certificate: string('The certificate of the authority or of the client, in PEM.', '', { isRequired: true }),
  display_name: string('Display name of the tokens. Default: the name of the role.'),
  ...RESTRICTIONS,
  allowed_metadata_extensions: commaList('Object identifiers of the extensions that become metadata of the tokens.'),
  ocsp_enabled: bool('Not supported.'),
  ocsp_fail_open: bool('Not supported.'),
  ocsp_query_all_servers: bool('Not supported.'),
  ocsp_ca_certificates: string('Not supported.'),
  ocsp_servers_override: commaList('Not supported.'),
  policies,
  ttl,
  max_ttl,
  period,
  bound_cidrs,
  ...TOKEN_FIELDS,
} as const

type RoleCall = Call<typeof ROLE_FIELDS>

const ROLE_PREFIX = 'cert/'
const keyOf = (name: string): string => ROLE_PREFIX + name.toLowerCase()

/** Finds a role by its name in any letter case. */
export const findRole = (storage: ReadStorage, name: string): CertRole | undefined =>
  readRecord<CertRole>(storage, keyOf(name))

export const listRoles = ({ storage }: Pick<BackendContext, 'storage'>): Promise<string[]> => storage.list(ROLE_PREFIX)

/** Returns the certificates of a role. */
export const certificatesOf = ({ certificate }: Pick<CertRole, 'certificate'>): Promise<CertificateFacts[]> =>
  readCertificates((parsePemCertificates(certificate) ?? []).map(derOf))

export const rolePaths = ({ storage }: BackendContext): PathSpec[] => {
  const write = async (call: RoleCall): Promise<Response | undefined> => {
    refuseOcsp(call)
    const { name, certificate } = call.values
    if (call.supplied('certificate')) await checkCertificate(certificate)
    return storage.write((tx) => {
      const { role, warnings } = applyRoleFields(call, findRole(tx, name))
      putJson(tx, keyOf(name), role)
      return warnings.length === 0 ? undefined : { warnings }
    })
  }
  return [
    definePath('certs/?', {}, 'List the roles.', { list: () => listed(listRoles({ storage })) }),
    definePath('certs/:name', ROLE_FIELDS, 'Read, write or delete a role.', {
      read: ({ values }) => shown(findRole(storage, values.name), roleData),
      update: write,
      delete: ({ values }) => storage.write((tx) => void tx.delete(keyOf(values.name))),
    }),
  ]
}

/** Merges the fields of the request into the role. Throws LogicalError 400 if a field or the result is invalid. */
const applyRoleFields = (call: RoleCall, current?: CertRole): { role: CertRole; warnings: string[] } => {
  const sent = sentBy(call)
  const { token, old, warnings } = applyTokenNames(call, current ?? { token: DEFAULT_TOKEN_SETTINGS, old: {} })
  const certificate = sent('certificate') ?? current?.certificate ?? ''
  if (certificate === '') throw invalid('failed to parse certificate')
  const restrictions = Object.fromEntries(
    RESTRICTION_NAMES.map((field) => [field, sent(field) ?? current?.restrictions[field] ?? []]),
  ) as CertRole['restrictions']
  const wrong = restrictions.required_extensions.find((text) => !/^(hex:)?[\d.]+:/.test(text))
  if (wrong !== undefined) throw invalid(`required_extensions: ${JSON.stringify(wrong)} is not OID:PATTERN`)
  const displayName = (sent('display_name') ?? current?.displayName) || call.values.name.toLowerCase()
  const metadataExtensions = sent('allowed_metadata_extensions') ?? current?.metadataExtensions ?? []
  return { role: { certificate, displayName, restrictions, metadataExtensions, token, old }, warnings }
}

const OCSP_FIELDS = [
  'ocsp_enabled',
  'ocsp_fail_open',
  'ocsp_query_all_servers',
  'ocsp_ca_certificates',
  'ocsp_servers_override',
] as const

const refuseOcsp = ({ values }: RoleCall): void => {
  const name = OCSP_FIELDS.find((field) => {
    const value = values[field]
    return typeof value === 'boolean' ? value : value.length > 0
  })
  if (name !== undefined) throw invalid(`${name} is not supported: this server sends no OCSP requests`)
}

const checkCertificate = async (certificate: string): Promise<void> => {
  const found = await certificatesOf({ certificate }).catch(() => [])
  if (found.length === 0) throw invalid('failed to parse certificate')
  const wrong = found.find(({ certificate: one }) => !one.ca && !isForClients(one.keyUsage))
  if (wrong) throw invalid('nonCA certificates should have TLS client authentication set as an extended key usage')
}

const roleData = (role: CertRole): Record<string, unknown> => ({
  ...tokenFieldsData(role.token),
  ...oldNamesData(role),
  ...Object.fromEntries(RESTRICTION_NAMES.map((field) => [field, nullIfEmpty(role.restrictions[field])])),
  allowed_metadata_extensions: nullIfEmpty(role.metadataExtensions),
  certificate: role.certificate,
  display_name: role.displayName,
  ocsp_ca_certificates: '',
  ocsp_enabled: false,
  ocsp_fail_open: false,
  ocsp_query_all_servers: false,
  ocsp_servers_override: null,
})
