import { readFileSync } from 'node:fs'
import { formatHostPort, parseHostPort } from '../base/network.js'
import { DEFAULT_LEASE_TTL_SECONDS, LIMITS } from '../base/limits.js'
import type { LogLevel } from '../base/log.js'
import type {
  DevConfig,
  ListenerConfig,
  LockoutConfig,
  LogConfig,
  OwnSettings,
  SealConfig,
  ServerConfig,
  StorageConfig,
} from './config.js'
import { emptyFileSettings, type FileSettings, readConfigPath, readConfigText } from './config-file.js'
import { resolveOwnSettings } from './config-own.js'
import { resolveSeal } from './config-seal.js'
import { MEMORY_LABELS, STORAGE_LABELS } from './config-tables.js'
import type { Findings, Problem, Stanza } from './config-tree.js'
import type { Sourced } from './config-values.js'
import type { ServerFlags } from './flags.js'
import { addressOfInterface } from './interfaces.js'

export type Environment = Readonly<Record<string, string | undefined>>

export interface LoadedConfig {
  /** Undefined when there are problems. */
  readonly config: ServerConfig | undefined
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
  /** Every setting that was given, with its place: what `config show --origin` prints. */
  readonly files: FileSettings
}

const LEVELS: ReadonlySet<string> = new Set(['trace', 'debug', 'info', 'warn', 'error'])
const TLS_VERSIONS: Readonly<Record<string, string>> = {
  tls10: 'TLSv1',
  tls11: 'TLSv1.1',
  tls12: 'TLSv1.2',
  tls13: 'TLSv1.3',
}

/** Puts flags, environment, files and defaults together. Everything that is wrong is listed, not only the first thing. */
export const loadConfig = (flags: ServerFlags, env: Environment): LoadedConfig => {
  const findings: Findings = { problems: [], warnings: [] }
  const files = emptyFileSettings()
  for (const given of flags.configs) readConfigPath(given, files, findings)
  if (env.VAULT_LOCAL_CONFIG) readConfigText(env.VAULT_LOCAL_CONFIG, 'VAULT_LOCAL_CONFIG', files, findings)
  const dev = resolveDev(flags, env)
  if (!dev && flags.configs.length === 0 && !env.VAULT_LOCAL_CONFIG) {
    findings.problems.push({ origin: '-config', text: 'Must specify at least one config path using -config, or -dev' })
  }
  const storage = resolveStorage(flags, env, files, findings)
  const own = resolveOwnSettings(files.own, env, dev !== undefined, findings)
  const seal = resolveSeal(files.seal, own, env, findings)
  const listeners = resolveListeners(flags, env, files, dev, findings)
  const addresses = resolveAddresses(env, files, listeners, findings)
  const config = assemble(env, files, flags, { dev, storage, own, seal, listeners, addresses }, findings)
  return { config: findings.problems.length > 0 ? undefined : config, ...findings, files }
}

interface Parts {
  readonly dev: DevConfig | undefined
  readonly storage: StorageConfig
  readonly own: OwnSettings
  readonly seal: SealConfig
  readonly listeners: readonly ListenerConfig[]
  readonly addresses: Pick<ServerConfig, 'apiAddress' | 'clusterAddress' | 'clusterBindAddress'>
}

