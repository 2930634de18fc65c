import { formatHostPort, parseHostPort } from '../../base/network.js'
import type { ListenerConfig, ServerConfig } from './config.js'
import type { ConfigSources } from './sources.js'
import type { Findings } from './tree.js'
import type { Sourced } from './values.js'
import { addressOfInterface } from '../interfaces.js'
import { fromVariable } from './resolved-settings.js'

export type Addresses = Pick<ServerConfig, 'apiAddress' | 'clusterAddress' | 'clusterBindAddress'>

/**
 * The addresses that clients and other clusters are told, and where the cluster port is bound: derived from the first
 * listener.
 */
export const resolveAddresses = (
  { env, files, settled, findings }: ConfigSources,
  listeners: readonly ListenerConfig[],
): Addresses => {
  const first = listeners[0]
  const bound = first ? parseOr(first.address) : { host: '127.0.0.1', port: 8200 }
  const scheme = first?.tls ? 'https' : 'http'
  const configured = files.listeners.find(({ label }) => label === 'tcp')?.values.cluster_address
  const nextPort = formatHostPort(bound.host, bound.port === 0 ? 0 : bound.port + 1)
  const clusterBindAddress = withPort(
    settled.text('listener.cluster_address', [given(configured)], nextPort),
    bound.port + 1,
  )
  checkAddress(clusterBindAddress, configured?.origin ?? 'listener', findings)
  const visible = ['', '0.0.0.0', '::'].includes(bound.host) ? '127.0.0.1' : bound.host
  const ofInterface = (variable: string, port: number): Sourced | undefined => {
    const host = addressOfInterface(env[variable], variable, findings)
    return host === undefined ? undefined : { value: formatHostPort(host, port), origin: variable }
  }
  const clusterPort = parseOr(clusterBindAddress).port
  const api = settled.text(
    'api_addr',
    [
      fromVariable(env, 'VAULT_API_ADDR'),
      fromVariable(env, 'VAULT_REDIRECT_ADDR'),
      given(files.root.api_addr),
      ofInterface('VAULT_REDIRECT_INTERFACE', bound.port),
    ],
    `${scheme}://${formatHostPort(visible, bound.port)}`,
  )
  const cluster = settled.text(
    'cluster_addr',
    [
      fromVariable(env, 'VAULT_CLUSTER_ADDR'),
      given(files.root.cluster_addr),
      ofInterface('VAULT_CLUSTER_INTERFACE', clusterPort),
    ],
    `https://${formatHostPort(visible, clusterPort)}`,
  )
  return {
    apiAddress: /^https?:\/\//.test(api) ? api.replace(/\/+$/, '') : `${scheme}://${api}`,
    clusterAddress: `https://${withPort(cluster.replace(/^https?:\/\//, '').replace(/\/+$/, ''), clusterPort)}`,
    clusterBindAddress,
  }
}

const given = (setting: Sourced | undefined): Sourced | undefined => (setting?.value === '' ? undefined : setting)

export const withPort = (address: string, port: number): string =>
  /:\d+$/.test(address)
    ? address
    : `${address.includes(':') && !address.startsWith('[') ? `[${address}]` : address}:${port}`

const parseOr = (address: string): { host: string; port: number } => {
  try {
    return parseHostPort(address)
  } catch {
    return { host: '127.0.0.1', port: 0 }
  }
}

export const checkAddress = (address: string, origin: string, findings: Findings): void => {
  try {
    parseHostPort(address)
  } catch (error) {
    findings.problems.push({ origin, text: error instanceof Error ? error.message : String(error) })
  }
}
