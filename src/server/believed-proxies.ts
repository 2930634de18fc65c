import { type Cidr, parseCidrOrAddress } from '../base/cidr.js'
import type { ForwardedForSettings } from '../http/connection/client-address.js'
import type { ProxyProtocolSettings } from '../http/connection/proxied-connections.js'
import type { ListenerConfig } from './config/config.js'

/** Returns the proxies that a listener trusts; undefined if none are configured. */
export const parseForwardedFor = (config: ListenerConfig['forwardedFor']): ForwardedForSettings | undefined => {
  const authorizedAddrs = parseBlocks(config.authorizedAddresses)
  if (authorizedAddrs.length === 0) return undefined
  const { hopSkips, rejectNotPresent, rejectNotAuthorized } = config
  return { authorizedAddrs, hopSkips, rejectNotPresent, rejectNotAuthorized }
}

/** Returns the proxies whose PROXY protocol headers a listener trusts; undefined if it reads none. */
export const parseProxyProtocol = (config: ListenerConfig['proxyProtocol']): ProxyProtocolSettings | undefined =>
  config && {
    authorizedAddrs: config.behavior === 'use_always' ? undefined : parseBlocks(config.authorizedAddresses),
    refusesOthers: config.behavior === 'deny_unauthorized',
  }

const parseBlocks = (texts: readonly string[]): Cidr[] => texts.flatMap((text) => parseCidrOrAddress(text) ?? [])