const assemble = (
  env: Environment,
  files: FileSettings,
  flags: ServerFlags,
  parts: Parts,
  findings: Findings,
): ServerConfig => {
  const root = (name: string) => files.root[name]
  const seconds = (name: string) => {
    const ms = root(name)?.value
    return typeof ms === 'number' ? Math.floor(ms / 1000) : DEFAULT_LEASE_TTL_SECONDS
  }
  const maxLeaseTtlSeconds = seconds('max_lease_ttl')
  const defaultLeaseTtlSeconds = root('default_lease_ttl')
    ? seconds('default_lease_ttl')
    : Math.min(DEFAULT_LEASE_TTL_SECONDS, maxLeaseTtlSeconds)
  if (defaultLeaseTtlSeconds > maxLeaseTtlSeconds) {
    findings.problems.push({
      origin: root('default_lease_ttl')?.origin ?? 'default_lease_ttl',
      text: 'default_lease_ttl is greater than max_lease_ttl',
    })
  }
  return {
    listeners: parts.listeners,
    storage: parts.storage,
    seal: parts.seal,
    ...parts.addresses,
    clusterName: text(root('cluster_name')),
    defaultLeaseTtlSeconds,
    maxLeaseTtlSeconds,
    log: resolveLog(flags, env, files, findings),
    pidFile: text(root('pid_file')),
    dev: parts.dev,
    unauthenticatedMetrics: files.unauthenticatedMetrics,
    userLockout: resolveLockout(files, env, parts.dev),
    own: parts.own,
    replication: {
      allowForwardingViaHeader: files.replication.allow_forwarding_via_header?.value === true,
      bestEffortWalWaitMs: number(files.replication.best_effort_wal_wait_duration, 2000),
    },
  }
}

const resolveDev = (flags: ServerFlags, env: Environment): DevConfig | undefined => {
  if (!flags.dev) return undefined
  const kvVersion = flags.devNoKv ? undefined : flags.devKvV1 ? '1' : '2'
  return { rootTokenId: flags.devRootTokenId || env.VAULT_DEV_ROOT_TOKEN_ID || '', kvVersion }
}

const resolveStorage = (
  flags: ServerFlags,
  env: Environment,
  files: FileSettings,
  findings: Findings,
): StorageConfig => {
  if (files.haStorage) {
    findings.problems.push({
      origin: files.haStorage.origin,
      text: 'ha_storage is not supported: a cluster has one node',
    })
  }
  const stanza = files.storage
  const nodeId = env.VAULT_RAFT_NODE_ID || text(stanza?.values.node_id) || 'node1'
  if (flags.dev && !stanza) return { label: flags.dataDir ? 'leveldb' : 'inmem', path: flags.dataDir, nodeId }
  if (!stanza) {
    if (flags.configs.length > 0)
      findings.problems.push({ origin: flags.configs.join(', '), text: 'a storage stanza is required' })
    return { label: 'inmem', path: undefined, nodeId }
  }
  const { label, origin } = stanza
  if (!STORAGE_LABELS.has(label)) {
    const known = [...STORAGE_LABELS].filter((name) => name !== 'inmem_ha').join(', ')
    findings.problems.push({ origin, text: `storage "${label}" is not supported; supported are ${known}` })
  }
  refuseForeignJoin(stanza, files, env, findings)
  if (MEMORY_LABELS.has(label)) return { label, path: undefined, nodeId }
  const path = flags.dataDir ?? (env.VAULT_RAFT_PATH || text(stanza.values.path))
  if (path === '') findings.problems.push({ origin, text: `storage "${label}" needs a path` })
  return { label, path, nodeId }
}

/** `retry_join` blocks are fine as long as they all name this very server. */
const refuseForeignJoin = (stanza: Stanza, files: FileSettings, env: Environment, findings: Findings): void => {
  const own = new Set(
    [env.VAULT_API_ADDR, env.VAULT_CLUSTER_ADDR, text(files.root.api_addr), text(files.root.cluster_addr)]
      .filter(Boolean)
      .map(normalise),
  )
  for (const item of stanza.body.items.filter(({ key }) => key === 'retry_join')) {
    const body = item.value.kind === 'object' ? item.value.body : undefined
    const leader = body?.items.find(({ key }) => key === 'leader_api_addr')?.value
    if (leader?.kind === 'string' && own.has(normalise(leader.value))) continue
    findings.problems.push({
      origin: stanza.origin,
      text: 'retry_join names another server: several nodes per cluster are not supported yet',
    })
    return
  }
}

