import { TIDY_INTERVAL_MS } from '../../auth/approle/tidy.js'
import { LIMITS } from '../../base/limits.js'
import { nearest } from '../../base/nearest.js'
import { DEFAULT_REPORTED_VERSION, type OwnSettings } from './config.js'
import { checkAddress, isHostPort } from './addresses.js'
import { OWN_KEYS } from './tables.js'
import type { Findings } from './tree.js'
import { coerceText, type Sourced } from './values.js'
import type { Environment } from './environment.js'
import type { ConfigSources } from './sources.js'

const LICENSES: ReadonlySet<string> = new Set(['enterprise', 'plus', 'none'])

/** Resolves Understudy's own settings. UNDERSTUDY_<KEY> overrides the stanza. */
export const resolveOwnSettings = ({ files, env, settled, findings }: ConfigSources, isDev: boolean): OwnSettings => {
  const given = { ...files.own, ...readEnvironment(env, findings) }
  const text = (name: string, fallback: string) => settled.text(`understudy.${name}`, [given[name]], fallback)
  const size = (name: string, fallback: number) => settled.number(`understudy.${name}`, [given[name]], fallback)
  const time = (name: string, fallbackMs: number) => settled.durationMs(`understudy.${name}`, [given[name]], fallbackMs)
  const flag = (name: string, fallback: boolean) => settled.flag(`understudy.${name}`, [given[name]], fallback)
  const refuse = (name: string, reason: string) =>
    findings.problems.push({ origin: given[name]?.origin ?? name, text: reason })
  const license = text('license', 'enterprise')
  if (!LICENSES.has(license)) refuse('license', `license is enterprise, plus or none, not "${license}"`)
  const walRetentionEntries = size('wal_retention_entries', 262_144)
  if (walRetentionEntries < LIMITS.walRetentionEntriesMin) {
    refuse('wal_retention_entries', `wal_retention_entries must be at least ${LIMITS.walRetentionEntriesMin}`)
  }
  const leaderLeaseMs = time('leader_lease', 10_000)
  if (leaderLeaseMs < LIMITS.leaderLeaseMsMin) {
    refuse('leader_lease', `leader_lease must be at least ${LIMITS.leaderLeaseMsMin}ms`)
  }
  const etcdPeerAddress = text('etcd_peer_address', '')
  if (etcdPeerAddress !== '')
    checkAddress(
      'etcd_peer_address',
      { value: etcdPeerAddress, origin: given.etcd_peer_address?.origin ?? 'etcd_peer_address' },
      findings,
    )
  const reportedVersion = text('reported_version', DEFAULT_REPORTED_VERSION)
  if (!/^\d+\.\d+\.\d+(?:[-+].*)?$/.test(reportedVersion)) {
    refuse('reported_version', `"${reportedVersion}" is not a version such as 1.20.4+ent`)
  }
  return {
    reportedVersion,
    license: license as OwnSettings['license'],
    walRetentionEntries,
    walRetentionBytes: size('wal_retention_bytes', 1024 ** 3),
    shipWindowBytes: size('ship_window_bytes', 16 * 1024 * 1024),
    shipBatchBytes: size('ship_batch_bytes', 256 * 1024),
    heartbeatIntervalMs: time('heartbeat_interval', 1000),
    keepaliveTimeMs: time('keepalive_time', 5000),
    keepaliveTimeoutMs: time('keepalive_timeout', 5000),
    backoffInitialMs: time('reconnect_backoff_initial', 50),
    backoffMaxMs: time('reconnect_backoff_max', 500),
    bootstrapTimeoutMs: time('bootstrap_timeout', 10_000),
    forwardingTimeoutMs: time('forwarding_timeout', 10_000),
    pingTimeoutMs: time('ping_timeout', 3000),
    roleChangeWaitMs: time('role_change_wait', 2000),
    stepDownRestMs: time('step_down_rest', 10_000),
    leaderLeaseMs,
    dataDir: text('data_dir', ''),
    etcdPath: text('etcd_path', ''),
    etcdPeerAddress,
    demoteDrainTimeoutMs: time('demote_drain_timeout', 10_000),
    fenceClientWrites: flag('fence_client_writes', false),
    allowOlderSecondary: flag('allow_older_secondary', false),
    syncWrites: flag('sync_writes', true),
    approleTidyIntervalMs: time('approle_tidy_interval', TIDY_INTERVAL_MS),
    addressFile: text('address_file', ''),
    labApi: flag('lab_api', isDev),
    labApiToken: settled.secret('understudy.lab_api_token', [given.lab_api_token]),
    dialRoutes: parseRoutes(settled.list('understudy.dial_routes', [given.dial_routes]), refuse),
    simulateSeals: flag('simulate_seals', false),
    allowGenerateRootUnauthenticated: flag('allow_generate_root_unauthenticated', true),
  }
}

/** Parses `host:port=host:port`, one per route. */
const parseRoutes = (
  texts: readonly string[],
  refuse: (name: string, reason: string) => void,
): ReadonlyMap<string, string> => {
  const routes = new Map<string, string>()
  for (const text of texts) {
    const [, from, to] = /^([^=\s]+:\d+)=([^=\s]+:\d+)$/.exec(text) ?? []
    if (from && to && isHostPort(from) && isHostPort(to)) routes.set(from, to)
    else refuse('dial_routes', `dial_routes: "${text}" is not a route such as 10.0.0.1:8201=127.0.0.1:9000`)
  }
  return routes
}

const readEnvironment = (env: Environment, findings: Findings): Record<string, Sourced> => {
  const out: Record<string, Sourced> = {}
  for (const [name, { kind }] of Object.entries(OWN_KEYS)) {
    const variable = `UNDERSTUDY_${name.toUpperCase()}`
    const text = env[variable]
    if (text === undefined || text === '') continue
    const read = coerceText(kind, text)
    if (read.ok) out[name] = { value: read.value, origin: variable }
    else findings.problems.push({ origin: variable, text: `${variable} must be ${read.expected}` })
  }
  warnOfUnknown(env, findings)
  return out
}

/** Variables of labs and images: a server started there may see them, but does not use them. */
const OTHER_VARIABLES: readonly string[] = ['UNDERSTUDY_RANDOM_PORTS', 'UNDERSTUDY_IMAGE', 'UNDERSTUDY_BASE']

/** Warns about unknown variables: a misspelled one would be ignored silently. */
const warnOfUnknown = (env: Environment, findings: Findings): void => {
  const known = Object.keys(OWN_KEYS).map((name) => `UNDERSTUDY_${name.toUpperCase()}`)
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('UNDERSTUDY_') || [...known, ...OTHER_VARIABLES].includes(variable)) continue
    const meant = nearest(variable, known)
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    findings.warnings.push({ origin: 'environment', text: `there is no setting ${variable}${hint}` })
  }
}
