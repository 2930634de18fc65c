import { type ActiveFault, isOfLink } from '../keeper/active-fault.js'
import { KINDS, type Kind } from '../model/kinds.js'
import type { ClusterView } from './cluster-view.js'

/** A cluster that follows another one, or would. */
export interface FollowView {
  readonly kind: Kind
  /** Null where no cluster of the lab is its primary now. */
  readonly primary: string | null
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  /** Changes that it has not yet taken over; null where that cannot be told, since its primary does not answer. */
  readonly lagEntries: number | null
  /** How far back in time it is; 0 when it has everything; null where it lacks something and has heard from nobody. */
  readonly lagSeconds: number | null
  /** RFC 3339; empty when it never heard from its primary. */
  readonly lastHeartbeat: string
  /** Ids of the faults between the two. */
  readonly faults: readonly number[]
}

/** The part of a view that tells of replication. */
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
 * Whom a secondary follows. In a split brain its replication set has several primaries: the one counts at whose address it
 * is, and where that tells nothing, as behind a load balancer, the one that is connected with it. One that is at the address of
 * no primary and known to none follows nobody: its own was demoted, and what took its place has not let it in.
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

/** What takes its first copy has not told its id. */
const mayKnow = ({ knownSecondaries }: RoleHolder[Kind], secondaryId: string): boolean =>
  secondaryId === '' || knownSecondaries.includes(secondaryId)

const secondsBehind = ({ ageMs, connectionState, lastHeartbeat }: RoleHolder[Kind], nowMs: number): number | null => {
  if (connectionState === 'ready') return ageMs / 1000
  if (lastHeartbeat !== '') return Math.max(ageMs, nowMs - Date.parse(lastHeartbeat)) / 1000
  return ageMs > 0 ? ageMs / 1000 : null
}
