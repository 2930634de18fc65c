import type { AnyLab } from '../../model/cluster.js'
import { isAttached } from '../../model/cluster.js'
import { wordsOf } from '../../daemon/describe.js'
import type { LabEvent } from '../../events/event.js'
import { type ActiveFault, describeFault, describePlace, isOfLink } from '../../daemon/active-fault.js'
import type { ClusterView, NodeRow, RoleView } from '../../status/cluster-view.js'
import { CUT, signOf } from '../../status/draw.js'
import type { FollowView } from '../../status/links.js'
import type { Survey } from '../../status/survey.js'
import { topologyOf } from '../../topology/catalogue.js'
import type {
  PageCluster,
  PageEvent,
  PageFault,
  PageLink,
  PageNode,
  PageRequests,
  PageRole,
  PageSurvey,
} from '../page-facts.js'

/** The last known primary of each secondary. An unresponsive primary is kept for as long as a secondary follows it. */
export type Primaries = ReadonlyMap<string, string | undefined>

/** Returns the key of a secondary: a cluster follows at most one primary of each kind. */
export const keyOf = ({ kind, secondary }: Pick<PageLink, 'kind' | 'secondary'>): string => `${kind} ${secondary}`

/** Additional facts. */
interface Besides extends Pick<PageSurvey, 'atMs'> {
  readonly requests: ReadonlyMap<string, PageRequests | null>
  readonly primaries: Primaries
}

/** Returns the part of a survey that the page shows. */
export const describeSurvey = (
  lab: AnyLab,
  survey: Survey,
  { atMs, requests, primaries }: Besides,
): Omit<PageSurvey, 'actions'> => ({
  lab: survey.name,
  atMs,
  topology: survey.topology,
  planned: (topologyOf(lab)?.links ?? []).map(({ kind, primary, secondary }) => ({ kind, primary, secondary })),
  clusters: survey.clusters.map((view) => describeCluster(view, requests.get(speakerOf(view)) ?? null)),
  links: survey.links.map((link) => describeLink(link, primaries.get(keyOf(link)))),
  faults: survey.faults?.map(describeActive) ?? null,
  problems: survey.problems,
  hasEvents: !isAttached(lab),
})

const describeLink = (link: FollowView, lastPrimary: string | undefined): PageLink => {
  const { kind, primary, secondary, state, connectionState, lagEntries, lagSeconds } = link
  return {
    ...{ kind, primary, secondary, state, connectionState, lagEntries, lagSeconds },
    ...(primary === null && lastPrimary !== undefined && { lastPrimary }),
  }
}

const speakerOf = ({ name, nodes }: ClusterView): string => nodes?.find(({ isActive }) => isActive)?.name ?? name

const describeCluster = (view: ClusterView, requests: PageRequests | null): PageCluster => ({
  name: view.name,
  apiAddress: view.apiAddress,
  process: view.process,
  isAnswering: view.health !== null,
  isInitialised: view.isInitialised,
  isSealed: view.isSealed,
  dr: describeRole(view.dr),
  performance: describeRole(view.performance),
  requests,
  nodes: view.nodes?.map(describeNode) ?? null,
  problems: view.problems,
})

const describeNode = (node: NodeRow): PageNode => {
  const { name, apiAddress, process, isActive, isPerformanceStandby, appliedIndex } = node
  const state = isPerformanceStandby ? 'performance-standby' : node.state
  return { name, apiAddress, process, state, isActive, appliedIndex }
}

const describeRole = ({ mode, state, lastWal }: RoleView): PageRole => ({ mode, state, lastWal })

const describeActive = (active: ActiveFault): PageFault => {
  const sign = isOfLink(active) ? signOf(active.fault) : active.fault.name
  return {
    id: active.id,
    between: isOfLink(active) ? active.between : null,
    isCut: sign === CUT,
    sign,
    text: `${describePlace(active)}, ${describeFault(active)}`,
  }
}

export const describeHappened = (event: LabEvent): PageEvent => ({
  id: event.id,
  time: event.time,
  cluster: event.cluster ?? null,
  kind: event.kind,
  text: wordsOf(event),
  command: event.command ?? null,
  step: event.kind === 'drill' ? stepOf(event) : null,
})

const stepOf = ({ details: { step, phase } }: LabEvent): PageEvent['step'] => ({
  name: String(step),
  phase: String(phase),
})
