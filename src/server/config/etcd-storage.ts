import { isHostPort } from './addresses.js'
import type { EtcdStorageConfig } from './config.js'
import { fromVariable } from './resolved-settings.js'
import type { ConfigSources } from './sources.js'
import type { Stanza } from './tree.js'
import { coerceText } from './values.js'

const REQUEST_TIMEOUT_MS = 5000

/** Resolves a `storage "etcd"` stanza. Vault's environment variables apply to absent keys. */
export const resolveEtcd = (
  { values, origin }: Stanza,
  { env, settled, findings }: ConfigSources,
): EtcdStorageConfig => {
  const sources = (key: string) => [values[key], fromVariable(env, `ETCD_${key.toUpperCase()}`)]
  const text = (key: string, fallback = '') => settled.text(`storage.${key}`, sources(key), fallback)
  const refuse = (key: string, reason: string) =>
    findings.problems.push({ origin: values[key]?.origin ?? origin, text: reason })
  const given = settled.text('storage.address', [values.address, fromVariable(env, 'ETCD_ADDR')], DEFAULT_ADDRESS)
  const addresses = parseAddresses(given)
  if (!addresses) refuse('address', `address must be a list of etcd's URLs, all http or all https, not "${given}"`)
  if (env.ETCD_DISCOVERY_SRV)
    refuse('ETCD_DISCOVERY_SRV', 'ETCD_DISCOVERY_SRV is not supported; list the members as address')
  const api = text('etcd_api', 'v3')
  if (api !== 'v3' && api !== '3') refuse('etcd_api', `etcd_api "${api}" is not supported; supported is v3`)
  const username = text('username')
  const password = settled.secret('storage.password', sources('password'))
  if ((username === '') !== (password === '')) refuse('username', 'username and password go together')
  const tls = { caFile: text('tls_ca_file'), certFile: text('tls_cert_file'), keyFile: text('tls_key_file') }
  if ((tls.certFile === '') !== (tls.keyFile === ''))
    refuse('tls_cert_file', 'tls_cert_file and tls_key_file go together')
  if (addresses && !addresses.isTls && Object.values(tls).some((file) => file !== '')) {
    refuse('address', 'tls_ca_file, tls_cert_file and tls_key_file need an address that begins with https://')
  }
  const haVariable = env.ETCD_HA_ENABLED ? coerceText('bool', env.ETCD_HA_ENABLED) : undefined
  if (haVariable && !haVariable.ok) refuse('ETCD_HA_ENABLED', 'ETCD_HA_ENABLED must be true or false')
  const variable = haVariable?.ok ? { value: haVariable.value, origin: 'ETCD_HA_ENABLED' } : undefined
  return {
    addresses: addresses?.members ?? [],
    isTls: addresses?.isTls ?? false,
    prefix: asPrefix(text('path', '/vault/')),
    isHaEnabled: settled.flag('storage.ha_enabled', [values.ha_enabled, variable]),
    login: username === '' ? undefined : { name: username, password },
    tls,
    requestTimeoutMs: settled.durationMs('storage.request_timeout', [values.request_timeout], REQUEST_TIMEOUT_MS),
  }
}

const DEFAULT_ADDRESS = 'http://127.0.0.1:2379'

const parseAddresses = (text: string): { readonly members: readonly string[]; readonly isTls: boolean } | undefined => {
  const found = text.split(',').map((one) => /^(https?:\/\/)?([^\s/:]+|\[[^\]]+\]):(\d+)\/?$/.exec(one.trim()))
  const members = found.flatMap((match) => (match ? [`${match[2]}:${match[3]}`] : []))
  const schemes = new Set(found.map((match) => match?.[1] ?? 'http://'))
  const isList = members.length === found.length && members.every((member) => isHostPort(member))
  return isList && schemes.size === 1 ? { members, isTls: schemes.has('https://') } : undefined
}

/** Adds Vault's leading and trailing slash. */
const asPrefix = (path: string): string => `/${path.replace(/^\/+|\/+$/g, '')}/`.replace('//', '/')
