/** sys/health and sys/leader, which load balancers and clients query first. */
import type { Clock } from '../../base/clock.js'
import type { PathSpec } from '../../logical/backend.js'
import { LogicalError, sealed } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import {
  type ClusterFacts,
  type ClusterStatus,
  decideHealth,
  healthCode,
  type HealthState,
  withhold,
} from '../status/cluster-status.js'
import type { SealManager } from '../seal/seal-manager.js'
import { bare, oldPath } from './backend.js'

interface StatusPathsDeps {
  readonly seal: Pick<SealManager, 'isInitialized' | 'isSealed'>
  readonly status: ClusterStatus
  readonly clock: Clock
}

/** All fields are strings, since an absent, an empty and an invalid parameter have different meanings. */
const HEALTH_FIELDS = {
  activecode: string('Status code of an active node.'),
  standbycode: string('Status code of a standby.'),
  drsecondarycode: string('Status code of a disaster-recovery secondary.'),
  performancestandbycode: string('Status code of a performance standby.'),
  sealedcode: string('Status code while sealed.'),
  uninitcode: string('Status code while not initialized.'),
  removedcode: string('Status code of a node that was removed from its cluster.'),
  haunhealthycode: string('Status code of a standby that cannot reach its active node.'),
  standbyok: string('Whether a standby counts as active.'),
  perfstandbyok: string('Whether a performance standby counts as active.'),
}

const SWITCHES = ['standbyok', 'perfstandbyok'] as const
const CODES = (Object.keys(HEALTH_FIELDS) as (keyof typeof HEALTH_FIELDS)[]).filter((name) => name.endsWith('code'))

export const statusPaths = (deps: StatusPathsDeps): PathSpec[] => [
  oldPath('health', HEALTH_FIELDS, 'Read the health of this server.', {
    read: ({ values, supplied, request }) => {
      const [isStandbyOk, isPerformanceStandbyOk] = SWITCHES.map((name) => supplied(name) && parseSwitch(values[name]))
      const wanted: Record<string, number> = {}
      for (const name of CODES) if (supplied(name)) wanted[name] = parseCode(values[name])
      const { seal, status } = deps
      const { facts } = status
      const { replicationModes: modes } = facts
      const state = decideHealth({
        isRemoved: status.isRemoved,
        isInitialized: seal.isInitialized,
        isSealed: seal.isSealed && !status.isRestarting,
        isDrSecondary: modes.dr === 'secondary',
        isBootstrapping: modes.dr === 'bootstrapping' || modes.performance === 'bootstrapping',
        isStandby: status.isStandby,
        isPerformanceStandby: status.isPerformanceStandby,
        isFenced: facts.isFenced,
      })
      const isOk = { standby: isStandbyOk, performanceStandby: isPerformanceStandbyOk }
      const counted = isAnyStandby(state) && isOk[state] ? 'active' : state
      return {
        data: withhold(healthBody(state, facts, deps), request),
        bare: true,
        status: healthCode(counted, wanted),
      }
    },
    takesAnyField: true,
  }),
  oldPath('leader', {}, 'Read the addresses of the active node.', {
    read: ({ request }) => bare(withhold(leaderBody(deps), request)),
  }),
]

const isAnyStandby = (state: HealthState): state is 'standby' | 'performanceStandby' =>
  state === 'standby' || state === 'performanceStandby'

const refused = (): LogicalError => new LogicalError('invalid-request', '')

/** Parses a Boolean parameter. A parameter without a value is true. Throws LogicalError 400 for an invalid value. */
const parseSwitch = (text: string): boolean => {
  if (['', '1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false
  throw refused()
}

/**
 * Parses a status code. Throws LogicalError 400 for a code below 200, after which a client would wait for another
 * response.
 */
const parseCode = (text: string): number => {
  const code = /^\d{3}$/.test(text) ? Number(text) : 0
  if (code < 200) throw refused()
  return code
}

/** Builds the body key by key: health checks are frequent, and an object built from spreads is several times slower. */
const healthBody = (state: HealthState, facts: ClusterFacts, { status, clock }: StatusPathsDeps): JsonObject => {
  const isOpen = state !== 'uninitialized' && state !== 'sealed' && state !== 'removed'
  const isServing = isOpen && state !== 'bootstrapping'
  const { lastWal, replicationModes } = facts
  const body: JsonObject = {
    initialized: state !== 'uninitialized',
    sealed: !isOpen,
    standby: !isServing || status.isStandby,
    replication_performance_mode: isOpen ? replicationModes.performance : 'unknown',
    replication_dr_mode: isOpen ? replicationModes.dr : 'unknown',
    server_time_utc: Math.floor(clock.now() / 1000),
    version: status.reportedVersion,
  }
  if (isOpen) {
    body.cluster_name = facts.clusterName
    body.cluster_id = facts.clusterId
  }
  if (state === 'removed') body.removed_from_cluster = true
  body.performance_standby = state === 'performanceStandby'
  body.enterprise = true
  if (!body.standby && lastWal > 0) body.last_wal = lastWal
  if (status.license !== 'none') body.license = LICENSE
  body.echo_duration_ms = facts.echoDurationMs
  body.clock_skew_ms = facts.clockSkewMs
  body.replication_primary_canary_age_ms = facts.canaryAgeMs
  return body
}

/** The end of the license. The license does not expire, but clients require a time. */
export const LICENSE_END = '2099-12-31T23:59:59Z'

const LICENSE = { state: 'autoloaded', expiry_time: LICENSE_END, terminated: false } as const

/**
 * The response of a development server, which cannot have other nodes. A development server that replicates reports its
 * addresses instead.
 */
const NO_CLUSTER: JsonObject = {
  ha_enabled: false,
  is_self: false,
  active_time: '0001-01-01T00:00:00Z',
  leader_address: '',
  leader_cluster_address: '',
  performance_standby: false,
  performance_standby_last_remote_wal: 0,
}

const leaderBody = ({ seal, status }: StatusPathsDeps): JsonObject => {
  if (seal.isSealed && !status.isRestarting) throw sealed()
  const { isStandby, isPerformanceStandby, activeNode } = status
  const { activeSinceMs, replicationModes, lastWal } = status.facts
  const isReplicated = Object.values(replicationModes).some((mode) => mode !== 'disabled')
  if (status.isPlainDev && !isReplicated) return NO_CLUSTER
  return {
    ha_enabled: status.isHaEnabled,
    is_self: !isStandby,
    ...(!isStandby && activeSinceMs !== undefined && { active_time: new Date(activeSinceMs).toISOString() }),
    ...(activeNode && { leader_address: activeNode.apiAddress, leader_cluster_address: activeNode.clusterAddress }),
    performance_standby: isPerformanceStandby,
    performance_standby_last_remote_wal: isPerformanceStandby ? lastWal : 0,
    ...(!isStandby && lastWal > 0 && { last_wal: lastWal }),
    ...(status.storageType === 'raft' && { raft_committed_index: lastWal, raft_applied_index: lastWal }),
  }
}
