/** Decides which names a role allows on certificates. */
import { attempt } from '../../base/attempt.js'
import { canonicalAddress } from '../../base/cidr.js'
import { matchesWildcards } from '../../base/wildcards.js'
import type { OtherName } from '../../crypto/other-names.js'
import type { AltName } from '../../crypto/x509-content.js'
import { invalid } from '../../logical/errors.js'
import { checkOtherNames } from './other-sans.js'
import type { Role } from './role-paths.js'

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
const HOST_NAME = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)*${LABEL}\\.?$`)
/** A first label with one `*`, which stands for a part of the label. */
const WILDCARD_LABEL =
  /^(?:\*|[A-Za-z0-9](?:[A-Za-z0-9-]*)\*|\*[A-Za-z0-9-]*[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*\*[A-Za-z0-9-]*[A-Za-z0-9])$/

const matchesAny = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matchesWildcards(pattern, text))

/** The parts of a DNS name or an email address. */
interface Host {
  readonly whole: string
  /** Of an email address, the part after the `@`. */
  readonly host: string
  readonly isEmail: boolean
  readonly isWildcard: boolean
}

/** Returns the parts; undefined for an invalid email address or wildcard. */
const hostOf = (name: string): Host | undefined => {
  const whole = name.toLowerCase()
  const at = whole.indexOf('@')
  if (at >= 0 && (at === 0 || whole.includes('@', at + 1))) return undefined
  const host = whole.slice(at + 1)
  if (!host.includes('*')) return { whole, host, isEmail: at >= 0, isWildcard: false }
  const [label = '', ...rest] = host.split('.')
  const isValid = at < 0 && rest.length > 0 && !rest.join('.').includes('*') && WILDCARD_LABEL.test(label)
  return isValid ? { whole, host, isEmail: false, isWildcard: true } : undefined
}

const isHostName = ({ host, isWildcard }: Host): boolean =>
  HOST_NAME.test(isWildcard ? host.slice(host.indexOf('.') + 1) : host)

const LOCAL_NAMES = ['localhost', 'localdomain'] as const

/** Returns whether a role allows a DNS name or an email address. */
export const isNameAllowed = (role: Role, name: string): boolean => {
  const host = hostOf(name)
  if (!host) return false
  if (host.isWildcard && !role.allow_wildcard_certificates) return false
  if (role.enforce_hostnames && !isHostName(host)) return false
  if (role.allow_any_name) return true
  if (role.allow_localhost && LOCAL_NAMES.some((local) => isLocal(role, host, local))) return true
  return role.allowed_domains.some((domain) => domain !== '' && isInDomain(role, host, domain.toLowerCase()))
}

const isLocal = (role: Role, { host }: Host, local: string): boolean =>
  host === local || (role.allow_subdomains && host.endsWith(`.${local}`))

const isInDomain = (role: Role, { whole, host, isEmail }: Host, domain: string): boolean => {
  if (role.allow_bare_domains && (whole === domain || (isEmail && host === domain))) return true
  if (role.allow_subdomains && host.endsWith(`.${domain}`)) return true
  return role.allow_glob_domains && domain.includes('*') && matchesWildcards(domain, whole)
}

/** Returns whether a role allows a common name. */
const isCommonNameAllowed = (role: Role, name: string): boolean => {
  const { cn_validations: validations } = role
  if (validations.includes('disabled')) return true
  return validations.includes(name.includes('@') ? 'email' : 'hostname') && isNameAllowed(role, name)
}

export interface RequestedNames {
  /** Empty if there is none. */
  readonly commonName: string
  readonly serialNumber: string
  readonly userIds: readonly string[]
  readonly altNames: readonly AltName[]
  readonly otherNames: readonly OtherName[]
}

/** Throws LogicalError 400 for the first name that the role does not allow. */
export const checkNames = (role: Role, names: RequestedNames): void => {
  const { commonName, serialNumber, userIds, altNames } = names
  if (commonName !== '' && !isCommonNameAllowed(role, commonName)) {
    throw invalid(`common name ${commonName} not allowed by this role`)
  }
  if (serialNumber !== '' && !matchesAny(role.allowed_serial_numbers, serialNumber)) {
    throw invalid(`serial_number ${serialNumber} not allowed by this role`)
  }
  const userId = userIds.find((id) => !matchesAny(role.allowed_user_ids, id))
  if (userId !== undefined) throw invalid(`user_id ${userId} is not allowed by this role`)
  for (const name of altNames) checkAltName(role, name)
  checkOtherNames(role.allowed_other_sans, names.otherNames)
}

const checkAltName = (role: Role, { type, value }: AltName): void => {
  if (type === 'ip') {
    if (!role.allow_ip_sans) {
      throw invalid(`IP Subject Alternative Names are not allowed in this role, but was provided [${value}]`)
    }
  } else if (type === 'url') {
    if (role.allowed_uri_sans.length === 0) {
      throw invalid('URI Subject Alternative Names are not allowed in this role, but were provided via the API')
    }
    if (!matchesAny(role.allowed_uri_sans, value)) {
      throw invalid('URI Subject Alternative Names were provided via the API which are not valid for this role')
    }
  } else if (!isNameAllowed(role, value)) {
    const kind = type === 'email' ? 'email address' : 'subject alternate name'
    throw invalid(`${kind} ${value} not allowed by this role`)
  }
}

interface NameFields {
  readonly alt_names: readonly string[]
  readonly ip_sans: readonly string[]
  readonly uri_sans: readonly string[]
}

/**
 * Returns the alternative names of a request, without names that are neither host names nor email addresses. Throws
 * LogicalError 400 for an invalid IP address or URI.
 */
export const parseAltNames = ({ alt_names, ip_sans, uri_sans }: NameFields): AltName[] => [
  ...texts(alt_names).flatMap((value) => altNameOf(value) ?? []),
  ...texts(ip_sans).map((value) => ({ type: 'ip' as const, value: requireAddress(value) })),
  ...texts(uri_sans).map((value) => ({ type: 'url' as const, value: requireUri(value) })),
]

const texts = (list: readonly string[]): string[] => [...new Set(list.filter((text) => text !== ''))]

const requireAddress = (text: string): string => {
  // A certificate has no field for a zone.
  const address = text.includes('%') ? undefined : canonicalAddress(text)
  if (address === undefined) throw invalid(`the value ${JSON.stringify(text)} is not a valid IP address`)
  return address
}

const requireUri = (text: string): string => {
  if (!attempt(() => new URL(text)))
    throw invalid(`the provided URI Subject Alternative Name ${JSON.stringify(text)} is not a URI`)
  return text
}

/** Returns the alternative name of a text; undefined if it is no host name or email address. */
export const altNameOf = (text: string): AltName | undefined => {
  if (text.includes('@')) return { type: 'email', value: text }
  const host = hostOf(text)
  return host && isHostName(host) ? { type: 'dns', value: text } : undefined
}

/** Returns the alternative names with the common name, if that is a host name or an email address. */
export const withCommonName = (names: readonly AltName[], commonName: string): readonly AltName[] => {
  const own = altNameOf(commonName)
  return !own || names.some(({ type, value }) => type === own.type && value === own.value) ? names : [own, ...names]
}

/** Returns the names in the order of Vault: sorted host names, sorted email addresses, and the others as given. */
export const inOrder = (names: readonly AltName[]): AltName[] => {
  const [hosts, emails] = (['dns', 'email'] as const).map((kind) =>
    names.filter(({ type }) => type === kind).sort((a, b) => (a.value < b.value ? -1 : 1)),
  )
  const others = (['ip', 'url'] as const).flatMap((kind) => names.filter(({ type }) => type === kind))
  return [...(hosts ?? []), ...(emails ?? []), ...others]
}
