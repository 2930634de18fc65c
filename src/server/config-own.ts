import { DEFAULT_REPORTED_VERSION, type OwnSettings } from './config.js'
import { OWN_KEYS } from './config-tables.js'
import type { Findings } from './config-tree.js'
import { coerceText, type Sourced } from './config-values.js'
import type { Environment } from './load-config.js'

const WAL_RETENTION_ENTRIES_MIN = 16
const LICENSES: ReadonlySet<string> = new Set(['enterprise', 'plus', 'none'])

/** Our own settings: UNDERSTUDY_<KEY> wins over the stanza. */
export const resolveOwnSettings = (
  stanza: Readonly<Record<string, Sourced>>,
  env: Environment,
  isDev: boolean,
  findings: Findings,
): OwnSettings => {
  const given = { ...stanza, ...readEnvironment(env, findings) }
  const pick = <T>(name: string, fallback: T): T => (given[name]?.value as T | undefined) ?? fallback
  const refuse = (name: string, text: string) => findings.problems.push({ origin: given[name]?.origin ?? name, text })
  const license = pick<string>('license', 'enterprise')
  if (!LICENSES.has(license)) refuse('license', `license is enterprise, plus or none, not "${license}"`)
  const walRetentionEntries = pick('wal_retention_entries', 262_144)
  if (walRetentionEntries < WAL_RETENTION_ENTRIES_MIN) {
    refuse('wal_retention_entries', `wal_retention_entries must be at least ${WAL_RETENTION_ENTRIES_MIN}`)
  }
  const reportedVersion = pick('reported_version', DEFAULT_REPORTED_VERSION)
  if (!/^\d+\.\d+\.\d+(?:[-+].*)?$/.test(reportedVersion)) {
    refuse('reported_version', `"${reportedVersion}" is not a version such as 1.20.4+ent`)
  }
  return {
    reportedVersion,
    license: license as OwnSettings['license'],
    walRetentionEntries,
    walRetentionBytes: pick('wal_retention_bytes', 1024 ** 3),
    shipWindowBytes: pick('ship_window_bytes', 16 * 1024 * 1024),
    shipBatchBytes: pick('ship_batch_bytes', 256 * 1024),
    heartbeatIntervalMs: pick('heartbeat_interval', 1000),
    keepaliveTimeMs: pick('keepalive_time', 5000),
    keepaliveTimeoutMs: pick('keepalive_timeout', 5000),
    backoffInitialMs: pick('reconnect_backoff_initial', 50),
    backoffMaxMs: pick('reconnect_backoff_max', 500),
    bootstrapTimeoutMs: pick('bootstrap_timeout', 10_000),
    forwardingTimeoutMs: pick('forwarding_timeout', 10_000),
    pingTimeoutMs: pick('ping_timeout', 3000),
    fenceClientWrites: pick('fence_client_writes', false),
    allowOlderSecondary: pick('allow_older_secondary', false),
    syncWrites: pick('sync_writes', true),
    approleTidyIntervalMs: pick('approle_tidy_interval', 60_000),
    labApi: pick('lab_api', isDev),
    labApiToken: pick('lab_api_token', ''),
    simulateSeals: pick('simulate_seals', false),
    allowGenerateRootUnauthenticated: pick('allow_generate_root_unauthenticated', true),
  }
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
  return out
}
