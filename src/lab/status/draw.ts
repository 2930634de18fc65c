import { counted } from '../../base/counted.js'
import { type ActiveFault, isOfLink } from '../daemon/active-fault.js'
import type { LinkFault } from '../proxy/link-faults.js'
import { KIND_WORDS, KINDS } from '../model/kinds.js'
import { describeFilter } from '../requests/filters.js'
import { type ClusterView, isDown, type LabView, type NodeRow, type ProcessState } from './observe.js'
import { findExpectedLinks, type FollowView, ROOT_SHOWN, rootOf } from './links.js'

const HEADER = ['cluster', 'state', 'lag', 'heartbeat', 'wal', 'merkle root', 'address', 'process']

/**
 * Draws the clusters of a lab as a tree of replication, with their states. Returns table rows, starting with the
 * header.
 */
export const drawLabView = (survey: LabView, nowMs: number): string[][] => {
  const faults = survey.faults ?? []
  const links = [...survey.links, ...findExpectedLinks(survey.clusters, faults, nowMs)]
  const placed = new Set<string>()
  const rows = (view: ClusterView, lead: string, indent: string, link?: FollowView): string[][] => {
    placed.add(view.name)
    const below = followersOf({ ...survey, links }, view.name).filter(({ view: { name } }) => !placed.has(name))
    // Marked before the recursion, so that a cluster with two primaries is drawn once.
    for (const { view: follower } of below) placed.add(follower.name)
    return [
      toRow(
        `${lead}${view.name}`,
        view,
        link && { ...link, primaryRoot: rootOf(survey.clusters, link.primary, link.kind) },
        nowMs,
      ),
      ...(view.nodes ?? []).map((node) => nodeRow(`${indent}${below.length > 0 ? '│' : ' '} `, node, faults)),
      ...below.flatMap((one, index) => {
        const isLast = index === below.length - 1
        const arrow = `${indent}${isLast ? '└' : '├'}── ${drawArrow(one.link, faults)} `
        return rows(one.view, arrow, `${indent}${isLast ? ' ' : '│'}   `, one.link)
      }),
    ]
  }
  const following = new Set(links.filter(({ primary }) => primary !== null).map(({ secondary }) => secondary))
  const roots = survey.clusters.filter(({ name }) => !following.has(name))
  const linkOf = (name: string) => survey.links.find(({ secondary }) => secondary === name)
  const tree = roots.flatMap((view) => rows(view, '', '', linkOf(view.name)))
  // In a cycle, each cluster has a primary, so no cluster of the cycle is the root of a tree.
  const left = survey.clusters.filter(({ name }) => !placed.has(name))
  return [HEADER, ...tree, ...left.flatMap((view) => (placed.has(view.name) ? [] : rows(view, '', '')))]
}

/** Returns the secondaries of a cluster. Lists a secondary once, even if it has both kinds of replication. */
const followersOf = ({ clusters, links }: LabView, primary: string): { link: FollowView; view: ClusterView }[] => {
  const own = links.filter((link) => link.primary === primary)
  return clusters.flatMap((view) => {
    const link = own.find(({ secondary }) => secondary === view.name)
    return link ? [{ link, view }] : []
  })
}

/** Draws `DR ──▶`, `DR ──✂──▶`, `performance ──80 ms──▶` or `performance (deny EU/) ──▶`. */
const drawArrow = ({ kind, faults, filter }: FollowView, all: readonly ActiveFault[]): string => {
  const signs = all.filter(isOfLink).flatMap((one) => (faults.includes(one.id) ? [signOf(one.fault)] : []))
  const sign = signs.includes(CUT) ? CUT : [...new Set(signs)].join(', ')
  const rule = filter ? ` (${describeFilter(filter)})` : ''
  return `${KIND_WORDS[kind]}${rule} ──${sign === '' ? '' : `${sign}──`}▶`
}

/** The sign of a link that passes no traffic. */
export const CUT = '✂'

/** Returns the sign of a fault on the arrow of its link. */
export const signOf = (fault: LinkFault): string => {
  switch (fault.name) {
    case 'partition':
    case 'down':
      return CUT
    case 'latency':
      return `${fault.ms} ms`
    default:
      return fault.name
  }
}

/** Returns the faults of the links of a node, such as `✂ A1`. */
const signsAt = (node: string, faults: readonly ActiveFault[]): string[] =>
  faults
    .filter(isOfLink)
    .filter(({ between }) => between.includes(node))
    .map(({ between, fault }) => `${signOf(fault)} ${between.filter((end) => end !== node).join()}`)

/** Draws a node below its cluster. The column `wal` has the index of the node log, not of the replication log. */
const nodeRow = (
  indent: string,
  { name, state, appliedIndex, apiAddress, process, pid }: NodeRow,
  faults: readonly ActiveFault[],
): string[] => [
  [`${indent}${name}`, ...signsAt(name, faults)].join(' '),
  process === 'paused' || process === 'crashed' ? process : state,
  '-',
  '-',
  appliedIndex === null ? '-' : `applied ${appliedIndex}`,
  '-',
  apiAddress,
  describeProcess(process, pid),
]

const describeProcess = (process: ProcessState, pid: number | null): string =>
  pid === null ? process : `pid ${pid}${process === 'paused' ? ', paused' : ''}`

const toRow = (
  tree: string,
  view: ClusterView,
  link: (FollowView & { readonly primaryRoot: string }) | undefined,
  nowMs: number,
): string[] => {
  const replicated = link ? view[link.kind] : view.dr.merkleRoot ? view.dr : view.performance
  const isSame = link?.primary && link.primaryRoot === replicated.merkleRoot ? ` = ${link.primary}` : ''
  return [
    tree,
    describeState(view),
    link ? describeLag(link) : '-',
    link?.lastHeartbeat ? `${Math.max(0, Math.round((nowMs - Date.parse(link.lastHeartbeat)) / 1000))} s ago` : '-',
    replicated.merkleRoot ? String(replicated.lastWal) : '-',
    replicated.merkleRoot === '' ? '-' : `${replicated.merkleRoot.slice(0, ROOT_SHOWN)}${isSame}`,
    view.apiAddress,
    view.nodes ? `${view.nodes.length} nodes` : describeProcess(view.process, view.pid),
  ]
}

const describeState = (view: ClusterView): string => {
  if (isDown(view.process) || view.process === 'paused') return view.process
  if (view.health === null) return 'no response'
  if (!view.isInitialized) return 'not initialized'
  if (view.isSealed) return 'sealed'
  const roles = KINDS.flatMap((kind) => {
    const { mode, state, connectionState } = view[kind]
    if (mode === 'disabled' || mode === '-') return []
    const more = mode === 'secondary' ? [state, connectionState].filter((word) => word !== '' && word !== 'ready') : []
    return [`${KIND_WORDS[kind]} ${mode}${more.length > 0 ? `: ${more.join(', ')}` : ''}`]
  })
  if (roles.length > 0) return roles.join('; ')
  // Without an active node, a multi-node cluster reports no roles.
  return KINDS.every((kind) => view[kind].mode === '-') ? 'roles unknown' : 'no replication'
}

/** Returns `0`, `12 entries, 3.4 s`, `12 entries` if the age of the data is unknown, or `?` if the lag is unknown. */
const describeLag = ({ lagEntries, lagSeconds }: FollowView): string => {
  if (lagEntries === null) return '?'
  if (lagEntries === 0) return '0'
  const entries = counted(lagEntries, 'entry', 'entries')
  return lagSeconds === null ? entries : `${entries}, ${lagSeconds.toFixed(1)} s`
}
