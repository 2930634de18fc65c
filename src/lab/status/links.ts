import type { Clock } from '../../base/clock.js'
import { type ActiveFault, isOfLink } from '../daemon/active-fault.js'
import { KIND_WORDS, KINDS, type Kind } from '../model/kinds.js'
import type { PathFilter } from '../requests/filters.js'
import { findPrimary, type RoleHolder } from '../requests/find-primary.js'
import { findLagBetween } from '../requests/replication.js'
import {
  hasAll,
  isFollower,
  isStreaming,
  lagOf,
  NO_STATUS,
  type ReplicationStatus,
} from '../requests/replication-status.js'

/** A secondary and its primary, if it has one. */
export interface FollowView {
  readonly kind: Kind
  /** Null if its primary is not a cluster of the lab. */
  readonly primary: string | null
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  /** Number of log entries that the secondary lacks. Null if its position or the state of its primary is unknown. */
  readonly lagEntries: number | null
  /** Age of the data of the secondary, in seconds. 0 if the secondary lacks no entry. Null if unknown. */
  readonly lagSeconds: number | null
  /** RFC 3339. Empty without contact to a primary. */
  readonly lastHeartbeat: string
  /** IDs of the faults of the link between the two clusters. */
  readonly faults: readonly number[]
  /** The path filter of a performance secondary. Absent if there is none, or if no token of the lab can read it. */
  readonly filter?: PathFilter | undefined
}

/** Returns the links of the clusters that report the role of a secondary. */
export const findLinks = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView[] => describeEach(clusters, faults, nowMs, isFollower)

/**
 * Returns the links of clusters that report no roles, for example because they are sealed. Their primary is the cluster
 * that has registered their ID.
 */
export const findExpectedLinks = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView[] =>
  describeEach(clusters, faults, nowMs, ({ mode }) => mode === NO_STATUS.mode).filter(({ primary }) => primary !== null)

/** Returns the link of each cluster with a status that `isWanted` accepts. */
const describeEach = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
  isWanted: (status: ReplicationStatus) => boolean,
): FollowView[] => {
  const describe = (kind: Kind, secondary: RoleHolder): FollowView => {
    const { name } = secondary
    const { state, connectionState, lastHeartbeat, mode } = secondary[kind]
    const primary = findPrimary(secondary, clusters, kind)
    const lagEntries = primary ? lagOf(primary[kind], secondary[kind]) : null
    const isBetween = (one: ActiveFault) =>
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
      faults: faults.filter(isBetween).map(({ id }) => id),
    }
  }
  return KINDS.flatMap((kind) =>
    clusters.filter((view) => isWanted(view[kind])).map((secondary) => describe(kind, secondary)),
  )
}

const secondsBehind = ({ ageMs, connectionState, lastHeartbeat }: ReplicationStatus, nowMs: number): number | null => {
  if (connectionState === 'ready') return ageMs / 1000
  if (lastHeartbeat !== '') return Math.max(ageMs, nowMs - Date.parse(lastHeartbeat)) / 1000
  return ageMs > 0 ? ageMs / 1000 : null
}

/** A cluster with the descriptions of its own problems. */
interface ObservedRoles extends RoleHolder {
  readonly problems: readonly string[]
}

const ownProblems = (clusters: readonly ObservedRoles[]): string[] =>
  clusters.flatMap(({ name, problems }) => problems.map((text) => `${name} ${text}`))

/** Returns split brains, the problems that clusters report themselves, and secondaries whose data differs. */
export const findProblemsOf = async (
  clusters: readonly ObservedRoles[],
  links: readonly FollowView[],
  ask: Ask,
  clock: Clock,
): Promise<string[]> => [
  ...findSplitBrains(clusters).map(
    ({ kind, primaries }) =>
      `split brain: ${primaries.join(' and ')} are both ${KIND_WORDS[kind]} primaries of one replication set`,
  ),
  ...ownProblems(clusters),
  ...(await findDifferentRoots(links, clusters, ask, clock)),
]

/** A replication set that has several primaries. */
interface SplitBrain {
  readonly kind: Kind
  readonly primaries: readonly string[]
}

