import { type AnyLab, hasDaemon } from '../../model/cluster.js'
import { wordsOf } from '../../daemon/describe.js'
import type { LabEvent } from '../../events/event.js'
import { type ActiveFault, describeFault, describeTarget, isOfLink } from '../../daemon/active-fault.js'
import { KINDS } from '../../model/kinds.js'
import { followsNone, NO_STATUS } from '../../requests/replication-status.js'
import { CUT, signOf } from '../../status/draw.js'
import { findExpectedLinks, findSplitBrains, type FollowView } from '../../status/links.js'
import type { ClusterView, NodeRow, LabView } from '../../status/observe.js'
import { countLost, describeRestored, type FoundLosses, pathsOf, restoredBy } from '../../requests/losses.js'
import { commandIn } from '../../model/lab-directory.js'
import { topologyOf } from '../../topology/catalogue.js'
import type {
  PageCluster,
  PageEvent,
  PageFault,
  PageLink,
  PageLosses,
  PageNode,
  PageSurvey,
  PlannedLink,
} from '../page-facts.js'

/** The facts that only the server reports. `requests`: null if the server does not count requests. */
export type ServerFacts = Required<Pick<PageCluster, 'requests' | 'isFenced'>>

/** The facts on the page that are not part of the survey. */
interface MoreFacts extends Pick<PageSurvey, 'atMs'> {
  readonly servers: ReadonlyMap<string, ServerFacts | null>
  /** The previous links: the last known primary of a secondary that reports none. If empty, the topology is used. */
  readonly before: readonly PageLink[]
  readonly losses: PageSurvey['losses']
}

/** Returns a copy with these fields only. Other fields may be secret. */
const pick = <T extends object, K extends keyof T>(value: T, ...names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>
export const describeSurvey = (
  lab: AnyLab,
  survey: LabView,
  { atMs, servers, before, losses }: MoreFacts,
): Omit<PageSurvey, 'actions'> => {
  const planned = (topologyOf(lab)?.links ?? []).map((link) => pick(link, 'kind', 'primary', 'secondary'))
  const known =
    before.length > 0 ? before.flatMap(withPrimary) : planned.filter(({ primary }) => hasUnknownRoles(survey, primary))
  return {
    lab: survey.name,
    atMs,
    topology: survey.topology,
    problems: survey.problems,
    losses,
    hasEvents: hasDaemon(lab),
    planned,
    clusters: survey.clusters.map((view) => describeCluster(view, servers.get(reportingServerOf(view)) ?? NO_FACTS)),
    links: describeLinks(survey, known, atMs),
    splits: findSplitBrains(survey.clusters).flatMap(({ kind, primaries: [first = '', ...others] }) =>
      others.map((other) => ({ kind, between: [first, other] as const })),
    ),
    faults: survey.faults?.map(describeActive) ?? null,
  }
}

const withPrimary = ({ kind, primary, lastPrimary, secondary }: PageLink): PlannedLink[] => {
  const known = primary ?? lastPrimary
  return known === undefined ? [] : [{ kind, primary: known, secondary }]
}

/** Whether a cluster reports no roles: it does not respond, or is sealed. */
const hasUnknownRoles = ({ clusters }: LabView, name: string): boolean =>
  clusters.some((view) => view.name === name && KINDS.every((kind) => view[kind].mode === NO_STATUS.mode))

/** Compares secondary and kind, which identify a link: a cluster follows at most one primary of each kind. */
const isSameLink =
  ({ kind, secondary }: PlannedLink | PageLink | FollowView) =>
  (other: PlannedLink | PageLink) =>
    other.kind === kind && other.secondary === secondary

/** Describes the links that clusters report, and the `known` links of secondaries that report no roles. */
const describeLinks = (survey: LabView, known: readonly PlannedLink[], atMs: number): readonly PageLink[] => {
  const { clusters, links, faults } = survey
  const reported = [...links, ...findExpectedLinks(clusters, faults ?? [], atMs)].map((link) =>
    describeLink(link, isDetachedLink(clusters, link) ? [] : known),
  )
  const lost = known
    .filter((link) => hasUnknownRoles(survey, link.secondary) && !reported.some(isSameLink(link)))
    .map(({ kind, primary, secondary }) => ({
      ...{ kind, primary: null, lastPrimary: primary, secondary },
      ...{ state: '', connectionState: '', lagEntries: null, lagSeconds: null },
    }))
  return [...reported, ...lost]
}

/** Whether the secondary of a link has no primary any more, so that its last one does not matter. */
const isDetachedLink = (clusters: LabView['clusters'], { kind, secondary }: FollowView): boolean =>
  clusters.some((view) => view.name === secondary && followsNone(view[kind]))

const describeLink = (link: FollowView, known: readonly PlannedLink[]): PageLink => {
  const lastPrimary = known.find(isSameLink(link))?.primary
  return {
    ...pick(link, 'kind', 'primary', 'secondary', 'state', 'connectionState', 'lagEntries', 'lagSeconds'),
    ...(link.primary === null && lastPrimary !== undefined && { lastPrimary }),
  }
}

/** Maximum number of paths of lost entries on the page, per cluster. */
const PATHS_SHOWN = 5

export const describeLosses = (lab: string, found: readonly FoundLosses[]): readonly PageLosses[] =>
  found.flatMap(({ cluster, losses }) => {
    if (losses.length === 0) return []
    const paths = pathsOf(losses)
    return {
      cluster,
      entries: countLost(losses),
      paths: paths.slice(0, PATHS_SHOWN),
      pathsBeyond: Math.max(0, paths.length - PATHS_SHOWN),
      restored: describeRestored(restoredBy(losses)),
      command: commandIn(lab, `losses ${cluster}`),
    }
  })

const reportingServerOf = ({ name, nodes }: ClusterView): string =>
  nodes?.find(({ isActive }) => isActive)?.name ?? name

const NO_FACTS: ServerFacts = { requests: null, isFenced: false }

const describeCluster = (view: ClusterView, facts: ServerFacts): PageCluster => ({
  ...facts,
  ...pick(view, 'name', 'apiAddress', 'process', 'isInitialized', 'isSealed', 'problems'),
  isAnswering: view.health !== null,
  nodes: view.nodes?.map(describeNode) ?? null,
  dr: pick(view.dr, 'mode', 'state', 'lastWal', 'clusterId'),
  performance: pick(view.performance, 'mode', 'state', 'lastWal', 'clusterId'),
})

const describeNode = (node: NodeRow): PageNode => ({
  ...pick(node, 'name', 'apiAddress', 'process', 'isActive', 'appliedIndex'),
  state: node.isPerformanceStandby ? 'performance-standby' : node.state,
})

const describeActive = (active: ActiveFault): PageFault => {
  const sign = isOfLink(active) ? signOf(active.fault) : active.fault.name
  return {
    id: active.id,
    between: isOfLink(active) ? active.between : null,
    isCut: sign === CUT,
    sign,
    text: `${describeTarget(active)}, ${describeFault(active)}`,
  }
}

export const describeEvent = (event: LabEvent): PageEvent => ({
  id: event.id,
  time: event.time,
  kind: event.kind,
  text: wordsOf(event),
  cluster: event.cluster ?? null,
  command: event.command ?? null,
  step: event.kind === 'drill' ? stepOf(event) : null,
})

const stepOf = ({ details: { step, phase } }: LabEvent): PageEvent['step'] => ({
  name: String(step),
  phase: String(phase),
})
