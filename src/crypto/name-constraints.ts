/**
 * Name constraints of authorities (RFC 5280, 4.2.1.10), as Go applies them: for DNS names, email addresses, addresses
 * and URIs in the alternative names of all certificates below, whether or not the extension is critical.
 */
import { isIP } from 'node:net'
import { contains, maskedBlock, parseCidr } from '../base/cidr.js'
import { attempt } from '../base/attempt.js'
import { readDer, readDerSequence } from './der.js'

const KINDS = { 129: 'emailAddresses', 130: 'dnsNames', 134: 'uris', 135: 'addresses' } as const
type Kind = (typeof KINDS)[keyof typeof KINDS]

/** The alternative names of a certificate. */
type ConstrainedNames = Readonly<Record<Kind, readonly string[]>>

export interface NameConstraints {
  readonly permitted: ConstrainedNames
  readonly excluded: ConstrainedNames
  /** True if there are constraints for other kinds of names, which are not applied. */
  readonly hasOther: boolean
}

const isKnown = (tag: number): tag is keyof typeof KINDS => Object.hasOwn(KINDS, tag)

/** Parses the value of the extension. Throws for a malformed value. */
export const parseNameConstraints = (value: Buffer): NameConstraints => {
  let hasOther = false
  const parts = readDerSequence(value)
  const namesOf = (part: number): ConstrainedNames => {
    const names: Record<Kind, string[]> = { emailAddresses: [], dnsNames: [], uris: [], addresses: [] }
    for (const subtree of readDer(parts.find(({ tag }) => tag === part)?.content ?? Buffer.alloc(0))) {
      const [base] = readDer(subtree.content)
      if (!base) throw new Error('malformed name constraints')
      if (isKnown(base.tag))
        names[KINDS[base.tag]].push(base.tag === 0x87 ? blockOf(base.content) : base.content.toString('latin1'))
      else hasOther = true
    }
    return names
  }
  return { permitted: namesOf(0xa0), excluded: namesOf(0xa1), hasOther }
}

/** Returns the block of an address and a mask. Throws for a mask with gaps. */
const blockOf = (bytes: Buffer): string => {
  const block = maskedBlock(bytes)
  if (block === undefined) throw new Error('malformed name constraints')
  return block
}

/** Returns whether the constraints of an authority permit all names of a certificate below it. */
export const permitsNames = ({ permitted, excluded }: NameConstraints, names: ConstrainedNames): boolean =>
  Object.values(KINDS).every((kind) =>
    names[kind].every(
      (name) =>
        isParsed(kind, name) &&
        !excluded[kind].some((constraint) => matches(kind, name, constraint)) &&
        (permitted[kind].length === 0 || permitted[kind].some((constraint) => matches(kind, name, constraint))),
    ),
  )

const matches = (kind: Kind, name: string, constraint: string): boolean => {
  if (kind === 'addresses') {
    const block = parseCidr(constraint)
    return block !== undefined && contains(block, name)
  }
  if (kind === 'dnsNames') return isInDomain(name, constraint)
  if (kind === 'uris') return isInDomain(hostOf(name), constraint)
  const [local, domain = ''] = name.split('@')
  const [onlyLocal, onlyDomain] = constraint.split('@')
  if (onlyDomain === undefined) return isInDomain(domain, constraint)
  return local === onlyLocal && domain.toLowerCase() === onlyDomain.toLowerCase()
}

/** Returns whether a host is the domain or below it; only below it if the constraint begins with a dot. */
const isInDomain = (host: string, constraint: string): boolean => {
  const [name, domain] = [host.toLowerCase(), constraint.toLowerCase()]
  if (domain === '') return true
  return domain.startsWith('.') ? name.endsWith(domain) : name === domain || name.endsWith(`.${domain}`)
}

const hostOf = (uri: string): string => attempt(() => new URL(uri).hostname) ?? ''

/** Returns whether constraints can be applied to a name. A URI needs a host that is no address. */
const isParsed = (kind: Kind, name: string): boolean => {
  if (kind === 'dnsNames') return name !== '' && !name.endsWith('.') && !name.includes('..')
  if (kind === 'emailAddresses') return name.split('@').length === 2
  if (kind === 'uris') return hostOf(name) !== '' && isIP(hostOf(name).replaceAll(/[[\]]/g, '')) === 0
  return true
}
