import { type AnyLab, hasDaemon } from '../../model/cluster.js'
import { wordsOf } from '../../daemon/describe.js'
import type { LabEvent } from '../../events/event.js'
import { type ActiveFault, describeFault, describeTarget, isOfLink } from '../../daemon/active-fault.js'
import { CUT, signOf } from '../../status/draw.js'
import type { FollowView } from '../../status/links.js'
import type { ClusterView, NodeRow, LabView } from '../../status/observe.js'
import { topologyOf } from '../../topology/catalogue.js'
import type { PageCluster, PageEvent, PageFault, PageLink, PageNode, PageRequests, PageSurvey } from '../page-facts.js'

/** The last known primary of each secondary. A cluster follows at most one primary of each kind. */
export type Primaries = ReadonlyMap<string, string | undefined>

const keyOf = ({ kind, secondary }: Pick<PageLink, 'kind' | 'secondary'>): string => `${kind} ${secondary}`

/** Keeps an unresponsive primary for as long as a secondary follows it. */
export const primariesOf = (links: readonly PageLink[]): Primaries =>
  new Map(links.map((link) => [keyOf(link), link.primary ?? link.lastPrimary]))

/** Facts in addition to the survey. */
interface Besides extends Pick<PageSurvey, 'atMs'> {
  readonly requests: ReadonlyMap<string, PageRequests | null>
  readonly primaries: Primaries
}

/** Returns a copy with these fields only. Others may be secret, or of no use to the page. */
const pick = <T extends object, K extends keyof T>(value: T, ...names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>

/** Returns the part of a survey that the page shows. */
export const describeSurvey = (
  lab: AnyLab,
  survey: LabView,
  { atMs, requests, primaries }: Besides,
): Omit<PageSurvey, 'actions'> => ({
  lab: survey.name,
  atMs,
  topology: survey.topology,
  problems: survey.problems,
  hasEvents: hasDaemon(lab),
  planned: (topologyOf(lab)?.links ?? []).map((link) => pick(link, 'kind', 'primary', 'secondary')),
  clusters: survey.clusters.map((view) => describeCluster(view, requests.get(speakerOf(view)) ?? null)),
  links: survey.links.map((link) => describeLink(link, primaries.get(keyOf(link)))),
  faults: survey.faults?.map(describeActive) ?? null,
})

const describeLink = (link: FollowView, lastPrimary: string | undefined): PageLink => ({
  ...pick(link, 'kind', 'primary', 'secondary', 'state', 'connectionState', 'lagEntries', 'lagSeconds'),
  ...(link.primary === null && lastPrimary !== undefined && { lastPrimary }),
})

const speakerOf = ({ name, nodes }: ClusterView): string => nodes?.find(({ isActive }) => isActive)?.name ?? name

const describeCluster = (view: ClusterView, requests: PageRequests | null): PageCluster => ({
  ...pick(view, 'name', 'apiAddress', 'process', 'isInitialized', 'isSealed', 'problems'),
  isAnswering: view.health !== null,
  requests,
  nodes: view.nodes?.map(describeNode) ?? null,
  dr: pick(view.dr, 'mode', 'state', 'lastWal'),
  performance: pick(view.performance, 'mode', 'state', 'lastWal'),
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

export const describeHappened = (event: LabEvent): PageEvent => ({
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
