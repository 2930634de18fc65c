import type { PasswordPolicies } from '../../core/passwords/password-policies.js'
import { autoSnapshotPaths } from '../../core/system/auto-snapshot-paths.js'
import { decodeTokenPath, keyringPaths } from '../../core/system/key-paths.js'
import { keyRotationPaths } from '../../core/system/key-rotation.js'
import { logPaths } from '../../core/system/log-paths.js'
import { nodePaths } from '../../core/system/node-paths.js'
import { pluginPaths } from '../../core/system/plugin-paths.js'
import { pprofPaths } from '../../core/system/pprof-paths.js'
import { raftPaths } from '../../core/system/raft-paths.js'
import { counterPaths, metricsPaths, openApiPaths } from '../../core/system/report-paths.js'
import { sealWrapPaths } from '../../core/system/seal-wrap-paths.js'
import { webPaths } from '../../core/system/web-paths.js'
import type { BackendType, PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { isOperationAllowed } from '../../replication/paths/guard.js'
import type { PathContext } from '../../replication/roles/context.js'
import { PLUGIN as DATABASE_PLUGIN } from '../../secrets/database/config-paths.js'
import { toolPaths } from '../../secrets/transit/tool-paths.js'
import type { ServerConfig } from '../config/config.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import type { CoreServices } from './core-services.js'
import { readMetrics } from './metric-reading.js'
import type { ReplicationParts } from './replication-parts.js'
import { planRestoration, prepareRestored, takeSnapshot } from './snapshots.js'

export type FamilyOptions = OpenClusterOptions & {
  readonly services: CoreServices
  readonly replication: ReplicationParts
  readonly passwordPolicies: PasswordPolicies
  readonly types: readonly BackendType[]
  readonly openedAtMs: number
}

/** Returns the paths of the server itself: keyring, node, metrics, OpenAPI and storage. */
export const serverFamilies = (
  { services, config, runtime, shell, changes, clock, random, log, replication, types, openedAtMs }: FamilyOptions,
  context: PathContext,
): PathSpec[] => [
  ...keyringPaths({
    status: () => {
      const { term, sinceMs } = runtime.barrier.activeTerm
      return { term, installTimeMs: sinceMs, encryptions: runtime.barrier.encryptions }
    },
    rotate: async () => void (await runtime.barrier.rotate()),
  }),
  ...nodePaths({
    status: shell.status,
    clock,
    inFlight: shell.inFlight,
    versions: () => [{ version: config.own.reportedVersion, installedAtMs: openedAtMs }],
    sanitizedConfig: () => sanitizeConfig(config),
  }),
  ...keyRotationPaths(services.background.keyRotation),
  ...sealWrapPaths(runtime.seal),
  ...webPaths(services.web),
  ...logPaths({ control: log.control, stopping: shell.stopping.signal }),
  ...pprofPaths,
  ...pluginPaths({
    reportedVersion: config.own.reportedVersion,
    types: [...types, { name: DATABASE_PLUGIN, kind: 'database' }],
  }),
  decodeTokenPath,
  ...toolPaths({ random }, 'tools/'),
  ...metricsPaths({ read: () => readMetrics(runtime, replication, shell), now: () => clock.now() }),
  ...counterPaths({
    countTokens: () => services.tokens.count(),
    countEntities: () => services.identity.count(),
  }),
  ...openApiPaths({
    version: config.own.reportedVersion,
    mounts: (namespaceId) =>
      services.router
        .all()
        .filter(({ entry }) => entry.namespaceId === namespaceId)
        .map(({ view, backend }) => ({ path: view.path, backend })),
  }),
  ...autoSnapshotPaths({ label: config.storage.label, snapshots: services.background.snapshots, clock }),
  ...raftPaths({
    label: config.storage.label,
    nodeId: config.storage.nodeId,
    clusterAddress: config.clusterAddress.replace(/^https:\/\//, ''),
    storage: runtime.barrier.view(''),
    index: () => runtime.store.position.index,
    openedAtMs,
    nodes: shell.peers,
    isDrSecondary: () => replication.view.isDrSecondary,
    isOperationTokenAllowed: (token, request) => isOperationAllowed(context, token, request),
    snapshot: () => takeSnapshot(runtime, { random, clock }),
    restore: async (file, options) => {
      if (replication.isSharedReadOnly)
        throw invalid('cannot restore a snapshot on a secondary: restore it on the primary')
      const restoration = await planRestoration(runtime, file, options)
      await changes.replaceData('a snapshot is restored', {
        rootKeyAfter: () => restoration.rootKey,
        prepare: (fresh) => prepareRestored(fresh, { config, clock, random, log, ...restoration }),
      })
    },
  }),
]

/** Returns the data of `sys/config/state/sanitized`: the configuration without secrets. */
const sanitizeConfig = (config: ServerConfig): JsonObject => ({
  api_addr: config.apiAddress,
  cluster_addr: config.clusterAddress,
  cluster_name: config.clusterName,
  default_lease_ttl: config.defaultLeaseTtlSeconds,
  max_lease_ttl: config.maxLeaseTtlSeconds,
  disable_mlock: true,
  listeners: config.listeners.map(({ address, tls }) => ({
    type: 'tcp',
    config: { address, tls_disable: tls === undefined },
  })),
  log_format: config.log.format ?? 'json',
  log_level: config.log.level,
  seals: [{ type: config.seal.type === 'shamir' ? 'shamir' : config.seal.name, disabled: false }],
  storage: {
    type: config.storage.label,
    cluster_addr: config.clusterAddress,
    redirect_addr: config.apiAddress,
    disable_clustering: config.disableClustering,
  },
})
