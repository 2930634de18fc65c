/**
 * Address blocks and who is inside. IPv4-mapped IPv6 addresses and blocks are IPv4 here, whoever wrote them; beyond that
 * the two families never mix. Host bits are kept as written (`127.0.0.1/16`), they only never decide a match.
 */
import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

export interface Cidr {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6
  /** Leading bits that count: 0 to 32 or 0 to 128. */
  readonly prefixLength: number
}

const MAPPED_BITS = 96

const bitsOf = (address: ipaddr.IPv4 | ipaddr.IPv6): number => (address.kind() === 'ipv4' ? 32 : 128)

/** An address without a zone, leading zeros or short forms; undefined for anything else. */
const parseAnyAddress = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text)
  return isIPv6(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined
}

const unmap = (address: ipaddr.IPv4 | ipaddr.IPv6, prefixLength: number): Cidr => {
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && prefixLength >= MAPPED_BITS
  return isMapped
    ? { address: address.toIPv4Address(), prefixLength: prefixLength - MAPPED_BITS }
    : { address, prefixLength }
}

/** A block in strict `address/length` notation. Undefined for a bare address, leading zeros or garbage. */
export const parseCidr = (text: string): Cidr | undefined => {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text)
  const address = match?.[1] === undefined ? undefined : parseAnyAddress(match[1])
  if (!match || !address) return undefined
  const prefixLength = Number(match[2])
  return prefixLength > bitsOf(address) ? undefined : unmap(address, prefixLength)
}

/** A block, or a bare address as the block of that one address. */
export const parseCidrOrAddress = (text: string): Cidr | undefined => {
  const address = parseAnyAddress(text)
  return address ? unmap(address, bitsOf(address)) : parseCidr(text)
}

/** Canonical spelling: a single address stands without its length, IPv6 in its short form, host bits as they are. */
export const formatCidr = ({ address, prefixLength }: Cidr): string =>
  prefixLength === bitsOf(address) ? spell(address) : `${spell(address)}/${prefixLength}`

const spell = (address: ipaddr.IPv4 | ipaddr.IPv6): string =>
  address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()

/** The one spelling of an address, mapped ones as IPv4 and without a zone; undefined when it is none. */
export const canonicalAddress = (text: string): string | undefined => {
  const address = parseAnyAddress(text.replace(/%.*$/, ''))
  return address && spell(unmap(address, bitsOf(address)).address)
}

/** Whether `address` (canonical or not) lies inside the block. What is no address lies nowhere. */
export const contains = (block: Cidr, address: string): boolean => {
  const single = parseCidrOrAddress(address)
  return single !== undefined && single.prefixLength === bitsOf(single.address) && covers(block, single)
}

/** Whether `address` lies in one of the blocks, each in either notation; entries that are none match nothing. */
export const isAddressInAny = (blocks: readonly string[], address: string): boolean =>
  blocks.some((text) => {
    const block = parseCidrOrAddress(text)
    return block !== undefined && contains(block, address)
  })

/**
 * Whether every address of `child` is one of `parent`. A length of 0 with an address other than zero is ambiguous and is
 * never a subset nor has one.
 */
export const isSubset = (child: Cidr, parent: Cidr): boolean =>
  !isAmbiguous(child) && !isAmbiguous(parent) && child.prefixLength >= parent.prefixLength && covers(parent, child)

/** Every child lies inside at least one parent. Texts in either notation; one that is none is not a subset. */
export const areSubsets = (children: readonly string[], parents: readonly string[]): boolean => {
  const outer = parents.map(parseCidrOrAddress)
  return children
    .map(parseCidrOrAddress)
    .every((child) => child !== undefined && outer.some((parent) => parent !== undefined && isSubset(child, parent)))
}

const isAmbiguous = ({ address, prefixLength }: Cidr): boolean =>
  prefixLength === 0 && address.toByteArray().some((byte) => byte !== 0)

const covers = (parent: Cidr, child: Cidr): boolean =>
  parent.address.kind() === child.address.kind() &&
  child.address.match(parent.address as ipaddr.IPv4, parent.prefixLength)
