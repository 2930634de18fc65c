import { parseCidrOrAddress } from '../base/cidr.js'
import type { ForwardedForSettings } from '../http/client-address.js'
import type { ListenerConfig } from './config/config.js'

/** The proxies that a listener believes; undefined when none is configured. */
export const parseForwardedFor = (config: ListenerConfig['forwardedFor']): ForwardedForSettings | undefined => {
  const authorizedAddrs = config.authorizedAddresses.flatMap((text) => parseCidrOrAddress(text) ?? [])
  if (authorizedAddrs.length === 0) return undefined
  const { hopSkips, rejectNotPresent, rejectNotAuthorized } = config
  return { authorizedAddrs, hopSkips, rejectNotPresent, rejectNotAuthorized }
}
