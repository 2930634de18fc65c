import { isHostPort, isUrl } from './addresses.js'
import { type ConfigSources, DEFAULT_ORIGIN, fromFlag, fromVariable } from './resolved-settings.js'
import { MEMORY_LABELS, RETRY_JOIN_KEYS, STORAGE_LABELS } from './tables.js'
import { readKeys, type Stanza } from './file.js'
import { coerceText, textOf } from './values.js'

export interface StorageConfig {
  /** The storage type in the configuration, which `seal-status` reports. */
  readonly label: string
  /** The data directory; undefined for storage in memory. */
  readonly path: string | undefined
  readonly nodeId: string
  /** The etcd cluster with the shared data; undefined for other types. `path` is then the local copy. */
  readonly etcd?: EtcdStorageConfig
  /** The nodes that this server tries to join, one after another, while it belongs to no cluster. */
  readonly retryJoin?: readonly RetryJoin[]
}

/** Resolves the storage: its type, its location, and the nodes to join. */
export const resolveStorage = (sources: ConfigSources): StorageConfig => {
  const { flags, env, files, settled, findings } = sources
  const stanza = files.storage
  if (files.haStorage) {
    findings.problems.push({
      origin: files.haStorage.origin,
      text: 'ha_storage is not supported: use one shared storage for all nodes, such as storage "etcd"',
    })
  }
  const label = stanza?.label ?? (flags.dev ? (flags.dataDir ? 'leveldb' : flags.devLabel) : 'inmem')
  settled.note('storage', label, stanza?.origin ?? (flags.dev ? '-dev' : DEFAULT_ORIGIN))
  const settings = settled.within('storage', stanza ?? { values: {}, origin: flags.configs.join(', ') })
  const { values } = settings
  const nodeIds = [fromVariable(env, 'VAULT_RAFT_NODE_ID'), values.node_id]
  const nodeId = settings.text('node_id', 'node1', nodeIds) || 'node1'
  const dataDir = fromFlag('-data-dir', flags.dataDir)
  if (!stanza) {
    if (!flags.dev && flags.configs.length > 0 && files.isWhole) settings.refuse('', 'a storage stanza is required')
    const path = flags.dev && dataDir ? settings.text('path', '', [dataDir]) : undefined
    return { label, path, nodeId }
  }
  if (!STORAGE_LABELS.has(label)) {
    const known = [...STORAGE_LABELS].filter((name) => name !== 'inmem_ha').join(', ')
    settings.refuse('', `storage "${label}" is not supported: use one of ${known}`)
  }
  if (label === 'etcd') return { label, path: undefined, nodeId, etcd: resolveEtcd(stanza, sources) }
  if (MEMORY_LABELS.has(label)) return { label, path: undefined, nodeId }
  const path = settings.text('path', '', [dataDir, fromVariable(env, 'VAULT_RAFT_PATH'), values.path])
  if (path === '' && STORAGE_LABELS.has(label)) settings.refuse('', `storage "${label}" needs a path`)
  return { label, path, nodeId, retryJoin: resolveRetryJoin(stanza, sources) }
}

/** An etcd cluster of one or more members. Texts that are not given are empty. */
export type EtcdStorageConfig = Readonly<ReturnType<typeof resolveEtcd>>

const REQUEST_TIMEOUT_MS = 5000
const DEFAULT_ADDRESS = 'http://127.0.0.1:2379'

/** Resolves a `storage "etcd"` stanza. Vault's environment variables apply to absent keys. */
const resolveEtcd = (stanza: Stanza, { env, settled }: ConfigSources) => {
  const settings = settled.within('storage', stanza)
  const { values } = settings
  const sources = (key: string) => [values[key], fromVariable(env, `ETCD_${key.toUpperCase()}`)]
  const text = (key: string, fallback = '') => settings.text(key, fallback, sources(key))
  const given = settings.text('address', DEFAULT_ADDRESS, [values.address, fromVariable(env, 'ETCD_ADDR')])
  const addresses = parseAddresses(given)
  if (!addresses)
    settings.refuse('address', `address must be a list of etcd URLs, all http or all https, not "${given}"`)
  if (env.ETCD_DISCOVERY_SRV)
    settings.refuse('discovery_srv', 'ETCD_DISCOVERY_SRV is not supported; list the members as address')
  const api = text('etcd_api', 'v3')
  if (api !== 'v3' && api !== '3') settings.refuse('etcd_api', `etcd_api "${api}" is not supported: use v3`)
  const username = text('username')
  const password = settings.secret('password', sources('password'))
  if ((username === '') !== (password === '')) settings.refuse('username', 'username and password must be set together')
  const tls = { caFile: text('tls_ca_file'), certFile: text('tls_cert_file'), keyFile: text('tls_key_file') }
  if ((tls.certFile === '') !== (tls.keyFile === ''))
    settings.refuse('tls_cert_file', 'tls_cert_file and tls_key_file must be set together')
  if (addresses && !addresses.isTls && Object.values(tls).some((file) => file !== '')) {
    const text = 'tls_ca_file, tls_cert_file and tls_key_file need an address that begins with https://'
    settings.refuse('address', text)
  }
  const variable = env.ETCD_HA_ENABLED ? coerceText('bool', env.ETCD_HA_ENABLED) : undefined
  if (variable && !variable.ok) settings.refuse('', 'ETCD_HA_ENABLED must be true or false')
  const fromEnvironment = variable?.ok ? { value: variable.value, origin: 'ETCD_HA_ENABLED' } : undefined
  return {
    addresses: addresses?.members ?? [],
    isTls: addresses?.isTls ?? false,
    /** Prefix of the keys in etcd. It begins and ends with a slash. */
    prefix: asPrefix(text('path', '/vault/')),
    /** True if other servers can be nodes of this cluster. */
    isHaEnabled: settings.flag('ha_enabled', false, [values.ha_enabled, fromEnvironment]),
    login: username === '' ? undefined : { name: username, password },
    tls,
    requestTimeoutMs: settings.durationMs('request_timeout', REQUEST_TIMEOUT_MS),
  }
}

