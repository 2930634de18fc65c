import type { PageAction, PageCluster, PageKind, PageLink, PageNode, PageSurvey } from '../../lab/web/page-facts.js'
import { followerKey } from '../parts/follower-key.js'
import { KIND_WORDS } from '../parts/words.js'

/** The selected object of an action. */
export type Subject =
  | { readonly of: 'cluster'; readonly name: string }
  | { readonly of: 'node'; readonly name: string }
  | { readonly of: 'link'; readonly between: readonly [string, string] }
  | { readonly of: 'lab' }

/** Opens the actions of a subject; undefined if there are none. */
export type OnAsk = ((subject: Subject) => void) | undefined

/** An available action. */
export interface Offer {
  readonly label: string
  readonly action: PageAction
  /** The input that the action needs. */
  readonly asks?: 'ms' | 'drill' | 'new-snapshot' | 'snapshot'
  readonly canForce?: true
}

type Known = Pick<PageSurvey, 'clusters' | 'links' | 'verbs'>
type Primaries = Readonly<Record<string, string>>

export const titleOf = (subject: Subject): string => {
  if (subject.of === 'cluster') return `Cluster ${subject.name}`
  if (subject.of === 'node') return `Node ${subject.name}`
  return subject.of === 'link' ? `Link between ${subject.between.join(' and ')}` : 'The lab'
}

/**
 * Returns the actions that the lab supports and that make sense in its current state. `primaries`: the last known
 * primary of each secondary.
 */
export const offersOf = (subject: Subject, known: Known, primaries: Primaries): readonly Offer[] =>
  all(subject, known, primaries).filter(({ action }) => known.verbs.includes(action.verb))

const all = (subject: Subject, known: Known, primaries: Primaries): readonly Offer[] => {
  if (subject.of === 'lab') return LAB
  if (subject.of === 'link') return linkOffers(subject.between)
  if (subject.of === 'node') {
    const cluster = known.clusters.find(({ nodes }) => nodes?.some(({ name }) => name === subject.name))
    const node = cluster?.nodes?.find(({ name }) => name === subject.name)
    return cluster && node ? nodeOffers(node, cluster) : []
  }
  const cluster = known.clusters.find(({ name }) => name === subject.name)
  return cluster ? [...roleOffers(cluster, known, primaries), ...serverOffers(cluster)] : []
}

const LAB: readonly Offer[] = [
  { label: 'Run a drill …', asks: 'drill', action: { verb: 'drill', clusters: [] } },
  { label: 'Keep a snapshot …', asks: 'new-snapshot', action: { verb: 'save', clusters: [] } },
  { label: 'Bring back a snapshot …', asks: 'snapshot', action: { verb: 'load', clusters: [] } },
  { label: 'Reset …', action: { verb: 'reset', clusters: [] } },
]

const linkOffers = (clusters: readonly string[]): readonly Offer[] => [
  { label: 'Cut', action: { verb: 'cut', clusters } },
  { label: 'Delay …', asks: 'ms', action: { verb: 'latency', clusters } },
  { label: 'Heal', action: { verb: 'heal', clusters } },
]

/** The common fields of a cluster and of a single server for their actions. */
interface Server extends Pick<PageCluster, 'name' | 'process' | 'isAnswering' | 'isSealed'> {
  readonly nodes?: PageCluster['nodes']
}

const nodeOffers = ({ name, process, state, isActive }: PageNode, cluster: PageCluster): readonly Offer[] => {
  const handsOver: Offer = { label: 'Hand over …', action: { verb: 'step-down', clusters: [cluster.name] } }
  const isSealed = state === 'sealed' || state === 'initializing'
  return [
    ...(isActive ? [handsOver] : []),
    ...serverOffers({ name, process, isAnswering: state !== 'silent' && state !== 'stopped', isSealed }),
  ]
}

const serverOffers = ({ name, process, isAnswering, isSealed, nodes }: Server): readonly Offer[] => {
  const make = (label: string, verb: PageAction['verb']): Offer => ({
    label: nodes ? label.replace(/( …)?$/, ' all its nodes$1') : label,
    action: { verb, clusters: [name] },
  })
  // Some nodes may run while others are stopped, so each node has its own actions.
  if (nodes && process !== 'stopped')
    return [make('Start', 'start'), make('Unseal', 'unseal'), ...ENDS.map(([label, verb]) => make(label, verb))]
  if (process === 'stopped') return [make('Start', 'start')]
  if (process === 'paused') return [make('Let it go on', 'resume'), make('Crash …', 'crash')]
  const seal = isSealed ? make('Unseal', 'unseal') : make('Seal …', 'seal')
  const ends = [make('Crash …', 'crash'), make('Stop …', 'stop'), make('Freeze …', 'pause')]
  return isAnswering ? [...ends, seal] : [...ends, make('Start', 'start')]
}

const ENDS = [
  ['Crash …', 'crash'],
  ['Stop …', 'stop'],
  ['Seal …', 'seal'],
] as const

const KINDS: readonly PageKind[] = ['dr', 'performance']

const roleOffers = (cluster: PageCluster, known: Known, primaries: Primaries): readonly Offer[] => {
  if (!cluster.isAnswering || cluster.isSealed) return []
  const led = known.links.find(({ kind, secondary }) => kind === 'dr' && secondary === cluster.name)
  const primary = led && (led.primary ?? primaries[followerKey(led)])
  return [
    ...(primary === undefined ? [] : takeOvers(cluster.name, primary, led?.primary !== null)),
    ...newPrimaries(cluster, known).map(
      (name): Offer => ({
        label: `Follow ${name} …`,
        action: { verb: 'rejoin', clusters: [cluster.name, name] },
      }),
    ),
    ...KINDS.flatMap((kind) => changeOf(cluster, kind)),
  ]
}

const takeOvers = (name: string, primary: string, isThere: boolean): readonly Offer[] => [
  { label: `Fail over from ${primary} …`, canForce: true, action: { verb: 'failover', clusters: [primary, name] } },
  ...(isThere
    ? [{ label: `Change places with ${primary} …`, action: { verb: 'switchover', clusters: [primary, name] } } as const]
    : []),
]

/** Returns the clusters that a former DR primary without a primary can follow: those that are primary now. */
const newPrimaries = ({ name, dr }: PageCluster, { clusters, links }: Known): readonly string[] => {
  const ofDr = links.filter(({ kind }) => kind === 'dr')
  const isLeft = dr.mode === 'primary' ? isNobodys(ofDr, name) : dr.mode === 'secondary' && dr.state === 'idle'
  return isLeft ? clusters.filter((one) => one.name !== name && one.dr.mode === 'primary').map((one) => one.name) : []
}

const isNobodys = (links: readonly PageLink[], name: string): boolean => links.every(({ primary }) => primary !== name)

const changeOf = (cluster: PageCluster, kind: PageKind): readonly Offer[] => {
  const { mode } = cluster[kind]
  const clusters = [cluster.name]
  if (mode === 'secondary')
    return [
      {
        label: `Promote to ${KIND_WORDS[kind]} primary …`,
        canForce: true,
        action: { verb: 'promote', clusters, kind },
      },
    ]
  return mode === 'primary'
    ? [{ label: `Demote from ${KIND_WORDS[kind]} primary …`, action: { verb: 'demote', clusters, kind } }]
    : []
}
