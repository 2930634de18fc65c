import { type ActiveFault, isOfLink } from '../daemon/active-fault.js'
import { KINDS, type Kind } from '../model/kinds.js'
import type { ClusterView } from './cluster-view.js'

/** A secondary and its primary, if it has one. */
export interface FollowView {
  readonly kind: Kind
  /** Null if its primary is not a cluster of the lab. */
  readonly primary: string | null
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  /** Number of changes not replicated yet. Null if the primary does not respond. */
  readonly lagEntries: number | null
  /** Age of its data in seconds: 0 if it has everything, null if it lacks data and has heard from no primary. */
  readonly lagSeconds: number | null
  /** RFC 3339. Empty without contact to a primary. */
  readonly lastHeartbeat: string
  /** IDs of the faults between the two. */
  readonly faults: readonly number[]
}

/** The replication part of a cluster view. */
export type RoleHolder = Pick<ClusterView, 'name' | Kind>

export const findLinks = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView[] =>
  KINDS.flatMap((kind) =>
    clusters
      .filter((view) => view[kind].mode === 'secondary' || view[kind].mode === 'bootstrapping')
      .map((secondary) => describe(kind, secondary, clusters, faults, nowMs)),
  )

const describe = (
  kind: Kind,
  secondary: RoleHolder,
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView => {
  const { name } = secondary
  const { state, connectionState, lastWal, lastHeartbeat, mode } = secondary[kind]
  const primary = findPrimary(secondary, clusters, kind)
  const lagEntries = primary && mode === 'secondary' ? Math.max(0, primary[kind].lastKindWal - lastWal) : null
  const between = (one: ActiveFault) =>
    isOfLink(one) && primary !== undefined && one.between.includes(name) && one.between.includes(primary.name)
  return {
    kind,
    primary: primary?.name ?? null,
    secondary: name,
    state: mode === 'bootstrapping' ? mode : state,
    connectionState,
    lagEntries,
    lagSeconds: lagEntries === null ? null : lagEntries === 0 ? 0 : secondsBehind(secondary[kind], nowMs),
    lastHeartbeat,
    faults: faults.filter(between).map(({ id }) => id),
  }
}

/**
 * Finds the primary of a secondary. In a split brain, its set has several primaries: chooses the one at its primary address. If
 * that is ambiguous (load balancer), chooses the one to which it is connected. Undefined if it has no primary's address and no
 * primary knows it: its primary was demoted, and the successor has not admitted it.
 */
export const findPrimary = <T extends RoleHolder>(
  secondary: RoleHolder,
  clusters: readonly T[],
  kind: Kind,
): T | undefined => {
  const { clusterId, primaryAddress, secondaryId } = secondary[kind]
  const primaries = clusters.filter((one) => one[kind].mode === 'primary' && one[kind].clusterId === clusterId)
  const addressed = primaries.filter((one) => primaryAddress !== '' && one[kind].primaryAddress === primaryAddress)
  const likely = addressed.length > 0 ? addressed : primaries.filter((one) => mayKnow(one[kind], secondaryId))
  if (likely.length === 1) return likely[0]
  return likely.find((one) => one[kind].connectedSecondaries.includes(secondaryId))
}

/** Whether a primary may know a secondary. During its first copy, a secondary has not reported its ID. */
const mayKnow = ({ knownSecondaries }: RoleHolder[Kind], secondaryId: string): boolean =>
  secondaryId === '' || knownSecondaries.includes(secondaryId)

const secondsBehind = ({ ageMs, connectionState, lastHeartbeat }: RoleHolder[Kind], nowMs: number): number | null => {
  if (connectionState === 'ready') return ageMs / 1000
  if (lastHeartbeat !== '') return Math.max(ageMs, nowMs - Date.parse(lastHeartbeat)) / 1000
  return ageMs > 0 ? ageMs / 1000 : null
}
