import { DEFAULT_LEASE_TTL_SECONDS } from '../../base/limits.js'
import type { DevConfig, ListenerConfig, OwnSettings, SealConfig, ServerConfig, StorageConfig } from './config.js'
import { type Addresses, resolveAddresses } from './addresses.js'
import { addressExpander, expandAddresses } from './expand-addresses.js'
import { emptyFileSettings, type FileSettings, readConfigPath, readConfigText } from './file.js'
import { resolveListeners } from './listeners.js'
import { resolveLockouts } from './lockout.js'
import { resolveLog } from './log.js'
import { type NetworkAddress, systemAddresses } from './network-addresses.js'
import { resolveOwnSettings } from './understudy-settings.js'
import { resolveSeal } from './seal.js'
import { resolveStorage } from './storage.js'
import type { Findings, Problem } from './tree.js'
import type { Environment } from './environment.js'
import type { ServerFlags } from './flags.js'
import type { ConfigSources } from './sources.js'
import { fromFlag, fromVariable, ResolvedSettings, type ShownSetting } from './resolved-settings.js'

export interface LoadedConfig {
  /** Undefined if there are problems. */
  readonly config: ServerConfig | undefined
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
  /** All settings in effect with their origin, as printed by `config show --origin`. */
  readonly settings: readonly ShownSetting[]
}

/** Combines flags, environment, files and defaults. Reports all problems, not only the first one. */
export const loadConfig = (
  given: { readonly flags: ServerFlags; readonly env: Environment },
  addressesOfMachine: () => readonly NetworkAddress[] = systemAddresses,
): LoadedConfig => {
  const warnings = given.flags.ignored.map(([flag, text]) => ({ origin: `-${flag}`, text }))
  const findings: Findings = { problems: [], warnings }
  const settled = new ResolvedSettings()
  const files = emptyFileSettings()
  for (const file of given.flags.configs) readConfigPath(file, files, findings)
  const local = given.env.VAULT_LOCAL_CONFIG
  if (local) readConfigText(local, 'VAULT_LOCAL_CONFIG', files, findings)
  const expand = addressExpander(addressesOfMachine, findings)
  const { flags, env } = expandAddresses({ ...given, files }, expand)
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
  const addresses = resolveAddresses(sources, listeners)
  const config = assemble(sources, { dev, storage, own, seal, listeners, addresses })
  noteAccepted(files, settled)
  return { config: findings.problems.length > 0 ? undefined : config, ...findings, settings: settled.rows }
}

interface Parts {
  readonly dev: DevConfig | undefined
  readonly storage: StorageConfig
  readonly own: OwnSettings
  readonly seal: SealConfig
  readonly listeners: readonly ListenerConfig[]
  readonly addresses: Addresses
}

/** Sets the directory of the local copy of etcd data. Rejects settings that nodes cannot share. */
const withCopy = (
  storage: StorageConfig,
  { flags, files, findings }: ConfigSources,
  { dev, own, seal }: Pick<Parts, 'dev' | 'own' | 'seal'>,
): StorageConfig => {
  const origin = files.storage?.origin ?? 'storage'
  if (dev) findings.problems.push({ origin, text: 'storage "etcd" is for a server without -dev' })
  if (seal.type === 'auto' && seal.key === undefined) {
    findings.problems.push({
      origin,
      text: 'a simulated seal has its key in a file, which storage "etcd" does not share',
    })
  }
  return { ...storage, path: flags.dataDir || own.dataDir || undefined }
}

const assemble = (sources: ConfigSources, parts: Parts): ServerConfig => {
  const { files, settled, findings } = sources
  return {
    listeners: parts.listeners,
    storage: parts.storage,
    seal: parts.seal,
    ...parts.addresses,
    clusterName: settled.text('cluster_name', [files.root.cluster_name]),
    disableClustering: settled.flag('disable_clustering', [files.root.disable_clustering]),
    isPerformanceStandby:
      !settled.flag('disable_performance_standby', [files.root.disable_performance_standby]) &&
      parts.own.license === 'enterprise',
    responseHeaders: {
      hasHostname: settled.flag('enable_response_header_hostname', [files.root.enable_response_header_hostname]),
      hasNodeId: settled.flag('enable_response_header_raft_node_id', [files.root.enable_response_header_raft_node_id]),
    },
    hasPage: settled.flag('ui', [files.root.ui], parts.dev !== undefined),
    ...resolveLeaseTtls(files, settled, findings),
    log: resolveLog(sources),
    pidFile: settled.text('pid_file', [files.root.pid_file]),
    dev: parts.dev,
    unauthenticatedMetrics: settled.flag('listener.telemetry.unauthenticated_metrics_access', [
      files.unauthenticatedMetrics,
    ]),
    userLockout: resolveLockouts(sources, parts.dev !== undefined),
    own: parts.own,
    replication: {
      allowForwardingViaHeader: settled.flag('replication.allow_forwarding_via_header', [
        files.replication.allow_forwarding_via_header,
      ]),
      bestEffortWalWaitMs: settled.durationMs(
        'replication.best_effort_wal_wait_duration',
        [files.replication.best_effort_wal_wait_duration],
        2000,
      ),
    },
  }
}

const resolveLeaseTtls = (
  { root }: FileSettings,
  settled: ResolvedSettings,
  findings: Findings,
): Pick<ServerConfig, 'defaultLeaseTtlSeconds' | 'maxLeaseTtlSeconds'> => {
  // Zero means the default, as in Vault.
  const seconds = (name: string, fallback: number) =>
    settled.durationMs(name, [root[name]], fallback * 1000) / 1000 || fallback
  const maxLeaseTtlSeconds = seconds('max_lease_ttl', DEFAULT_LEASE_TTL_SECONDS)
  const defaultLeaseTtlSeconds = seconds('default_lease_ttl', Math.min(DEFAULT_LEASE_TTL_SECONDS, maxLeaseTtlSeconds))
  if (defaultLeaseTtlSeconds > maxLeaseTtlSeconds) {
    findings.problems.push({
      origin: root.default_lease_ttl?.origin ?? 'default_lease_ttl',
      text: 'default_lease_ttl is greater than max_lease_ttl',
    })
  }
  return { defaultLeaseTtlSeconds, maxLeaseTtlSeconds }
}

/** Flags and variables of development mode have no effect outside it, whether empty or not. */
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
          directory: settled.text('dev.tls_cert_dir', [fromFlag('-dev-tls-cert-dir', flags.devTlsCertDir)]),
          extraHosts: settled.list('dev.tls_san', [
            flags.devTlsSan.length > 0 ? fromFlag('-dev-tls-san', flags.devTlsSan) : undefined,
          ]),
        }
      : undefined,
  }
}

/** Records settings that are accepted without effect. */
const noteAccepted = ({ root }: FileSettings, settled: ResolvedSettings): void => {
  const known = new Set(settled.rows.map(({ name }) => name))
  for (const [name, { value, origin }] of Object.entries(root)) {
    if (!known.has(name)) settled.note(`${name} (without effect)`, String(value), origin)
  }
}
