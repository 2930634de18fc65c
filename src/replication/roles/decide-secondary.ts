import type { Check } from './decide-primary.js'
import { DR_REFUSAL } from '../../logical/errors.js'
import { CATCHING_UP_TEXT, GUARDS, INCOMPLETE_TEXT } from '../model/guard-texts.js'
import {
  accept,
  type Decision,
  type Facts,
  isDormant,
  isSecondaryStage,
  type RecordChange,
  refuse,
  type SafetyFacts,
} from '../model/machine.js'
import type { Kind } from '../model/types.js'

/**
 * Decides whether requests to join a set, to follow another primary, to be promoted, or to leave the set are accepted.
 * Pure functions.
 */

/**
 * Decides whether this cluster may join a set, before it redeems the token. `checkBundle` validates the content of the
 * token later.
 */
export const decideEnableSecondary = (kind: Kind, facts: Facts): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (stage !== 'disabled') return refuse(GUARDS.alreadyEnabled(kind))
  if (kind === 'dr' && facts.stages.performance !== 'disabled') return refuse(GUARDS.performanceFirst)
  if (kind === 'performance' && facts.stages.dr !== 'disabled') return refuse(GUARDS.disableDrFirst)
  const change = [{ do: 'take-credentials', kind, mode: 'bootstrapping' }] as const
  return accept(stage, 'enable-secondary', change, { end: 'wipe-and-restart' })
}

export interface BundleFacts {
  readonly kind: Kind
  readonly setId: string
  /** True if this cluster issued the token. */
  readonly isOwn: boolean
}

/** Refuses a bundle that this cluster may not use. `setId` is the current set; undefined if any set is valid. */
export const checkBundle = (kind: Kind, setId: string | undefined, bundle: BundleFacts): Check => {
  if (bundle.kind !== kind) return refuse(GUARDS.tokenOfKind(bundle.kind))
  if (bundle.isOwn) return refuse(GUARDS.ownSecondary)
  return setId === undefined || setId === bundle.setId ? { ok: true } : refuse(GUARDS.otherSet)
}

type UpdateForm = 'token' | 'blank' | 'addresses'

/** Returns the form of an update request. A valid request has either a token (which may be empty) or addresses. */
export const parseUpdateForm = (
  token: string | undefined,
  addresses: readonly string[],
): UpdateForm | 'both' | 'neither' => {
  if (token !== undefined && addresses.length > 0) return 'both'
  if (addresses.length > 0) return 'addresses'
  if (token === undefined) return 'neither'
  return token === '' ? 'blank' : 'token'
}

export const decideUpdatePrimary = (kind: Kind, facts: Facts, form: UpdateForm | 'both' | 'neither'): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (!isSecondaryStage(stage)) return refuse(GUARDS.notSecondary(kind))
  switch (form) {
    case 'both':
      return refuse(GUARDS.exclusive)
    case 'neither':
      return refuse(GUARDS.oneRequired)
    case 'addresses':
      if (stage === 'detached') return refuse(GUARDS.needsCredentials)
      return accept(stage, 'update-addresses', [{ do: 'take-addresses', kind }], { end: 'commit' })
    case 'blank':
      return accept(stage, 'forget-primary', [{ do: 'become-detached', kind }])
    case 'token': {
      const mode = stage === 'bootstrapping' ? 'bootstrapping' : 'secondary'
      // Following stops first, because the received log must not change while the entries that the new primary lacks
      // are listed.
      const prepare = [
        { do: 'stop-following', kind },
        { do: 'list-surplus', kind },
      ] as const
      return accept(stage, 'update-primary', [{ do: 'take-credentials', kind, mode }], { prepare })
    }
  }
}

interface PromotionRisk {
  readonly reason: string
  /** True if waiting may resolve the risk. It does not help against a filter, or without a primary. */
  readonly mayPass: boolean
}

