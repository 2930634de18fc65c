import { checkNetworks } from './addresses.js'
import type { ProxyProtocolBehavior, ProxyProtocolConfig } from './config.js'
import type { ConfigSources } from './sources.js'
import type { Stanza } from './tree.js'
import { nonEmpty } from './values.js'

const BEHAVIOR = 'proxy_protocol_behavior'
const ADDRESSES = 'proxy_protocol_authorized_addrs'

/** Whether a behavior depends on the sender's address. */
const USES_ADDRESSES: Readonly<Record<ProxyProtocolBehavior, boolean>> = {
  use_always: false,
  allow_authorized: true,
  deny_unauthorized: true,
}

const isBehavior = (text: string): text is ProxyProtocolBehavior => Object.hasOwn(USES_ADDRESSES, text)

/**
 * Returns the PROXY protocol settings of the listener `name`; undefined if it has none, or if they are invalid, which is
 * reported as a problem.
 */
export const resolveProxyProtocol = (
  { settled, findings }: ConfigSources,
  { values, origin }: Stanza,
  name: string,
): ProxyProtocolConfig | undefined => {
  const behavior = settled.text(`${name}.${BEHAVIOR}`, [nonEmpty(values[BEHAVIOR])])
  const authorizedAddresses = settled.list(`${name}.${ADDRESSES}`, [values[ADDRESSES]])
  const originOf = (key: string) => values[key]?.origin ?? origin
  const refuse = (text: string) => void findings.problems.push({ origin: originOf(BEHAVIOR), text })
  checkNetworks(ADDRESSES, authorizedAddresses, originOf(ADDRESSES), findings)
  if (behavior !== '' && !isBehavior(behavior)) {
    refuse(`${BEHAVIOR}: "${behavior}" is not use_always, allow_authorized or deny_unauthorized`)
    return undefined
  }
  const usesAddresses = behavior !== '' && USES_ADDRESSES[behavior]
  if (usesAddresses && authorizedAddresses.length === 0) {
    refuse(`${BEHAVIOR} "${behavior}" requires ${ADDRESSES}: name the addresses of the proxies`)
  }
  if (!usesAddresses && authorizedAddresses.length > 0) {
    const wanted = `${BEHAVIOR} "allow_authorized" or "deny_unauthorized"`
    findings.warnings.push({ origin: originOf(ADDRESSES), text: `${ADDRESSES} has no effect without ${wanted}` })
  }
  return behavior === '' ? undefined : { behavior, authorizedAddresses }
}