export const findSplitBrains = (clusters: readonly RoleHolder[]): SplitBrain[] =>
  KINDS.flatMap((kind) => {
    const all = clusters.filter((view) => view[kind].mode === 'primary' && view[kind].clusterId !== '')
    return [...new Set(all.map((view) => view[kind].clusterId))]
      .map((id) => ({ kind, primaries: all.filter((view) => view[kind].clusterId === id).map(({ name }) => name) }))
      .filter(({ primaries }) => primaries.length > 1)
  })
/** Reads the current status of a cluster. */
export type Ask = (cluster: string, kind: Kind) => Promise<ReplicationStatus>

/** Pause before the second comparison. The first may have read the roots in the middle of a change. */
const PAUSE_MS = 50
/** Number of digits of a Merkle root in tables and messages. */
export const ROOT_SHOWN = 12

/**
 * Describes secondaries that have applied every entry of their primary, but have a different Merkle root. Their data
 * differs, so waiting does not help. The roots of one survey may be from different times. If they differ, this
 * function reads them again. It reports a difference only if it remains while the root of the primary does not change.
 */
export const findDifferentRoots = async (
  links: readonly FollowView[],
  views: readonly RoleHolder[],
  ask: Ask,
  clock: Clock,
): Promise<string[]> => {
  const suspects = links.filter(
    ({ kind, primary, secondary, lagEntries }) =>
      lagEntries === 0 && !['', rootOf(views, secondary, kind)].includes(rootOf(views, primary, kind)),
  )
  const differences = await Promise.all(suspects.map((link) => compare(link, ask, clock).catch(() => undefined)))
  return differences.flatMap((text) => text ?? [])
}

/** Returns the Merkle root of a cluster. Empty if it is unknown. */
export const rootOf = (views: readonly RoleHolder[], name: string | null, kind: Kind): string =>
  views.find((view) => view.name === name)?.[kind].merkleRoot ?? ''

const compare = async (link: FollowView, ask: Ask, clock: Clock): Promise<string | undefined> => {
  if ((await compareOnce(link, ask)) === undefined) return undefined
  await clock.sleep(PAUSE_MS)
  return compareOnce(link, ask)
}

const compareOnce = async ({ kind, primary, secondary }: FollowView, ask: Ask): Promise<string | undefined> => {
  if (primary === null) return undefined
  const before = await ask(primary, kind)
  const theirs = await ask(secondary, kind)
  const ours = await ask(primary, kind)
  const isStill = before.merkleRoot === ours.merkleRoot
  if (!isStill || !isStreaming(theirs) || !hasAll(theirs, ours) || theirs.merkleRoot === ours.merkleRoot)
    return undefined
  const [own, other] = [theirs, ours].map(({ merkleRoot }) => merkleRoot.slice(0, ROOT_SHOWN))
  return `the data of ${secondary} differs from its ${KIND_WORDS[kind]} primary ${primary}, although ${secondary} has applied every change: the Merkle roots are ${own} and ${other}`
}

/**
 * Returns the first secondary that lacks data of its primary, with the reason. Undefined if there is none. Reads each
 * status again, because roots of one survey may be from different times. Rejects if a cluster does not respond.
 */
export const findBehind = async (links: readonly FollowView[], ask: Ask): Promise<string | undefined> => {
  for (const { kind, primary, secondary } of links) {
    if (primary === null) return `${secondary} follows a ${KIND_WORDS[kind]} primary that is not in this lab`
    const lag = await findLagBetween(
      () => ask(primary, kind),
      () => ask(secondary, kind),
    )
    if (lag !== undefined) return `${secondary} (${kind}): ${lag}`
  }
  return undefined
}

/**
 * Returns the first reason why a lab is not converged. Undefined if each secondary has all data of its primary. A lab
 * is also not converged if a secondary has no primary in the lab, or if a cluster has a problem.
 */
export const findUnconverged = async (
  clusters: readonly ObservedRoles[],
  links: readonly FollowView[],
  ask: Ask,
): Promise<string | undefined> => {
  const isAlone = (cluster: RoleHolder) => KINDS.every((kind) => ['disabled', '-'].includes(cluster[kind].mode))
  const alone = clusters.length > 1 ? clusters.filter(isAlone) : []
  const [problem] = [...ownProblems(clusters), ...alone.map(({ name }) => `${name} is not replicated`)]
  return problem ?? findBehind(links, ask)
}
