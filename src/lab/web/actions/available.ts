import type { AnyLab } from '../../model/cluster.js'
import { KINDS } from '../../model/kinds.js'
import { isDown } from '../../status/observe.js'
import type {
  PageAction,
  PageCluster,
  PageKind,
  PageNode,
  AvailableAction,
  PageSurvey,
  PageVerb,
} from '../page-facts.js'
import { ACTIONS } from './actions.js'
import { capitalized, LABS } from './lab-action.js'

type Known = Pick<PageSurvey, 'clusters' | 'links' | 'splits'>

/** Returns the actions that a lab supports and that make sense in its current state, by subject. */
export const availableActions = (lab: AnyLab, known: Known): PageSurvey['actions'] => {
  const describe = (actions: readonly PageAction[], isOfNodes = false): readonly AvailableAction[] =>
    actions.filter(({ verb }) => LABS[ACTIONS[verb].needs](lab)).map((action) => toAvailable(action, isOfNodes))
  return Object.fromEntries([
    ['lab', describe(actionsOn([], 'drill', 'save', 'load', 'reset'))],
    ...known.clusters.flatMap((cluster) => [
      [
        `cluster ${cluster.name}`,
        [...describe(roleActions(cluster, known)), ...describe(serverActions(cluster), cluster.nodes !== null)],
      ],
      ...(cluster.nodes ?? []).map((node) => [`node ${node.name}`, describe(nodeActions(node, cluster))]),
    ]),
    ...[
      ...known.links.map(({ primary, lastPrimary, secondary }) => [primary ?? lastPrimary ?? '', secondary]),
      ...known.splits.map(({ between }) => between),
    ].map((ends) => [`link ${ends.join(' ')}`, describe(actionsOn(ends, 'cut', 'latency', 'heal'))]),
  ])
}

const toAvailable = (action: PageAction, isOfNodes: boolean): AvailableAction => {
  const { verb, object, title, asks, isDestructive, canForce, canAcceptLoss, consequence } = ACTIONS[action.verb]
  const words = [verb, object?.(action), isOfNodes && 'all nodes'].filter(Boolean).join(' ')
  const ends = action.clusters.length === 2 && `between ${action.clusters.join(' and ')}`
  /** Describes an option by the part of its consequence that the consequence of the action does not contain. */
  const option = (field: 'isForced' | 'acceptsLoss', label: string) =>
    ({
      ...{ field, label },
      consequence: consequence({ ...action, [field]: true })
        .replace(consequence(action), '')
        .trim(),
    }) as const
  return {
    action,
    verb,
    label: asks || isDestructive ? `${words} …` : words,
    // The full title contains the input, which the user has not entered yet.
    title: asks ? [words, ends].filter(Boolean).join(' ') : capitalized(title(action)),
    ...(asks && { asks }),
    options: [
      ...(canAcceptLoss ? [option('acceptsLoss', 'Accept any loss')] : []),
      ...(canForce ? [option('isForced', 'Force')] : []),
    ],
  }
}

const actionsOn = (clusters: readonly string[], ...verbs: readonly PageVerb[]): readonly PageAction[] =>
  verbs.map((verb) => ({ verb, clusters }))

/** The fields of a cluster or a node that determine its actions. */
interface Server extends Pick<PageCluster, 'name' | 'process' | 'isAnswering' | 'isSealed'> {
  readonly nodes?: PageCluster['nodes']
}

const nodeActions = ({ name, process, state, isActive }: PageNode, cluster: PageCluster): readonly PageAction[] => {
  const isSealed = state === 'sealed' || state === 'initializing'
  const isAnswering = state !== 'silent' && state !== 'stopped'
  return [
    ...(isActive ? actionsOn([cluster.name], 'step-down') : []),
    ...serverActions({ name, process, isAnswering, isSealed }),
  ]
}

const serverActions = ({ name, process, isAnswering, isSealed, nodes }: Server): readonly PageAction[] => {
  const on = (...verbs: readonly PageVerb[]) => actionsOn([name], ...verbs)
  // The nodes can be in different states, so the cluster has the actions for every state.
  if (nodes && !isDown(process)) return on('start', 'unseal', 'crash', 'stop', 'seal')
  if (isDown(process)) return on('start')
  if (process === 'paused') return on('resume', 'crash')
  return on('crash', 'stop', 'pause', isAnswering ? (isSealed ? 'unseal' : 'seal') : 'start')
}

const roleActions = (cluster: PageCluster, known: Known): readonly PageAction[] => {
  const { name, isAnswering, isSealed } = cluster
  if (!isAnswering || isSealed) return []
  const drLink = known.links.find(({ kind, secondary }) => kind === 'dr' && secondary === name)
  const primary = drLink?.primary ?? drLink?.lastPrimary
  const takeOver: readonly PageVerb[] = drLink?.primary === null ? ['failover'] : ['failover', 'switchover']
  return [
    ...(primary === undefined ? [] : actionsOn([primary, name], ...takeOver)),
    ...newPrimaries(cluster, known).flatMap((other) => actionsOn([name, other], 'rejoin')),
    ...KINDS.flatMap((kind) => changeOf(cluster, kind)),
  ]
}

/** Returns the DR primaries that a former DR primary can follow: it has no secondaries, or follows no primary. */
const newPrimaries = ({ name, dr }: PageCluster, { clusters, links }: Known): readonly string[] => {
  const isFollowed = links.some(({ kind, primary }) => kind === 'dr' && primary === name)
  const isLeft = dr.mode === 'primary' ? !isFollowed : dr.mode === 'secondary' && dr.state === 'idle'
  const isOfSet = (one: PageCluster) => one.dr.mode === 'primary' && one.dr.clusterId === dr.clusterId
  return isLeft ? clusters.filter((one) => one.name !== name && isOfSet(one)).map((one) => one.name) : []
}

const changeOf = (cluster: PageCluster, kind: PageKind): readonly PageAction[] => {
  const { mode } = cluster[kind]
  const verb = mode === 'secondary' ? 'promote' : mode === 'primary' ? 'demote' : undefined
  return verb ? [{ verb, clusters: [cluster.name], kind }] : []
}
