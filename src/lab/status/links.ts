import type { Clock } from '../../base/clock.js'
import { type ActiveFault, isOfLink } from '../daemon/active-fault.js'
import { KIND_WORDS, KINDS, type Kind } from '../model/kinds.js'
import type { PathFilter } from '../requests/filters.js'
import { idOf } from '../requests/replication.js'
import {
  hasAll,
  isFollower,
  isStreaming,
  lagOf,
  NO_STATUS,
  type ReplicationStatus,
  type ReplicationStatuses,
} from '../requests/replication-status.js'

/** A secondary and its primary, if it has one. */
export interface FollowView {
  readonly kind: Kind
  /** Null if its primary is not a cluster of the lab. */
  readonly primary: string | null
  readonly secondary: string
  readonly state: string
  readonly connectionState: string
  /** Number of changes not replicated yet. Null if the primary does not respond, or without a position in its log. */
  readonly lagEntries: number | null
  /** Age of its data in seconds: 0 if it has everything, null if it lacks data and has heard from no primary. */
  readonly lagSeconds: number | null
  /** RFC 3339. Empty without contact to a primary. */
  readonly lastHeartbeat: string
  /** IDs of the faults between the two. */
  readonly faults: readonly number[]
  /** The path filter of a performance secondary. Absent if there is none, or if no token of the lab can read it. */
  readonly filter?: PathFilter | undefined
}

/** The replication part of a cluster view. */
export type RoleHolder = ReplicationStatuses & { readonly name: string }

export const findLinks = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView[] => describeEach(clusters, faults, nowMs, isFollower)

/**
 * Returns the links of clusters that report no roles, for example because they are sealed: below the primary that expects
 * them by their ID.
 */
export const findExpectedLinks = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
): FollowView[] =>
  describeEach(clusters, faults, nowMs, ({ mode }) => mode === NO_STATUS.mode).filter(({ primary }) => primary !== null)

/** Describes the links of the secondaries whose status is `wanted`. */
const describeEach = (
  clusters: readonly RoleHolder[],
  faults: readonly ActiveFault[],
  nowMs: number,
  wanted: (status: ReplicationStatus) => boolean,
): FollowView[] =>
  KINDS.flatMap((kind) =>
    clusters
      .filter((view) => wanted(view[kind]))
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
  const { state, connectionState, lastHeartbeat, mode } = secondary[kind]
  const primary = findPrimary(secondary, clusters, kind)
  const lagEntries = primary ? lagOf(primary[kind], secondary[kind]) : null
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
 * Finds the primary of a secondary. If its set has several primaries (split brain), prefers the primary at its primary
 * address. If several primaries have this address (load balancer), prefers the primary to which it is connected. Returns
 * undefined if no primary has this address or knows the secondary, for example before the successor of a demoted primary
 * admits it.
 */
const findPrimary = <T extends RoleHolder>(
  secondary: RoleHolder,
  clusters: readonly T[],
  kind: Kind,
): T | undefined => {
  const { mode, clusterId, primaryAddress, secondaryId } = secondary[kind]
  const isExpecting = (other: ReplicationStatus) =>
    other.mode === 'primary' && other.knownSecondaries.includes(idOf(kind, secondary.name))
  if (mode === '-') return clusters.find((one) => isExpecting(one[kind]))
  const primaries = clusters.filter((one) => one[kind].mode === 'primary' && one[kind].clusterId === clusterId)
  const addressed = primaries.filter((one) => primaryAddress !== '' && one[kind].primaryAddress === primaryAddress)
  const likely = addressed.length > 0 ? addressed : primaries.filter((one) => mayKnow(one[kind], secondaryId))
  if (likely.length === 1) return likely[0]
  return likely.find((one) => one[kind].connectedSecondaries.includes(secondaryId))
}

/** Whether a primary may know a secondary. During its first copy, a secondary has not reported its ID. */
const mayKnow = ({ knownSecondaries }: ReplicationStatus, secondaryId: string): boolean =>
  secondaryId === '' || knownSecondaries.includes(secondaryId)

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

/** Returns the problems of clusters, and between them. */
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

/** Reads the current replication status of a cluster. */
type Ask = (cluster: string, kind: Kind) => Promise<ReplicationStatus>

/** Pause between two checks: a response may be from the middle of a change. */
const PAUSE_MS = 50
/** Number of shown digits of a Merkle root. */
export const ROOT_SHOWN = 12

/**
 * Describes secondaries that have every change of their primary but another Merkle root. Their data differs, and waiting does
 * not help. Roots of one survey may be from different times, so different roots are read again. Reports only differences that
 * remain while the primary does not change.
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
 * Returns the first reason why a lab is not converged. Undefined if each secondary has all data of its primary. A lab is also
 * not converged if a secondary has no primary in the lab, or if a cluster has a problem.
 */
export const findUnconverged = (
  clusters: readonly ObservedRoles[],
  links: readonly FollowView[],
): string | undefined => {
  const behind = links.flatMap(({ kind, primary, secondary }) => {
    const word = KIND_WORDS[kind]
    if (primary === null) return [`${secondary} follows a ${word} primary that is not in this lab`]
    const isSame = rootOf(clusters, primary, kind) === rootOf(clusters, secondary, kind)
    return isSame ? [] : [`${secondary} lacks data of its ${word} primary ${primary}`]
  })
  const isAlone = (cluster: RoleHolder) => KINDS.every((kind) => ['disabled', '-'].includes(cluster[kind].mode))
  const alone = clusters.length > 1 ? clusters.filter(isAlone) : []
  return [...ownProblems(clusters), ...behind, ...alone.map(({ name }) => `${name} is not replicated`)][0]
}