/** Returns the reason why a promotion may lose data, or undefined if it is safe. */
const findPromotionRisk = (stage: string, safety: SafetyFacts): PromotionRisk | undefined => {
  const passing = (reason: string): PromotionRisk => ({ reason, mayPass: true })
  const whileFollowing = (reason: string): PromotionRisk => ({ reason, mayPass: safety.streamState !== 'idle' })
  if (stage === 'bootstrapping') return whileFollowing('the first sync is not complete')
  if (safety.isReindexing) return passing('a reindex is running')
  if (safety.filter !== undefined) {
    const reason = `this cluster has a paths filter (${safety.filter}) and does not hold all data`
    return { reason, mayPass: false }
  }
  if (!safety.isSyncComplete) return whileFollowing('the last sync is not complete')
  if (safety.streamState === 'merkle-diff' || safety.streamState === 'merkle-sync')
    return passing(`state is ${safety.streamState}`)
  if (safety.appliedIndex < safety.announcedIndex) {
    return whileFollowing(`applied ${safety.appliedIndex} of ${safety.announcedIndex} announced entries`)
  }
  if (safety.isBehindEpoch) return whileFollowing('no entry of the new primary is applied yet')
  return undefined
}

export const decidePromote = (kind: Kind, facts: Facts, safety: SafetyFacts, force: boolean): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (!isSecondaryStage(stage)) return refuse(GUARDS.notSecondary(kind))
  const risk = force ? undefined : findPromotionRisk(stage, safety)
  if (risk) return refuse(`${risk.mayPass ? CATCHING_UP_TEXT : INCOMPLETE_TEXT}: ${risk.reason}`, 'unavailable')
  const change: RecordChange[] = [
    { do: 'become-primary', kind, set: 'kept' },
    { do: 'start-epoch', kind },
  ]
  // This cluster replaces the old performance primary. A new epoch distinguishes the two clusters.
  if (kind === 'dr' && facts.stages.performance === 'primary') change.push({ do: 'start-epoch', kind: 'performance' })
  // This cluster replaces the performance secondary that it copies. It keeps the secondary ID, with a higher
  // incarnation.
  if (kind === 'dr' && facts.stages.performance === 'secondary') change.push({ do: 'take-place', kind: 'performance' })
  if (kind === 'dr') change.push({ do: 'delete-operation-token' })
  // Following stops first, because the applied index must not change after the new epoch records it as its fork.
  const prepare = [
    { do: 'stop-following', kind },
    { do: 'list-missing', kind, safety },
  ] as const
  return accept(stage, 'promote', change, { prepare })
}

export const decideDisableSecondary = (kind: Kind, facts: Facts): Decision => {
  const stage = facts.stages[kind]
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  if (!isSecondaryStage(stage)) return refuse(GUARDS.notSecondary(kind))
  const change: RecordChange[] = [{ do: 'become-disabled', kind }]
  if (kind === 'dr') {
    // The performance role was a copy of the primary's role. Two clusters must not have the same identity.
    if (facts.stages.performance !== 'disabled') change.push({ do: 'become-disabled', kind: 'performance' })
    change.push({ do: 'delete-operation-token' })
  }
  // Following stops first, because no data of the primary may be applied to a disabled cluster.
  return accept(stage, 'disable-secondary', change, { prepare: [{ do: 'stop-following', kind }] })
}

/**
 * Decides whether the first copy may be completed. Refuses while this cluster is a DR secondary with a hidden
 * performance role. This role then stays in `bootstrapping`.
 */
export const decideFinishBootstrap = (kind: Kind, facts: Facts): Decision => {
  if (isDormant(kind, facts)) return refuse(DR_REFUSAL)
  // The runtime is not restarted, because all caches were updated while the copy was written.
  const prepare = [{ do: 'plant-dev-root' }] as const
  return accept(facts.stages[kind], 'finish-bootstrap', [{ do: 'become-secondary', kind }], { prepare, end: 'commit' })
}
