/** Finds the role that accepts the certificates of a client. */
import { matchesWildcards } from '../../base/wildcards.js'
import { findChain, isSame, isUsable } from '../../crypto/certificate-chain.js'
import { type CertificateFacts, derText, readCertificates } from '../../crypto/certificate-facts.js'
import type { BackendContext } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { RenewalCaller } from '../../logical/request.js'
import { readRevoked } from './crls.js'
import { type CertRole, certificatesOf, findRole, listRoles } from './roles.js'

interface Match {
  readonly name: string
  readonly role: CertRole
  readonly client: CertificateFacts
}

/** Compares the certificates of clients with the roles of one mount. */
export class RoleMatcher {
  readonly #context: BackendContext
  /** The parsed certificates of roles. A changed role is another object. */
  readonly #certificates = new WeakMap<CertRole, Promise<CertificateFacts[]>>()

  constructor(context: BackendContext) {
    this.#context = context
  }

  /**
   * Returns the first role that accepts the client; only the named role unless `only` is empty. Rejects with
   * LogicalError 400 if no role accepts it.
   */
  async match({ peerCertificates }: RenewalCaller, only: string): Promise<Match> {
    if (!peerCertificates) throw invalid('tls connection required')
    if (peerCertificates.length === 0) throw invalid('client certificate must be supplied')
    const [client, ...intermediates] = await readCertificates(peerCertificates).catch(() => {
      throw invalid('the client certificate cannot be parsed')
    })
    const names = only === '' ? await listRoles(this.#context) : [only.toLowerCase()]
    const isRevoked = await readRevoked(this.#context.storage)
    let isTrusted = false
    for (const name of names) {
      const role = findRole(this.#context.storage, name)
      const chain = role && client && (await this.#chainOf(role, client, intermediates))
      if (!chain) continue
      isTrusted = true
      if (chain.some(({ serialNumber }) => isRevoked(serialNumber))) continue
      if (isAllowed(client, role)) return { name, role, client }
    }
    throw invalid(
      isTrusted
        ? 'no chain matching all constraints could be found for this login certificate'
        : 'invalid certificate or no client certificate supplied',
    )
  }

  /** Returns the chain from the client to a certificate of the role; undefined if there is none. */
  async #chainOf(
    role: CertRole,
    client: CertificateFacts,
    intermediates: readonly CertificateFacts[],
  ): Promise<readonly CertificateFacts[] | undefined> {
    const nowMs = this.#context.clock.now()
    const known = this.#certificates.get(role) ?? certificatesOf(role)
    this.#certificates.set(role, known)
    const certificates = await known
    const isPinned = certificates.some((one) => !one.certificate.ca && isSame(one, client))
    if (isPinned && isUsable(client, nowMs)) return [client]
    const roots = certificates.filter(({ certificate }) => certificate.ca)
    return findChain(client, { roots, intermediates, nowMs })
  }
}

/** Returns whether the client certificate satisfies all restrictions of the role. */
const isAllowed = (client: CertificateFacts, { restrictions }: CertRole): boolean => {
  const { commonName, dnsNames, emailAddresses, uris, organizationalUnits } = client
  const checks: readonly (readonly [readonly string[], readonly string[]])[] = [
    [restrictions.allowed_names, [commonName, ...dnsNames, ...emailAddresses]],
    [restrictions.allowed_common_names, [commonName]],
    [restrictions.allowed_dns_sans, dnsNames],
    [restrictions.allowed_email_sans, emailAddresses],
    [restrictions.allowed_uri_sans, uris],
    [restrictions.allowed_organizational_units, organizationalUnits],
  ]
  return (
    checks.every(([patterns, names]) => patterns.length === 0 || matchesAny(patterns, names)) &&
    restrictions.required_extensions.every((required) => hasExtension(client, required))
  )
}

const matchesAny = (patterns: readonly string[], names: readonly string[]): boolean =>
  patterns.some((pattern) => names.some((name) => matchesWildcards(pattern, name)))

const hasExtension = ({ extensions }: CertificateFacts, required: string): boolean => {
  const [, isHex, oid = '', pattern = ''] = /^(hex:)?([\d.]+):([\s\S]*)$/.exec(required) ?? []
  const value = extensions.get(oid)
  const text = isHex ? value?.toString('hex') : value && derText(value)
  return text !== undefined && matchesWildcards(pattern, text)
}

/** Returns the metadata of a client certificate. */
export const metadataOf = ({ name, role, client }: Match): Record<string, string> => {
  const extensions = role.metadataExtensions.flatMap((oid) => {
    const value = client.extensions.get(oid)
    return value ? [[oid.replaceAll('.', '-'), derText(value) ?? value.toString('hex')]] : []
  })
  return {
    ...Object.fromEntries(extensions),
    [ROLE_METADATA]: name,
    common_name: client.commonName,
    serial_number: client.serialNumber,
    subject_key_id: client.subjectKeyId,
    authority_key_id: client.authorityKeyId,
  }
}

/** The metadata key of the role of a login. */
export const ROLE_METADATA = 'cert_name'
