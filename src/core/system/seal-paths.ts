/** sys/seal-status, seal-backend-status, unseal, seal, step-down. */
import type { Call, PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { type ClusterStatus, withhold } from '../status/cluster-status.js'
import type { SealHealth } from '../seal/seal-health.js'
import type { SealManager } from '../seal/seal-manager.js'
import { requireKeyShare } from '../seal/share-input.js'
import { bare, oldPath } from './backend.js'

interface SealPathsDeps {
  readonly seal: SealManager
  readonly status: ClusterStatus
  readonly health: SealHealth
  /** Makes the active node step down; undefined if the cluster has no other node. */
  readonly stepDown?: (() => void) | undefined
}

const UNSEAL_FIELDS = {
  key: string('One key share, as hex or base64.', '', { isSecret: true }),
  reset: bool('Discards the shares submitted so far.'),
  migrate: bool('Migrates the seal. Rejected unless a seal migration is pending.'),
} as const

export const sealPaths = ({ seal, status, health, stepDown }: SealPathsDeps): PathSpec[] => [
  oldPath('seal-status', {}, 'Read the seal status.', {
    read: ({ request }) => bare(withhold(sealStatusBody(seal, status), request)),
  }),
  oldPath('seal-backend-status', {}, 'Read whether the seal works.', {
    read: async () => {
      const sinceMs = await health.unhealthySinceMs()
      const state = {
        healthy: sinceMs === undefined,
        ...(sinceMs !== undefined && { unhealthy_since: new Date(sinceMs).toISOString() }),
      }
      return bare({ ...state, backends: [{ name: seal.keys.type, ...state }] })
    },
  }),
  oldPath('unseal', UNSEAL_FIELDS, 'Submit one key share.', {
    update: async (call) => {
      await unseal(seal, call)
      return bare(withhold(sealStatusBody(seal, status), call.request))
    },
    takesAnyField: true,
  }),
  oldPath('seal', {}, 'Seal the server.', { update: async () => void (await seal.seal()) }),
  oldPath('step-down', {}, 'Make the active node step down.', { update: () => void stepDown?.() }),
]

export const sealStatusBody = (seal: SealManager, status: ClusterStatus): JsonObject => {
  const { isRemoved, facts } = status
  // A removed node reports itself as sealed, since its data is no longer valid.
  const now = { ...seal.status(), ...(isRemoved && { isSealed: true }) }
  return {
    type: now.type,
    initialized: now.isInitialized,
    sealed: now.isSealed,
    t: now.threshold,
    n: now.shares,
    progress: now.progress,
    nonce: now.nonce,
    recovery_seal: now.isRecoverySeal,
    ...(now.isRecoverySeal && { recovery_seal_type: 'shamir' }),
    ...(isRemoved && { removed_from_cluster: true }),
    version: status.reportedVersion,
    migration: now.isMigrating,
    ...(!now.isSealed && { cluster_name: facts.clusterName, cluster_id: facts.clusterId }),
    storage_type: status.storageType,
    build_date: status.buildDate,
  }
}

const unseal = async (seal: SealManager, call: Call<typeof UNSEAL_FIELDS>): Promise<void> => {
  const { key, reset, migrate } = anyCase(call)
  if (reset) {
    seal.resetUnseal()
    return
  }
  if (key === '') throw invalid("'key' must be specified in request body as JSON, or 'reset' set to true")
  const share = requireKeyShare(key)
  if (migrate && !seal.status().isMigrating) {
    throw invalid("can't perform a seal migration, no migration seal found")
  }
  await seal.unseal(share)
}

/** Reads the fields by their names in any letter case (`Key`, `RESET`), as Vault does. */
const anyCase = ({
  request,
  values,
}: Call<typeof UNSEAL_FIELDS>): { key: string; reset: boolean; migrate: boolean } => {
  const other = new Map(Object.entries(request.data).map(([name, value]) => [name.toLowerCase(), value]))
  const key = other.get('key')
  return {
    key: values.key === '' && typeof key === 'string' ? key : values.key,
    reset: values.reset || other.get('reset') === true,
    migrate: values.migrate || other.get('migrate') === true,
  }
}
