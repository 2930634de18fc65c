/**
 * Address blocks and who is inside. IPv4-mapped IPv6 addresses and blocks are IPv4 here, whoever wrote them; beyond that
 * the two families never mix. Host bits are kept as written (`127.0.0.1/16`), they only never decide a match. ipaddr.js
 * parses and matches; by hand is which spellings count, as with the reference.
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
 * Every address of every child is one of the parents', of one or of several together. Texts in either notation; one that is
 * none is not a subset. A length of 0 with an address other than zero is ambiguous and is never a subset nor has one.
 */
export const areSubsets = (children: readonly string[], parents: readonly string[]): boolean => {
  const outer = joined(parents.map(rangeOf).filter((range) => range !== undefined))
  return children.map(rangeOf).every((child) => child !== undefined && isWithinOneOf(child, outer))
}

/** The addresses of a block, both ends included. */
interface AddressRange {
  readonly kind: string
  readonly first: bigint
  readonly last: bigint
}

const rangeOf = (text: string): AddressRange | undefined => {
  const block = parseCidrOrAddress(text)
  if (!block || isAmbiguous(block)) return undefined
  const hostBits = BigInt(bitsOf(block.address) - block.prefixLength)
  const written = BigInt(`0x${Buffer.from(block.address.toByteArray()).toString('hex')}`)
  const first = (written >> hostBits) << hostBits
  return { kind: block.address.kind(), first, last: first + (1n << hostBits) - 1n }
}

/** Ranges that overlap or touch made one. */
const joined = (ranges: readonly AddressRange[]): AddressRange[] => {
  const sorted = [...ranges].sort((a, b) =>
    a.kind === b.kind ? (a.first < b.first ? -1 : 1) : a.kind < b.kind ? -1 : 1,
  )
  const out: AddressRange[] = []
  for (const range of sorted) {
    const before = out.at(-1)
    if (before?.kind !== range.kind || range.first > before.last + 1n) out.push(range)
    else if (range.last > before.last) out[out.length - 1] = { ...before, last: range.last }
  }
  return out
}

/** `ranges`: apart from each other and in order. The last that begins before the child's end is the only one that may hold it. */
const isWithinOneOf = (child: AddressRange, ranges: readonly AddressRange[]): boolean => {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range && (range.kind === child.kind ? range.first <= child.first : range.kind < child.kind)) low = middle + 1
    else high = middle
  }
  const before = ranges[low - 1]
  return before !== undefined && isWithin(child, before)
}

const isWithin = (child: AddressRange, parent: AddressRange): boolean =>
  child.kind === parent.kind && child.first >= parent.first && child.last <= parent.last

const isAmbiguous = ({ address, prefixLength }: Cidr): boolean =>
  prefixLength === 0 && address.toByteArray().some((byte) => byte !== 0)

const covers = (parent: Cidr, child: Cidr): boolean =>
  parent.address.kind() === child.address.kind() &&
  child.address.match(parent.address as ipaddr.IPv4, parent.prefixLength)