const normalise = (address: string | undefined): string =>
  (address ?? '').replace(/^https?:\/\//, '').replace(/\/$/, '')

const resolveListeners = (
  flags: ServerFlags,
  env: Environment,
  files: FileSettings,
  dev: DevConfig | undefined,
  findings: Findings,
): ListenerConfig[] => {
  const devAddress = flags.devListenAddress || env.VAULT_DEV_LISTEN_ADDRESS || '127.0.0.1:8200'
  const configured = files.listeners.filter((stanza) => {
    if (stanza.label === 'tcp') return true
    findings.problems.push({
      origin: stanza.origin,
      text: `listener "${stanza.label}" is not supported; supported is tcp`,
    })
    return false
  })
  const stanzas = configured.map((stanza) => resolveListener(stanza, findings))
  if (dev)
    return [
      {
        ...resolveListener(
          {
            label: 'tcp',
            origin: '-dev',
            values: { address: { value: devAddress, origin: '-dev' }, tls_disable: { value: true, origin: '-dev' } },
            body: { items: [], line: 1, column: 1 },
          },
          findings,
        ),
      },
      ...stanzas,
    ]
  if (stanzas.length === 0 && files.listeners.length === 0 && (flags.configs.length > 0 || env.VAULT_LOCAL_CONFIG)) {
    findings.problems.push({ origin: flags.configs.join(', '), text: 'at least one listener stanza is required' })
  }
  return stanzas
}

const resolveListener = ({ values, origin }: Stanza, findings: Findings): ListenerConfig => {
  const address = withPort(text(values.address) || '127.0.0.1:8200', 8200)
  checkAddress(address, values.address?.origin ?? origin, findings)
  const certFile = text(values.tls_cert_file)
  const keyFile = text(values.tls_key_file)
  const isTls = values.tls_disable?.value !== true
  if (isTls && (certFile === '' || keyFile === '')) {
    findings.problems.push({ origin, text: 'tls_cert_file and tls_key_file are required unless tls_disable is true' })
  }
  for (const file of isTls ? [values.tls_cert_file, values.tls_key_file, values.tls_client_ca_file] : [])
    readable(file, findings)
  const version = text(values.tls_min_version) || 'tls12'
  if (!TLS_VERSIONS[version])
    findings.problems.push({
      origin: values.tls_min_version?.origin ?? origin,
      text: `tls_min_version "${version}" is not known`,
    })
  return {
    address,
    tls: isTls
      ? {
          certFile,
          keyFile,
          clientCaFile: text(values.tls_client_ca_file),
          requireClientCert: values.tls_require_and_verify_client_cert?.value === true,
          disableClientCerts: values.tls_disable_client_certs?.value === true,
          minVersion: TLS_VERSIONS[version] ?? 'TLSv1.2',
        }
      : undefined,
    maxRequestBytes: number(values.max_request_size, LIMITS.bodyBytesMax),
    maxRequestMs: number(values.max_request_duration, LIMITS.requestMs),
    headerReadMs: number(values.http_read_header_timeout, LIMITS.headerReadMs),
    bodyReadMs: number(values.http_read_timeout, LIMITS.bodyReadMs),
    idleMs: number(values.http_idle_timeout, LIMITS.idleMs),
    forwardedFor: {
      authorizedAddresses: list(values.x_forwarded_for_authorized_addrs),
      hopSkips: number(values.x_forwarded_for_hop_skips, 0),
      rejectNotAuthorized: values.x_forwarded_for_reject_not_authorized?.value === true,
      rejectNotPresent: values.x_forwarded_for_reject_not_present?.value === true,
    },
  }
}

const resolveAddresses = (
  env: Environment,
  files: FileSettings,
  listeners: readonly ListenerConfig[],
  findings: Findings,
): Parts['addresses'] => {
  const first = listeners[0]
  const bound = first ? parseOr(first.address) : { host: '127.0.0.1', port: 8200 }
  const scheme = first?.tls ? 'https' : 'http'
  const stanza = files.listeners.find(({ label }) => label === 'tcp')
  const clusterBindAddress = withPort(
    text(stanza?.values.cluster_address) || formatHostPort(bound.host, bound.port === 0 ? 0 : bound.port + 1),
    bound.port + 1,
  )
  checkAddress(clusterBindAddress, stanza?.values.cluster_address?.origin ?? 'listener', findings)
  const visible = ['', '0.0.0.0', '::'].includes(bound.host) ? '127.0.0.1' : bound.host
  const interfaceApi = addressOfInterface(env.VAULT_REDIRECT_INTERFACE, 'VAULT_REDIRECT_INTERFACE', findings)
  const interfaceCluster = addressOfInterface(env.VAULT_CLUSTER_INTERFACE, 'VAULT_CLUSTER_INTERFACE', findings)
  const api =
    env.VAULT_API_ADDR ||
    env.VAULT_REDIRECT_ADDR ||
    text(files.root.api_addr) ||
    `${scheme}://${formatHostPort(interfaceApi ?? visible, bound.port)}`
  const clusterPort = parseOr(clusterBindAddress).port
  const cluster =
    env.VAULT_CLUSTER_ADDR || text(files.root.cluster_addr) || formatHostPort(interfaceCluster ?? visible, clusterPort)
  return {
    apiAddress: /^https?:\/\//.test(api) ? api.replace(/\/+$/, '') : `${scheme}://${api}`,
    clusterAddress: `https://${withPort(cluster.replace(/^https?:\/\//, '').replace(/\/+$/, ''), clusterPort)}`,
    clusterBindAddress,
  }
}

const resolveLog = (flags: ServerFlags, env: Environment, files: FileSettings, findings: Findings): LogConfig => {
  const level = (flags.logLevel ?? (env.VAULT_LOG_LEVEL || text(files.root.log_level) || 'info')).toLowerCase()
  const known = level === 'warning' ? 'warn' : level === 'err' ? 'error' : level
  if (!LEVELS.has(known))
    findings.problems.push({
      origin: files.root.log_level?.origin ?? 'log level',
      text: `unknown log level "${level}"`,
    })
  const format = flags.logFormat ?? (env.VAULT_LOG_FORMAT || text(files.root.log_format) || 'json')
  if (format !== 'json' && format !== 'standard')
    findings.problems.push({
      origin: files.root.log_format?.origin ?? 'log format',
      text: `log format is standard or json, not "${format}"`,
    })
  return {
    level: known as LogLevel,
    format: format === 'standard' ? 'standard' : 'json',
    file: flags.logFile ?? text(files.root.log_file),
  }
}

const LOCKOUT: LockoutConfig = { threshold: 5, durationMs: 900_000, counterResetMs: 900_000 }

/** Stanza of the reference first, then the switch of our own, then off in dev mode. */
const resolveLockout = (
  files: FileSettings,
  env: Environment,
  dev: DevConfig | undefined,
): LockoutConfig | undefined => {
  if (['true', '1'].includes(env.VAULT_DISABLE_USER_LOCKOUT ?? '')) return undefined
  const stanza = { ...files.userLockout.all, ...files.userLockout.approle }
  const ours = files.own.user_lockout?.value
  const isOff = stanza.disable_lockout?.value ?? (typeof ours === 'boolean' ? !ours : dev !== undefined)
  if (isOff === true) return undefined
  return {
    threshold: number(stanza.lockout_threshold, LOCKOUT.threshold),
    durationMs: number(stanza.lockout_duration, LOCKOUT.durationMs),
    counterResetMs: number(stanza.lockout_counter_reset, LOCKOUT.counterResetMs),
  }
}

const text = (setting: Sourced | undefined): string => (typeof setting?.value === 'string' ? setting.value : '')
const number = (setting: Sourced | undefined, fallback: number): number =>
  typeof setting?.value === 'number' ? setting.value : fallback
const list = (setting: Sourced | undefined): readonly string[] => (Array.isArray(setting?.value) ? setting.value : [])

const withPort = (address: string, port: number): string =>
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

const checkAddress = (address: string, origin: string, findings: Findings): void => {
  try {
    parseHostPort(address)
  } catch (error) {
    findings.problems.push({ origin, text: error instanceof Error ? error.message : String(error) })
  }
}

const readable = (file: Sourced | undefined, findings: Findings): void => {
  if (!file || text(file) === '') return
  try {
    readFileSync(text(file))
  } catch (error) {
    findings.problems.push({
      origin: file.origin,
      text: `${text(file)} cannot be read: ${error instanceof Error ? error.message : error}`,
    })
  }
}
