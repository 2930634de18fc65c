/**
 * Parses and matches CIDR blocks. An IPv4-mapped IPv6 address or block is treated as IPv4. Otherwise, addresses of one
 * family do not match blocks of the other family. Host bits (`127.0.0.1/16`) are kept, but matches ignore them.
 * ipaddr.js parses and matches. This file decides which spellings are valid, as in Vault.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

export interface Cidr {
  readonly address: IPv4 | IPv6
  /** The number of leading bits to compare: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly prefixLength: number
}

const MAPPED_BITS = 96

const bitsOf = (address: IPv4 | IPv6): number => (address.kind() === 'ipv4' ? 32 : 128)

/** Parses an address without a zone, leading zeros or short forms. Returns undefined for any other text. */
const parseAnyAddress = (text: string): IPv4 | IPv6 | undefined => {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text)
  return isIPv6(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined
}

const unmap = (address: IPv4 | IPv6, prefixLength: number): Cidr => {
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && prefixLength >= MAPPED_BITS
  return isMapped
    ? { address: address.toIPv4Address(), prefixLength: prefixLength - MAPPED_BITS }
    : { address, prefixLength }
}

/**
 * Parses a block in the notation `address/length`. Returns undefined for an address without a length, for leading zeros
 * and for any other text.
 */
export const parseCidr = (text: string): Cidr | undefined => {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text)
  const address = match?.[1] === undefined ? undefined : parseAnyAddress(match[1])
  if (!match || !address) return undefined
  const prefixLength = Number(match[2])
  return prefixLength > bitsOf(address) ? undefined : unmap(address, prefixLength)
}

/** Parses a block, or an address without a length as a block of one address. */
export const parseCidrOrAddress = (text: string): Cidr | undefined => {
  const address = parseAnyAddress(text)
  return address ? unmap(address, bitsOf(address)) : parseCidr(text)
}

/**
 * Returns the canonical spelling of a block: a single address without its length, IPv6 in short form, host bits
 * unchanged.
 */
export const formatCidr = ({ address, prefixLength }: Cidr): string =>
  prefixLength === bitsOf(address) ? spell(address) : `${spell(address)}/${prefixLength}`

const spell = (address: IPv4 | IPv6): string =>
  address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()

/**
 * Returns the canonical spelling of an address: IPv4-mapped addresses as IPv4, without a zone. Returns undefined for an
 * invalid address.
 */
export const canonicalAddress = (text: string): string | undefined => {
  const address = parseAnyAddress(text.replace(/%.*$/, ''))
  return address && spell(unmap(address, bitsOf(address)).address)
}

/** Returns the block of an address and a mask of the same length. Returns undefined for a mask with gaps. */
export const maskedBlock = (bytes: Buffer): string | undefined => {
  const half = bytes.length / 2
  if (half !== 4 && half !== 16) return undefined
  const [address, mask] = [bytes.subarray(0, half), bytes.subarray(half)].map((part) => ipaddr.fromByteArray([...part]))
  const length = mask?.prefixLengthFromSubnetMask() ?? null
  return address && length !== null ? `${spell(address)}/${length}` : undefined
}

/** Returns true if `address`, in any spelling, is in the block. Invalid addresses are in no block. */
export const contains = (block: Cidr, address: string): boolean => {
  const single = parseCidrOrAddress(address)
  return single !== undefined && single.prefixLength === bitsOf(single.address) && covers(block, single)
}

/** Returns true if `address` is in one of the blocks or equals one of the addresses. Invalid texts match nothing. */
export const isAddressInAny = (blocks: readonly string[], address: string): boolean =>
  blocks.some((text) => {
    const block = parseCidrOrAddress(text)
    return block !== undefined && contains(block, address)
  })

/**
 * Returns true if every address of every child is in the union of the parents. The texts are blocks or addresses. An
 * invalid child is never a subset, and an invalid parent is ignored. A block with length 0 and a nonzero address is
 * ambiguous, and counts as invalid.
 */
export const areSubsets = (children: readonly string[], parents: readonly string[]): boolean => {
  const inner = children.map(rangeOf).filter((range) => range !== undefined)
  const outer = parents.map(rangeOf).filter((range) => range !== undefined)
  return inner.length === children.length && isDeepStrictEqual(joined([...outer, ...inner]), joined(outer))
}

/** The first and the last address of a block. */
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

/** Merges ranges that overlap or are adjacent, so that equal sets of addresses have equal ranges. */
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

const isAmbiguous = ({ address, prefixLength }: Cidr): boolean =>
  prefixLength === 0 && address.toByteArray().some((byte) => byte !== 0)

const covers = (parent: Cidr, child: Cidr): boolean =>
  parent.address.kind() === child.address.kind() &&
  child.address.match(parent.address as ipaddr.IPv4, parent.prefixLength)
