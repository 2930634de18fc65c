/** Roles: what certificates a client may request. A role is stored with the names of the API. */
import { isGenericName } from '../../base/id.js'
import { type Call, definePath, listed, type PathSpec, shown } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import {
  bool,
  commaList,
  defaultsOf,
  duration,
  type Field,
  type FieldTable,
  int,
  string,
  type Values,
} from '../../logical/fields.js'
import { IdentityTemplates } from '../../logical/identity-templates.js'
import type { Response } from '../../logical/request.js'
import { putRecord, readRecord } from '../../logical/storage.js'
import type { Authorities } from './authorities.js'
import { parseKeyBits } from './key-types.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { parseOtherNames } from './other-sans.js'
import { checkPolicyOids, checkUsageOids } from './usages.js'
import { parseSignatureBits } from './validity.js'

const SETTINGS = {
  issuer_ref: string('Issuer: `default`, an ID or a name.', DEFAULT_REFERENCE),
  ttl: duration('TTL of certificates without a requested TTL. Default: the default lease TTL of the mount.'),
  max_ttl: duration('Maximum TTL. Default: the maximum lease TTL of the mount.'),
  allow_localhost: bool('Allows `localhost` and `localdomain`.', true),
  allowed_domains: commaList('Domains to which `allow_bare_domains` and the other options apply.'),
  allowed_domains_template: bool('`allowed_domains` contains identity templates.'),
  allow_bare_domains: bool('Allows the domains themselves.'),
  allow_subdomains: bool('Allows subdomains of the domains, including wildcards.'),
  allow_glob_domains: bool('Allows names that match a domain with `*`.'),
  allow_wildcard_certificates: bool('Allows wildcards in names.', true),
  allow_any_name: bool('Allows every name.'),
  enforce_hostnames: bool('Requires host names that are valid.', true),
  allow_ip_sans: bool('Allows IP addresses as alternative names.', true),
  allowed_uri_sans: commaList('Allowed URIs as alternative names, with `*` for any text.'),
  allowed_uri_sans_template: bool('`allowed_uri_sans` contains identity templates.'),
  allowed_other_sans: commaList('Allowed other alternative names, as OID;UTF8:TEXT with `*` for any text, or `*`.'),
  allowed_serial_numbers: commaList('Allowed serial numbers of subjects, with `*` for any text.'),
  allowed_user_ids: commaList('Allowed user IDs of subjects, with `*` for any text.'),
  server_flag: bool('Certificates are for server authentication.', true),
  client_flag: bool('Certificates are for client authentication.', true),
  code_signing_flag: bool('Certificates are for code signing.'),
  email_protection_flag: bool('Certificates are for email protection.'),
  key_type: string('Type of keys: rsa, ec, ed25519, or any for signing requests only.', 'rsa'),
  key_bits: int('Number of bits of keys; 0 means the default of the type.'),
  signature_bits: int('Bits of the hash in signatures of RSA issuers: 256, 384 or 512; 0 means 256.'),
  use_pss: bool('RSA issuers sign with PSS.'),
  key_usage: commaList('Key usages. Default: DigitalSignature, KeyAgreement, KeyEncipherment.'),
  ext_key_usage: commaList('Extended key usages.'),
  ext_key_usage_oids: commaList('Object identifiers of extended key usages.'),
  use_csr_common_name: bool('The common name comes from the signing request.', true),
  use_csr_sans: bool('The alternative names come from the signing request.', true),
  ou: commaList('Organizational units of subjects.'),
  organization: commaList('Organizations of subjects.'),
  country: commaList('Countries of subjects.'),
  locality: commaList('Localities of subjects.'),
  province: commaList('Provinces of subjects.'),
  street_address: commaList('Street addresses of subjects.'),
  postal_code: commaList('Postal codes of subjects.'),
  generate_lease: bool('Certificates have leases, whose end revokes them.'),
  no_store: bool('Certificates are not stored.'),
  no_store_metadata: bool('Metadata of certificates is not stored. This server stores none.'),
  require_cn: bool('Requires a common name.', true),
  policy_identifiers: commaList('Object identifiers of certificate policies.'),
  basic_constraints_valid_for_non_ca: bool('Certificates have basic constraints.'),
  not_before_duration: duration('The validity begins this long before the request.', 30),
  not_after: string('End of the validity, such as 2031-01-01T00:00:00Z.'),
  cn_validations: commaList('Validations of the common name: email and hostname, or disabled.'),
} as const satisfies FieldTable

const FIELDS = { name: string('Name of the role.'), ...SETTINGS } as const

export type Role = Values<typeof SETTINGS>

const DEFAULT_LISTS = {
  key_usage: ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
  cn_validations: ['email', 'hostname'],
} as const

const FOLDER = 'role/'

const settingsOf = (values: Values<typeof FIELDS>): Role =>
  Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, values[name as keyof Role]])) as Role

/** The role of `sign-verbatim` without a role, and the base of CA certificates. */
export const OPEN_ROLE: Role = {
  ...defaultsOf(SETTINGS),
  ...DEFAULT_LISTS,
  allow_any_name: true,
  enforce_hostnames: false,
  allowed_uri_sans: ['*'],
  allowed_serial_numbers: ['*'],
  allowed_user_ids: ['*'],
  cn_validations: ['disabled'],
  key_type: 'any',
  server_flag: false,
  client_flag: false,
}

export class Roles {
  readonly #authorities: Authorities

