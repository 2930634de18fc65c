import { isIPv4, isIPv6 } from 'node:net'
import { attempt } from '../../base/attempt.js'
import { type Cidr, parseCidrOrAddress } from '../../base/cidr.js'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import type { FileSettings, Findings } from './file.js'
import { type Environment, nonEmpty, type Sourced, textOf } from './values.js'
import { addressOfInterface, type NetworkAddress } from '../../base/network-addresses.js'
import { type ConfigSources, fromVariable, type ResolvedSettings } from './resolved-settings.js'
import { expandTemplate, isTemplate } from '../../base/address-template.js'
import { messageOf } from '../../base/printable.js'
import type { ServerFlags } from './flags.js'

export type Addresses = Readonly<ReturnType<typeof resolveAddresses>>

/**
 * Returns the addresses that this server announces to clients and other clusters, and the bind address of the cluster
 * port. Derives defaults from the first listener.
 */
export const resolveAddresses = (
  { env, files, settled, findings, addresses }: ConfigSources,
  listeners: readonly { readonly address: string; readonly tls: object | undefined }[],
) => {
  const first = listeners[0]
  const bound = first ? parseOr(first.address) : { host: '127.0.0.1', port: 8200 }
  const scheme = first?.tls ? 'https' : 'http'
  const configured = files.listeners.find(({ label }) => label === 'tcp')?.values.cluster_address
  const listener = settled.within('listener', { values: {}, origin: configured?.origin ?? 'listener' })
  const nextPort = formatHostPort(bound.host, bound.port === 0 ? 0 : bound.port + 1)
  const clusterBindAddress = withPort(
    listener.text('cluster_address', nextPort, [nonEmpty(configured)]),
    bound.port + 1,
  )
  checkAddress(listener, 'cluster_address', clusterBindAddress)
  const visible = ['', '0.0.0.0', '::'].includes(bound.host) ? '127.0.0.1' : bound.host
  const ofInterface = (variable: string, port: number): Sourced | undefined => {
    const name = env[variable]
    if (!name) return undefined
    const host = addressOfInterface(addresses(), name)
    if (host !== undefined) return { value: formatHostPort(host, port), origin: variable }
    findings.problems.push({ origin: variable, text: `there is no network interface "${name}" with an address` })
    return undefined
  }
  const clusterPort = parseOr(clusterBindAddress).port
  const apiSources = [
    fromVariable(env, 'VAULT_API_ADDR'),
    fromVariable(env, 'VAULT_REDIRECT_ADDR'),
    nonEmpty(files.root.api_addr),
    ofInterface('VAULT_REDIRECT_INTERFACE', bound.port),
  ]
  const clusterSources = [
    fromVariable(env, 'VAULT_CLUSTER_ADDR'),
    nonEmpty(files.root.cluster_addr),
    ofInterface('VAULT_CLUSTER_INTERFACE', clusterPort),
  ]
  const api = settled.text('api_addr', `${scheme}://${formatHostPort(visible, bound.port)}`, apiSources)
  const cluster = settled.text('cluster_addr', `https://${formatHostPort(visible, clusterPort)}`, clusterSources)
  checkUrl('api_addr', apiSources, findings)
  checkUrl('cluster_addr', clusterSources, findings)
  return {
    /** The API address for clients, with scheme. */
    apiAddress: /^https?:\/\//.test(api) ? api.replace(/\/+$/, '') : `${scheme}://${api}`,
    /** The address of the cluster port for secondaries, as `https://host:port`. */
    clusterAddress: `https://${withPort(cluster.replace(/^https?:\/\//, '').replace(/\/.*$/, ''), clusterPort)}`,
    clusterBindAddress,
  }
}

/** Returns the address with `port` appended, unless it has a port. */
export const withPort = (address: string, port: number): string =>
  /:\d+$/.test(address)
    ? address
    : `${address.includes(':') && !address.startsWith('[') ? `[${address}]` : address}:${port}`

const parseOr = (address: string): { host: string; port: number } =>
  attempt(() => parseHostPort(address)) ?? { host: '127.0.0.1', port: 0 }

