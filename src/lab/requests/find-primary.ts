import type { Kind } from '../model/kinds.js'
import { idOf } from './replication.js'
import { followsNone, type ReplicationStatus, type ReplicationStatuses } from './replication-status.js'

/** The replication part of a cluster view. */
export type RoleHolder = ReplicationStatuses & { readonly name: string }

/**
 * Finds the primary of a secondary. In a split brain, several primaries are possible: chooses the primary with the
 * address that the secondary uses. If several primaries share that address (load balancer), chooses the primary that
 * lists the secondary as connected. Returns undefined if none fits, for example until the secondary of a demoted
 * primary joins the new primary.
 */
export const findPrimary = <T extends RoleHolder>(
  secondary: RoleHolder,
  clusters: readonly T[],
  kind: Kind,
): T | undefined => {
  const { mode, clusterId, primaryAddress, secondaryId } = secondary[kind]
  const hasRegistered = (other: ReplicationStatus) =>
    other.mode === 'primary' && other.knownSecondaries.includes(idOf(kind, secondary.name))
  if (mode === '-') return clusters.find((one) => hasRegistered(one[kind]))
  if (followsNone(secondary[kind])) return undefined
  const primaries = clusters.filter((one) => one[kind].mode === 'primary' && one[kind].clusterId === clusterId)
  const addressed = primaries.filter((one) => primaryAddress !== '' && one[kind].primaryAddress === primaryAddress)
  const likely = addressed.length > 0 ? addressed : primaries.filter((one) => mayKnow(one[kind], secondaryId))
  if (likely.length === 1) return likely[0]
  return likely.find((one) => one[kind].connectedSecondaries.includes(secondaryId))
}

/** Whether a primary may have registered a secondary. During its first copy, a secondary reports no ID. */
const mayKnow = ({ knownSecondaries }: ReplicationStatus, secondaryId: string): boolean =>
  secondaryId === '' || knownSecondaries.includes(secondaryId)