const parseAddresses = (text: string): { readonly members: readonly string[]; readonly isTls: boolean } | undefined => {
  const found = text.split(',').map((one) => /^(https?:\/\/)?([^\s/:]+|\[[^\]]+\]):(\d+)\/?$/.exec(one.trim()))
  const members = found.flatMap((match) => (match ? [`${match[2]}:${match[3]}`] : []))
  const schemes = new Set(found.map((match) => match?.[1] ?? 'http://'))
  const isList = members.length === found.length && members.every((member) => isHostPort(member))
  return isList && schemes.size === 1 ? { members, isTls: schemes.has('https://') } : undefined
}

const asPrefix = (path: string): string => `/${path.replace(/^\/+|\/+$/g, '')}/`.replace('//', '/')

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Maps fields of `RetryJoin` to keys of a `retry_join` block. */
const RETRY_JOIN = {
  caFile: 'leader_ca_cert_file',
  clientCertFile: 'leader_client_cert_file',
  clientKeyFile: 'leader_client_key_file',
  caPem: 'leader_ca_cert',
  clientCertPem: 'leader_client_cert',
  clientKeyPem: 'leader_client_key',
  serverName: 'leader_tls_servername',
} as const

/**
 * A node to join: the address of its API and its TLS settings. Texts that are not given are empty. Files are read on
 * use.
 */
export type RetryJoin = Readonly<Record<'address' | keyof typeof RETRY_JOIN, string>>

/** Returns the nodes of the `retry_join` blocks, except for this server itself. */
const resolveRetryJoin = (stanza: Stanza, sources: ConfigSources): readonly RetryJoin[] => {
  const { findings } = sources
  const file = stanza.origin.replace(/:\d+$/, '')
  const own = ownAddresses(sources)
  return joinBlocks(stanza).flatMap(({ line, body }) => {
    const values = readKeys(body?.items ?? [], RETRY_JOIN_KEYS, file, findings)
    const address = textOf(sources.expand('leader_api_addr', values.leader_api_addr)).replace(/\/+$/, '')
    if (own.has(normalize(address))) return []
    if (!/^https?:\/\//.test(address) || !isUrl(address)) {
      findings.problems.push({ origin: `${file}:${line}`, text: 'retry_join needs a URL as leader_api_addr' })
      return []
    }
    const texts = Object.entries(RETRY_JOIN).map(([field, key]) => [field, textOf(values[key])])
    return [{ address, ...Object.fromEntries(texts) } as RetryJoin]
  })
}

const ownAddresses = ({ files, env }: ConfigSources): ReadonlySet<string> => {
  const variables = [env.VAULT_API_ADDR, env.VAULT_REDIRECT_ADDR, env.VAULT_CLUSTER_ADDR]
  const named = [...variables, textOf(files.root.api_addr), textOf(files.root.cluster_addr)]
  // A loopback address with the port of a listener is this server.
  const ports = files.listeners.map(({ values }) => /:(\d+)$/.exec(textOf(values.address))?.[1] ?? '8200')
  const local = ports.flatMap((port) => LOOPBACK.map((host) => `${host}:${port}`))
  return new Set([...named.flatMap((address) => (address ? normalize(address) : [])), ...local])
}

/**
 * Returns the body and the line of each `retry_join` block, including items of a JSON list. An invalid block has no
 * body.
 */
const joinBlocks = (stanza: Stanza) =>
  stanza.body.items
    .filter(({ key }) => key === 'retry_join')
    .flatMap(({ value, line }) =>
      (value.kind === 'list' ? value.values : [value]).map((one) => ({
        line,
        body: one.kind === 'object' ? one.body : undefined,
      })),
    )

const normalize = (address: string): string => address.replace(/^https?:\/\//, '').replace(/\/$/, '')
