import { DEFAULT_LEASE_TTL_SECONDS } from '../../base/limits.js'
import { suggestion } from '../../base/nearest.js'
import { LOG_LEVELS } from '../../base/log-control.js'
import { DEFAULT_LOCKOUT, type LockoutSettings } from '../../logical/lockout.js'
import type { DevConfig, LockableMethod, LogConfig, ServerConfig } from './config.js'
import { type Addresses, addressExpander, expandAddresses, resolveAddresses } from './addresses.js'
import {
  emptyFileSettings,
  type FileSettings,
  type Findings,
  type Problem,
  readConfigPath,
  readConfigText,
} from './file.js'
import { resolveListeners } from './listeners.js'
import { type NetworkAddress, systemAddresses } from '../../base/network-addresses.js'
import { resolveOwnSettings } from './understudy-settings.js'
import { resolveSeal } from './seal.js'
import { resolveStorage, type StorageConfig } from './storage.js'
import { parseServerFlags, type ServerFlags } from './flags.js'
import { type Environment, nonEmpty, type Sourced } from './values.js'
import { type ConfigSources, fromFlag, fromVariable, ResolvedSettings, type ShownSetting } from './resolved-settings.js'

interface LoadedConfig {
  readonly config: ServerConfig | undefined
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
  /** All settings in effect with their origins, as `config show --origin` prints them. */
  readonly settings: readonly ShownSetting[]
}

/**
 * Loads the configuration from flags, environment variables, files and defaults. Returns all problems, not only the
 * first. Calls `addressesOfMachine` only if a setting needs it.
 */
export const loadServerConfig = (
  args: readonly string[],
  env: Environment,
  addressesOfMachine: () => readonly NetworkAddress[] = systemAddresses,
): LoadedConfig => {
  const parsed = parseServerFlags(args)
  if (parsed.ok) return loadConfig({ flags: parsed.flags, env }, addressesOfMachine)
  const problems = parsed.problems.map((text) => ({ origin: 'command line', text }))
  return { config: undefined, problems, warnings: [], settings: [] }
}

const loadConfig = (
  given: { readonly flags: ServerFlags; readonly env: Environment },
  addressesOfMachine: () => readonly NetworkAddress[],
): LoadedConfig => {
  const findings: Findings = { problems: [], warnings: [...given.flags.warnings] }
  const files = emptyFileSettings()
  for (const file of given.flags.configs) readConfigPath(file, files, findings)
  const local = given.env.VAULT_LOCAL_CONFIG
  if (local) readConfigText(local, 'VAULT_LOCAL_CONFIG', files, findings)
  const expand = addressExpander(addressesOfMachine, findings)
  const { flags, env } = expandAddresses({ ...given, files }, expand)
  const settled = new ResolvedSettings(findings, { values: files.root, origin: 'configuration' })
  const dev = resolveDev(flags, env, settled)
  if (!dev && flags.configs.length === 0 && !local) {
    findings.problems.push({ origin: '-config', text: 'Must specify at least one config path using -config, or -dev' })
  }
  const sources: ConfigSources = { flags, env, files, settled, findings, addresses: addressesOfMachine, expand }
  const configured = resolveStorage(sources)
  const own = resolveOwnSettings(sources, dev !== undefined)
  const seal = resolveSeal(sources, own)
  const storage = configured.etcd ? withCopy(configured, sources, { dev, own, seal }) : configured
  const listeners = resolveListeners(sources)
  const config = assemble(sources, { dev, storage, own, seal, listeners, ...resolveAddresses(sources, listeners) })
  noteAccepted(files, settled)
  return { config: findings.problems.length > 0 ? undefined : config, ...findings, settings: settled.rows }
}

type Parts = Pick<ServerConfig, 'dev' | 'storage' | 'own' | 'seal' | 'listeners' | keyof Addresses>

/** Sets the directory of the local copy of etcd data. Reports settings that the nodes of a cluster cannot share. */
const withCopy = (
  storage: StorageConfig,
  { flags, files, findings }: ConfigSources,
  { dev, own, seal }: Pick<Parts, 'dev' | 'own' | 'seal'>,
): StorageConfig => {
  const origin = files.storage?.origin ?? 'storage'
  if (dev) findings.problems.push({ origin, text: '-dev does not support storage "etcd"' })
  if (seal.type === 'auto' && seal.key === undefined) {
    findings.problems.push({
      origin,
      text: 'a simulated seal has its key in a local file, which the nodes of storage "etcd" cannot share',
    })
  }
  return { ...storage, path: flags.dataDir || own.dataDir || undefined }
}

const assemble = (sources: ConfigSources, parts: Parts): ServerConfig => {
  const { files, settled } = sources
  const isDev = parts.dev !== undefined
  const replication = settled.within('replication', { values: files.replication, origin: 'replication' })
  const unauthenticatedMetrics = 'listener.telemetry.unauthenticated_metrics_access'
  return {
    ...parts,
    clusterName: settled.text('cluster_name'),
    disableClustering: settled.flag('disable_clustering'),
    isPerformanceStandby: !settled.flag('disable_performance_standby') && parts.own.license === 'enterprise',
    responseHeaders: {
      hasHostname: settled.flag('enable_response_header_hostname'),
      hasNodeId: settled.flag('enable_response_header_raft_node_id'),
    },
    hasPage: settled.flag('ui', isDev),
    ...resolveLeaseTtls(settled),
    log: resolveLog(sources),
    pidFile: settled.text('pid_file'),
    unauthenticatedMetrics: settled.flag(unauthenticatedMetrics, false, [files.unauthenticatedMetrics]),
    userLockout: {
      approle: resolveLockout(sources, 'approle', isDev),
      userpass: resolveLockout(sources, 'userpass', isDev),
    },
    replication: {
      allowForwardingViaHeader: replication.flag('allow_forwarding_via_header'),
      bestEffortWalWaitMs: replication.durationMs('best_effort_wal_wait_duration', 2000),
    },
  }
}