  constructor(authorities: Authorities) {
    this.#authorities = authorities
  }

  find(name: string): Role | undefined {
    return readRecord<Role>(this.#authorities.context.storage, FOLDER + name)
  }

  /** Throws LogicalError 400 if the role does not exist. */
  require(name: string): Role {
    const role = this.find(name)
    if (!role) throw invalid(`unknown role: ${name}`)
    return role
  }

  /**
   * Returns the role with the values of the client's entity in its templates, and without those that have no value.
   * Throws LogicalError 400 if the role does not exist.
   */
  requireFor({ request, values }: Pick<Call<{ role: Field<string> }>, 'request' | 'values'>): Role {
    const role = this.require(values.role)
    const templates = new IdentityTemplates(this.#authorities.context, request)
    const { allowed_domains: domains, allowed_uri_sans: uris } = role
    return {
      ...role,
      allowed_domains: role.allowed_domains_template ? templates.resolveAll(domains) : domains,
      allowed_uri_sans: role.allowed_uri_sans_template ? templates.resolveAll(uris) : uris,
    }
  }

  paths(): PathSpec[] {
    const storage = decidedByPrimary(this.#authorities.context)
    const put = async (name: string, settings: Role): Promise<Response> => {
      if (!isGenericName(name)) throw invalid(`invalid role name ${JSON.stringify(name)}`)
      const role = checkedRole(settings)
      await storage.write((tx) => putRecord(tx, FOLDER + name, { ...role }))
      return { data: roleData(role), warnings: await this.#warningsOf(role, settings) }
    }
    return [
      definePath('roles/?', {}, 'List the roles.', { list: () => listed(storage.list(FOLDER)) }),
      definePath('roles/:name', FIELDS, 'Create, read, change or delete a role.', {
        update: ({ values, supplied }) =>
          put(values.name, {
            ...settingsOf(values),
            ...(!supplied('key_usage') && { key_usage: DEFAULT_LISTS.key_usage }),
          }),
        patch: async (call) => {
          const present = this.find(call.values.name)
          if (!present) throw invalid('Unable to fetch role entry to patch')
          return put(call.values.name, { ...present, ...sentOf(call) })
        },
        read: ({ values }) => shown(this.find(values.name), roleData),
        delete: ({ values }) => storage.write((tx) => void tx.delete(FOLDER + values.name)),
      }),
    ]
  }

  /** Returns the warnings about a stored role and the settings of its request. */
  async #warningsOf({ issuer_ref: reference, generate_lease: hasLease }: Role, sent: Role): Promise<string[]> {
    const lease = hasLease ? [LEASE] : sent.generate_lease ? [NO_LEASE] : []
    if (await this.#authorities.issuers.find(reference)) return lease
    const missing =
      reference === DEFAULT_REFERENCE
        ? 'Issuing Certificate was set to default, but no default issuing certificate (configurable at /config/issuers) is currently set'
        : `Issuing Certificate was set to ${reference} but no issuing certificate currently has that name`
    return [missing, ...lease]
  }
}

/** Returns the data of a response. No role allows the display names of tokens, which only old versions did. */
const roleData = (role: Role): Record<string, unknown> => ({ ...role, allow_token_displayname: false })

const LEASE =
  "it is encouraged to disable generate_lease and rely on PKI's native capabilities when possible; this option can cause Vault-wide issues with large numbers of issued certificates"

const NO_LEASE =
  'mutually exclusive values no_store=true and generate_lease=true were both specified; no_store=true takes priority'

const sentOf = ({ values, supplied }: Call<typeof FIELDS>): Partial<Role> =>
  Object.fromEntries(Object.entries(settingsOf(values)).filter(([name]) => supplied(name as keyof Role)))

const CN_VALIDATIONS: ReadonlySet<string> = new Set(['email', 'hostname', 'disabled'])

/** Returns the role as it is stored. Throws LogicalError 400 for settings that are invalid. */
const checkedRole = (role: Role): Role => {
  if (role.max_ttl > 0 && role.ttl > role.max_ttl) throw invalid('"ttl" value must be less than "max_ttl" value')
  const bits = role.key_type === 'any' ? role.key_bits : parseKeyBits(role.key_type, role.key_bits)
  const signatureBits = parseSignatureBits(role.signature_bits)
  checkUsageOids(role.ext_key_usage_oids)
  checkPolicyOids(role.policy_identifiers)
  if (role.allowed_other_sans.join() !== '*')
    parseOtherNames(role.allowed_other_sans, 'error parsing allowed_other_sans')
  return {
    ...role,
    issuer_ref: role.issuer_ref || DEFAULT_REFERENCE,
    key_bits: bits,
    signature_bits: signatureBits || (role.key_type === 'rsa' ? 256 : 0),
    generate_lease: role.generate_lease && !role.no_store,
    cn_validations: checkedValidations(role.cn_validations),
  }
}

/** Returns the validations, or the default without any. Throws LogicalError 400 for an unknown one. */
const checkedValidations = (names: readonly string[]): readonly string[] => {
  const unknown = names.find((name) => !CN_VALIDATIONS.has(name))
  if (unknown !== undefined) throw invalid(`cn_validations value incorrect: unknown type: \`${unknown}\``)
  if (names.includes('disabled') && names.length > 1) {
    throw invalid('cn_validations value incorrect: cannot specify `disabled` along with `email` or `hostname`')
  }
  return names.length > 0 ? names : DEFAULT_LISTS.cn_validations
}
