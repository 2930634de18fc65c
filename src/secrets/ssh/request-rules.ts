/** What a role allows: principals, lengths of keys, critical options and extensions. */
import { invalid } from '../../logical/errors.js'
import type { IdentityTemplates } from '../../logical/identity-templates.js'
import type { CertificateType } from './certificates.js'
import type { PublicKey } from './keys.js'
import { type Role, splitList } from './role-paths.js'

type Options = Readonly<Record<string, string>>

interface PrincipalRequest {
  readonly type: CertificateType
  /** Names, separated by commas. */
  readonly requested: string
  readonly templates: IdentityTemplates
}

/** Returns the principals of a certificate, sorted. Throws LogicalError 400 if the role does not allow them. */
export const allowedPrincipals = (role: Role, { type, requested, templates }: PrincipalRequest): string[] => {
  const byDefault = role.default_user_template ? templates.require(role.default_user) : role.default_user
  const principals = [...new Set(splitList(requested || byDefault))].sort()
  if (principals.length === 0) {
    if (role.allow_empty_principals) return []
    throw invalid('empty valid principals not allowed by role')
  }
  const isUser = type === 'user'
  const list = splitList(isUser ? role.allowed_users : role.allowed_domains)
  if (list.length === 0) throw invalid('role is not configured to allow any principals')
  if (list.includes('*')) return principals
  const hasTemplates = isUser ? role.allowed_users_template : role.allowed_domains_template
  const allowed = hasTemplates ? templates.resolveAll(list) : list
  const isAllowed = (name: string) => (isUser ? allowed.includes(name) : isHostAllowed(role, allowed, name))
  const refused = principals.find((name) => !isAllowed(name))
  if (refused !== undefined) throw invalid(`${refused} is not a valid value for valid_principals`)
  return principals
}

const isHostAllowed = (role: Role, domains: readonly string[], host: string): boolean =>
  domains.some(
    (domain) => (role.allow_bare_domains && host === domain) || (role.allow_subdomains && host.endsWith(`.${domain}`)),
  )

/** The names of the API for each type of key. */
const TYPE_NAMES: Readonly<Record<string, readonly string[]>> = {
  'ssh-rsa': ['rsa', 'ssh-rsa'],
  'ssh-ed25519': ['ed25519', 'ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ec', 'ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ec', 'ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ec', 'ecdsa-sha2-nistp521'],
}

/** Types of keys that have one length each. */
const FIXED_LENGTH = /^(ed25519|ssh-ed25519|ecdsa-sha2-nistp\d+)$/

/** Throws LogicalError 400 if the role does not allow the type or the length of a key. */
export const checkKeyLength = ({ allowed_user_key_lengths: lengths }: Role, { type, bits }: PublicKey): void => {
  if (Object.keys(lengths).length === 0) return
  const names = (TYPE_NAMES[type] ?? [type]).filter((name) => Object.hasOwn(lengths, name))
  const problem = 'public_key failed to meet the key requirements'
  if (names.length === 0) throw invalid(`${problem}: key of type ${TYPE_NAMES[type]?.[0] ?? type} is not allowed`)
  if (names.some((name) => FIXED_LENGTH.test(name) || lengths[name]?.includes(bits))) return
  throw invalid(`${problem}: key is of an invalid size: ${bits}`)
}

interface RequestedOptions {
  readonly critical_options: Options | null
  readonly extensions: Options | null
}

/** Returns the critical options and extensions of a certificate. Requested ones replace those of the role. */
export const chosenOptions = (role: Role, requested: RequestedOptions, templates: IdentityTemplates) => ({
  criticalOptions: chooseCriticalOptions(role, requested.critical_options ?? {}),
  extensions: chooseExtensions(role, requested.extensions ?? {}, templates),
})

const chooseCriticalOptions = (role: Role, requested: Options): Options => {
  const names = Object.keys(requested)
  if (names.length === 0) return role.default_critical_options ?? {}
  const allowed = splitList(role.allowed_critical_options)
  const refused = allowed.length === 0 ? [] : names.filter((name) => !allowed.includes(name))
  if (refused.length > 0) throw invalid(`critical options not on allowed list: [${refused.join(' ')}]`)
  return requested
}

const chooseExtensions = (role: Role, requested: Options, templates: IdentityTemplates): Options => {
  const names = Object.keys(requested)
  if (names.length === 0) {
    const byDefault = role.default_extensions ?? {}
    if (!role.default_extensions_template) return byDefault
    return Object.fromEntries(Object.entries(byDefault).map(([name, value]) => [name, templates.require(value)]))
  }
  const allowed = splitList(role.allowed_extensions)
  const refused = allowed.includes('*') ? [] : names.filter((name) => !allowed.includes(name))
  if (refused.length > 0) throw invalid(`extensions [${refused.join(' ')}] are not on allowed list`)
  return requested
}