const resolveLeaseTtls = (
  settled: ResolvedSettings,
): Pick<ServerConfig, 'defaultLeaseTtlSeconds' | 'maxLeaseTtlSeconds'> => {
  // As in Vault, zero means the default.
  const seconds = (name: string, fallback: number) => settled.durationMs(name, fallback * 1000) / 1000 || fallback
  const maxLeaseTtlSeconds = seconds('max_lease_ttl', DEFAULT_LEASE_TTL_SECONDS)
  const defaultLeaseTtlSeconds = seconds('default_lease_ttl', Math.min(DEFAULT_LEASE_TTL_SECONDS, maxLeaseTtlSeconds))
  if (defaultLeaseTtlSeconds > maxLeaseTtlSeconds)
    settled.refuse('default_lease_ttl', 'default_lease_ttl is greater than max_lease_ttl')
  return { defaultLeaseTtlSeconds, maxLeaseTtlSeconds }
}

const BY_READER = 'standard on a terminal, else json'

const resolveLog = ({ flags, env, settled, findings }: ConfigSources): LogConfig => {
  const { log_level, log_format, log_file } = settled.values
  const levels = [fromFlag('-log-level', flags.logLevel), fromVariable(env, 'VAULT_LOG_LEVEL'), nonEmpty(log_level)]
  const formats = [
    fromFlag('-log-format', flags.logFormat),
    fromVariable(env, 'VAULT_LOG_FORMAT'),
    nonEmpty(log_format),
  ]
  const refuse = (sources: readonly (Sourced | undefined)[], text: string) =>
    findings.problems.push({ origin: sources.find((source) => source)?.origin ?? 'log', text })
  const level = settled.text('log_level', 'info', levels).toLowerCase()
  const format = settled.text('log_format', BY_READER, formats)
  const known = LOG_LEVELS.get(level)
  if (!known) refuse(levels, `unknown log level "${level}"${suggestion(level, [...LOG_LEVELS.keys()])}`)
  if (format !== 'json' && format !== 'standard' && format !== BY_READER)
    refuse(formats, `the log format must be standard or json, not "${format}"`)
  return {
    level: known ?? 'info',
    format: format === 'json' || format === 'standard' ? format : undefined,
    file: settled.text('log_file', '', [fromFlag('-log-file', flags.logFile), log_file]),
  }
}

/**
 * Resolves the user lockout of one auth method (default: on, or off in dev mode). Sources in order of precedence:
 *
 * - the environment variable `VAULT_DISABLE_USER_LOCKOUT`
 * - Vault's stanza `user_lockout`
 * - `user_lockout` in the stanza `understudy`
 */
const resolveLockout = (
  { files, env, settled }: ConfigSources,
  method: LockableMethod,
  isDev: boolean,
): LockoutSettings | undefined => {
  const values = { ...files.userLockout.all, ...files.userLockout[method] }
  const lockout = settled.within(`user_lockout.${method}`, { values, origin: 'user_lockout' })
  const isDisabled = ['true', '1'].includes(env.VAULT_DISABLE_USER_LOCKOUT ?? '')
  const ours = files.own.user_lockout
  const isOff = lockout.flag('disable_lockout', isDev, [
    isDisabled ? { value: true, origin: 'VAULT_DISABLE_USER_LOCKOUT' } : undefined,
    values.disable_lockout,
    typeof ours?.value === 'boolean' ? { value: !ours.value, origin: ours.origin } : undefined,
  ])
  if (isOff) return undefined
  return {
    threshold: lockout.number('lockout_threshold', DEFAULT_LOCKOUT.threshold),
    durationMs: lockout.durationMs('lockout_duration', DEFAULT_LOCKOUT.durationMs),
    counterResetMs: lockout.durationMs('lockout_counter_reset', DEFAULT_LOCKOUT.counterResetMs),
  }
}

/**
 * Resolves the settings of dev mode. Returns undefined without `-dev`: the other flags and variables of dev mode then
 * have no effect.
 */
const resolveDev = (flags: ServerFlags, env: Environment, settled: ResolvedSettings): DevConfig | undefined => {
  if (!flags.dev) return undefined
  const kvVersion = flags.devNoKv ? undefined : flags.devKvV1 ? '1' : '2'
  const kvFlag = flags.devNoKv ? '-dev-no-kv' : flags.devKvV1 ? '-dev-kv-v1' : '-dev'
  settled.note('dev', 'true', '-dev')
  settled.note('dev.kv_version', kvVersion ?? 'none', kvFlag)
  return {
    rootTokenId: settled.secret('dev.root_token_id', [
      fromFlag('-dev-root-token-id', flags.devRootTokenId || undefined),
      fromVariable(env, 'VAULT_DEV_ROOT_TOKEN_ID'),
    ]),
    kvVersion,
    nodes: flags.devNodes,
    tls: flags.devTls
      ? {
          directory: settled.text('dev.tls_cert_dir', '', [fromFlag('-dev-tls-cert-dir', flags.devTlsCertDir)]),
          extraHosts: settled.list('dev.tls_san', [
            flags.devTlsSan.length > 0 ? fromFlag('-dev-tls-san', flags.devTlsSan) : undefined,
          ]),
        }
      : undefined,
  }
}

const noteAccepted = ({ root }: FileSettings, settled: ResolvedSettings): void => {
  const known = new Set(settled.rows.map(({ name }) => name))
  for (const [name, { value, origin }] of Object.entries(root)) {
    if (!known.has(name)) settled.note(`${name} (without effect)`, String(value), origin)
  }
}