/** Reports a problem if `value` is not `host:port`. An empty host stands for all addresses of the machine. */
export const checkAddress = (settings: ResolvedSettings, key: string, value: string): void => {
  if (!isHostPort(value, true)) settings.refuse(key, `${key}: "${value}" is not an address of the form host:port`)
}

/** Reports a problem if the first given source is neither a URL nor `host[:port]`. Ignores the other sources. */
const checkUrl = (name: string, sources: readonly (Sourced | undefined)[], findings: Findings): void => {
  const setting = sources.find((source) => source !== undefined)
  if (!setting) return
  if (isUrl(String(setting.value))) return
  findings.problems.push({
    origin: setting.origin,
    text: `${name}: "${setting.value}" is not an address such as https://host:8200`,
  })
}

/** Returns true if the text is a host with an optional scheme, port and path. */
export const isUrl = (text: string): boolean => {
  const address = /^(?:https?:\/\/)?([^/]+)(?:\/[^\s?#]*)?$/i.exec(text)?.[1]
  return address !== undefined && isHostPort(withPort(address, 1))
}

/** Resolves a list of addresses and networks. Reports a problem for each invalid text. */
export const resolveNetworks = (settings: ResolvedSettings, key: string): Cidr[] =>
  settings.list(key).flatMap((text) => {
    const block = parseCidrOrAddress(text)
    if (!block) settings.refuse(key, `${key}: "${text}" is not an address or a network such as 10.0.0.0/8`)
    return block ?? []
  })

/** Returns true if the text is `host:port`. The host is a name, an IPv4 address, or an IPv6 address in brackets. */
export const isHostPort = (address: string, mayBeEmpty = false): boolean => {
  const host = attempt(() => parseHostPort(address).host)
  if (host === undefined) return false
  if (host === '') return mayBeEmpty
  if (address.startsWith('[')) return isIPv6(host)
  return isIPv4(host) || (/^[\w-]+(?:\.[\w-]+)*\.?$/.test(host) && !/^[\d.]+$/.test(host))
}

/**
 * Returns a function that expands the template of an address setting. Calls `addresses` only if the setting is a
 * template.
 */
export const addressExpander =
  (addresses: () => readonly NetworkAddress[], { problems }: Findings): ConfigSources['expand'] =>
  (name, setting) => {
    const text = textOf(setting)
    if (!setting || !isTemplate(text)) return setting
    const refuse = (reason: string) => void problems.push({ origin: setting.origin, text: `${name}: ${reason}` })
    try {
      const value = expandTemplate(text, addresses())
      if (!/\s/.test(value.trim())) return { value: value.trim(), origin: setting.origin }
      refuse(`"${text}" resolves to more than one address: ${value}. Add "limit 1", or use one of these addresses`)
    } catch (error) {
      refuse(messageOf(error))
    }
    return undefined
  }

const VARIABLES = [
  'VAULT_API_ADDR',
  'VAULT_REDIRECT_ADDR',
  'VAULT_CLUSTER_ADDR',
  'VAULT_DEV_LISTEN_ADDRESS',
  'UNDERSTUDY_ETCD_PEER_ADDRESS',
]

/**
 * Expands the templates of all address settings. Changes the settings of files in place, and returns new flags and
 * variables.
 */
export const expandAddresses = (
  { flags, env, files }: { flags: ServerFlags; env: Environment; files: FileSettings },
  expand: ConfigSources['expand'],
): { readonly flags: ServerFlags; readonly env: Environment } => {
  const inPlace = (values: Record<string, Sourced>, ...names: readonly string[]) => {
    for (const name of names) {
      const expanded = expand(name, values[name])
      if (expanded) values[name] = expanded
      else delete values[name]
    }
  }
  inPlace(files.root, 'api_addr', 'cluster_addr')
  inPlace(files.own, 'etcd_peer_address')
  for (const stanza of [files.seal, files.storage]) if (stanza) inPlace(stanza.values, 'address')
  for (const { values } of files.listeners) inPlace(values, 'address', 'cluster_address')
  const text = (name: string, value: string | undefined): string | undefined =>
    value && textOf(expand(name, { value, origin: name }))
  return {
    flags: { ...flags, devListenAddress: text('-dev-listen-address', flags.devListenAddress) },
    env: { ...env, ...Object.fromEntries(VARIABLES.map((name) => [name, text(name, env[name])])) },
  }
}
