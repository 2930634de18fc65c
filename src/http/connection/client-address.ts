import { canonicalAddress, type Cidr, contains } from '../../base/cidr.js'
import { invalid } from '../../logical/errors.js'
import type { Message } from '../message/direct-answer.js'

/** The proxies whose reports about the client's address are trusted. The names are those of the listener settings. */
export interface ForwardedForSettings {
  readonly authorizedAddrs: readonly Cidr[]
  /** The number of proxies between the trusted proxy and the client. */
  readonly hopSkips: number
  readonly rejectNotPresent: boolean
  readonly rejectNotAuthorized: boolean
}

/**
 * Returns the client's address for CIDR rules: the address of the TCP peer, or the address that a trusted proxy
 * reports. Throws LogicalError 400 if the settings require a header or a trusted proxy and the request has none, or if
 * the header is malformed.
 */
export const clientAddress = (request: Message, settings: ForwardedForSettings | undefined): string => {
  const peer = peerAddress(request.socket.remoteAddress)
  if (!settings || settings.authorizedAddrs.length === 0) return peer
  const header = request.headers['x-forwarded-for']
  if (header === undefined) {
    if (!settings.rejectNotPresent) return peer
    throw invalid('missing x-forwarded-for header and configured to reject when not present')
  }
  if (!settings.authorizedAddrs.some((block) => contains(block, peer))) {
    if (!settings.rejectNotAuthorized) return peer
    throw invalid('client address not authorized for x-forwarded-for and configured to reject connection')
  }
  return namedAddress([header].flat().join(','), settings.hopSkips)
}

const namedAddress = (header: string, hopSkips: number): string => {
  const named = header
    .split(',')
    .at(-1 - hopSkips)
    ?.trim()
  const address = named === undefined ? undefined : canonicalAddress(named.replace(/^\[(.*)\]$/, '$1'))
  if (address !== undefined) return address
  throw invalid(
    'malformed x-forwarded-for configuration or request, hops to skip would skip before earliest chain link',
  )
}

const MAPPED = '::ffff:'

/** Returns the canonical form of a connection's address. An IPv4-mapped IPv6 address becomes IPv4. */
export const peerAddress = (address = ''): string => {
  if (!address.includes(':')) return address
  return address.startsWith(MAPPED) && address.includes('.')
    ? address.slice(MAPPED.length)
    : (canonicalAddress(address) ?? address)
}
