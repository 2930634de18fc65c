/** sys/ha-status, license/status, host-info, in-flight-req, version-history, config/state/sanitized. */
import os from 'node:os'
import type { Clock } from '../../base/clock.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import type { JsonObject } from '../../logical/json.js'
import type { ClusterFacts, ClusterStatus, LicenseKind, NodeFacts } from '../status/cluster-status.js'
import { bare } from './backend.js'
import { LICENSE_END } from './status-paths.js'

interface InFlightRequest {
  readonly startTimeMs: number
  readonly remoteAddress: string
  readonly path: string
  readonly method: string
}

interface InstalledVersion {
  readonly version: string
  readonly installedAtMs: number
}

interface NodePathsDeps {
  readonly status: ClusterStatus
  readonly clock: Clock
  /** Returns the requests in flight by request ID. */
  readonly inFlight: () => ReadonlyMap<string, InFlightRequest>
  /** Returns the installed versions, oldest first. */
  readonly versions: () => readonly InstalledVersion[]
  /** Returns the configuration in use, without secrets. */
  readonly sanitizedConfig: () => JsonObject
}

const time = (ms: number): string => new Date(ms).toISOString()

export const nodePaths = (deps: NodePathsDeps): PathSpec[] => [
  definePath('ha-status', {}, 'List the nodes of the cluster.', {
    read: async () => ({
      data: { nodes: (await deps.status.nodes()).map((node) => nodeBody(node, deps.status.facts)) },
    }),
    mirror: true,
  }),
  definePath('license/status', {}, 'Read the license status.', {
    read: () => ({ data: licenseBody(deps.status.license) }),
  }),
  definePath('experiments', {}, 'List the experiments. This server has none.', {
    read: () => ({ data: { available: [], enabled: [] } }),
  }),
  definePath('host-info', {}, 'Read information about the machine.', { read: () => ({ data: hostBody(deps) }) }),
  definePath('in-flight-req', {}, 'List the requests in progress.', {
    read: () => bare(inFlightBody(deps.inFlight())),
  }),
  definePath('version-history/?', {}, 'List the versions that this cluster has run.', {
    list: () => ({ data: versionBody(deps.versions(), deps.status.buildDate) }),
  }),
  definePath('config/state/sanitized', {}, 'Read the effective configuration, without secrets.', {
    read: () => ({ data: deps.sanitizedConfig() }),
  }),
]

const nodeBody = (node: NodeFacts, facts: ClusterFacts): JsonObject => ({
  hostname: node.hostname,
  api_address: node.apiAddress,
  cluster_address: node.clusterAddress,
  active_node: node.isActive,
  last_echo: node.lastEchoMs === undefined ? null : time(node.lastEchoMs),
  version: node.version,
  echo_duration_ms: facts.echoDurationMs,
  clock_skew_ms: facts.clockSkewMs,
  replication_primary_canary_age_ms: facts.canaryAgeMs,
})

const FEATURES: Readonly<Record<LicenseKind, readonly string[]>> = {
  enterprise: ['DR Replication', 'Namespaces', 'Performance Replication', 'Performance Standby'],
  plus: ['Namespaces', 'Performance Replication'],
  none: [],
}

/** Number of standbys that the license permits; effectively unlimited. */
const STANDBYS = 9999

export const licenseBody = (kind: LicenseKind): JsonObject => {
  const license: JsonObject = {
    license_id: `understudy-${kind}`,
    start_time: '2020-01-01T00:00:00Z',
    expiration_time: LICENSE_END,
    termination_time: LICENSE_END,
    features: [...FEATURES[kind]],
    performance_standby_count: kind === 'enterprise' ? STANDBYS : 0,
  }
  return { autoloading_used: true, autoloaded: license, persisted_autoload: license }
}

const hostBody = ({ status, clock }: NodePathsDeps): JsonObject => ({
  timestamp: time(clock.now()),
  host: {
    hostname: status.hostname,
    os: os.platform(),
    kernelVersion: os.release(),
    kernelArch: os.machine(),
    uptime: Math.floor(os.uptime()),
  },
  memory: { total: os.totalmem(), free: os.freemem() },
  cpu: os.cpus().map(({ model, speed }, index) => ({ cpu: index, modelName: model, mhz: speed })),
})

const inFlightBody = (requests: ReadonlyMap<string, InFlightRequest>): JsonObject =>
  Object.fromEntries(
    [...requests].map(([id, request]) => [
      id,
      {
        start_time: time(request.startTimeMs),
        client_remote_address: request.remoteAddress,
        request_path: request.path,
        request_method: request.method,
      },
    ]),
  )

const versionBody = (versions: readonly InstalledVersion[], buildDate: string): JsonObject => ({
  keys: versions.map(({ version }) => version),
  key_info: Object.fromEntries(
    versions.map(({ version, installedAtMs }, index) => [
      version,
      {
        build_date: buildDate,
        previous_version: versions[index - 1]?.version ?? null,
        timestamp_installed: time(installedAtMs),
      },
    ]),
  ),
})
