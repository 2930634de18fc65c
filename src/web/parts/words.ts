import type { PageCluster, PageFault, PageLink, PageNode, PageSurvey } from '../../lab/web/page-facts.js'

export const KIND_WORDS = { dr: 'DR', performance: 'performance' } as const
export const KINDS = ['dr', 'performance'] as const

/** The status of a cluster in one or two words, and its visual style. */
interface ClusterStatusWord {
  readonly word: string
  readonly look: 'primary' | 'secondary' | 'away' | 'plain'
}

export const clusterStatusOf = (cluster: PageCluster): ClusterStatusWord => {
  const { process, isAnswering, isInitialized, isSealed, dr, performance } = cluster
  if (isProcessStatus(process)) return { word: process, look: 'away' }
  if (!isAnswering) return { word: 'unreachable', look: 'away' }
  if (!isInitialized) return { word: 'not initialized', look: 'away' }
  if (isSealed) return { word: 'sealed', look: 'away' }
  if (dr.mode === 'secondary') return { word: 'DR secondary', look: 'secondary' }
  if (performance.mode === 'secondary') return { word: 'performance secondary', look: 'secondary' }
  if (dr.mode === 'bootstrapping' || performance.mode === 'bootstrapping')
    return { word: 'copying data', look: 'secondary' }
  const isPrimary = dr.mode === 'primary' || performance.mode === 'primary'
  return isPrimary ? { word: 'primary', look: 'primary' } : { word: 'no replication', look: 'plain' }
}

/** Returns true if the state of a process is also the status of its cluster or node. */
const isProcessStatus = (process: PageCluster['process']): boolean => ['stopped', 'crashed', 'paused'].includes(process)

/** The sign before a status word, so that color is not the only difference. */
const SIGNS: Readonly<Record<string, string>> = {
  stopped: '■',
  crashed: '✗',
  paused: '‖',
  sealed: '⊘',
  unreachable: '?',
}

/** Returns the sign of a status. Empty for a cluster or node that serves requests. */
export const statusSignOf = ({ word, look }: { readonly word: string; readonly look: string }): string =>
  look === 'away' ? (SIGNS[word] ?? '!') : ''

/** Returns the status of a server of a cluster, and its visual style. */
export const nodeStatusOf = ({
  process,
  state,
  isActive,
}: PageNode): { word: string; look: 'active' | 'plain' | 'away' } => {
  const word = isProcessStatus(process) ? process : state === 'silent' ? 'unreachable' : state.replaceAll('-', ' ')
  const isOpen = isActive || state === 'standby' || state.endsWith('-standby')
  return { word, look: word === process || !isOpen ? 'away' : isActive ? 'active' : 'plain' }
}

/** Returns the distinct signs of the faults between a node and the other nodes of its cluster. */
export const nodeSignsOf = (node: string, faults: PageSurvey['faults']): string =>
  signsOf((faults ?? []).filter(({ between }) => between?.includes(node) === true))

/** Returns for example `DR primary, performance primary`; empty without replication or if unknown. */
export const rolesOf = (cluster: PageCluster): string =>
  KINDS.filter((kind) => !['-', 'disabled', ''].includes(cluster[kind].mode))
    .map((kind) => `${KIND_WORDS[kind]} ${cluster[kind].mode}`)
    .join(', ')

/** Returns details that the status word omits: the kinds of replication of a primary, or further roles. */
export const detailOf = (cluster: PageCluster): string => {
  const { word, look } = clusterStatusOf(cluster)
  if (look !== 'primary')
    return rolesOf(cluster)
      .split(', ')
      .filter((role) => role !== word)
      .join(', ')
  return KINDS.filter((kind) => cluster[kind].mode === 'primary')
    .map((kind) => KIND_WORDS[kind])
    .join(' and ')
}

/** Returns the end of a cluster's log, or the applied index of its primary's log; undefined if unknown. */
export const walOf = ({ dr, performance }: PageCluster): number | undefined => {
  const known = [dr, performance].filter(({ mode }) => mode === 'primary' || mode === 'secondary')
  return known.length === 0 ? undefined : Math.max(...known.map(({ lastWal }) => lastWal))
}

export const lagOf = ({ lagEntries, lagSeconds }: Pick<PageLink, 'lagEntries' | 'lagSeconds'>): string => {
  if (lagEntries === null) return 'lag ?'
  if (lagEntries === 0) return 'lag 0'
  const entries = `lag ${lagEntries < 10_000 ? lagEntries : COMPACT.format(lagEntries)} ${lagEntries === 1 ? 'entry' : 'entries'}`
  return lagSeconds === null ? entries : `${entries}, ${durationOf(lagSeconds)}`
}

/** Format of large numbers: one decimal place and a suffix such as K. */
export const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const durationOf = (seconds: number): string => {
  if (seconds < 600) return `${seconds.toFixed(1)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

export interface Arrow {
  readonly key: string
  readonly kind: PageLink['kind']
  /** In a split brain, both ends are primaries. */
  readonly primary: string
  readonly secondary: string
  /** `well`: entries are streamed. `working`: synchronization is in progress. `cut`: nothing is received. */
  readonly state: 'well' | 'working' | 'cut' | 'split'
  /** Why nothing is streamed: `A crashed`, `merkle-sync`. Empty if healthy, or if `faults` has the reason. */
  readonly stateText: string
  /** The lag as text. Empty if one of the clusters is down, and in a split brain. */
  readonly lag: string
  readonly faults: readonly PageFault[]
}

/**
 * Returns the arrows of the topology. If the primary of a secondary is unknown, its arrow starts at the last known
 * primary. Between the primaries of a split brain is an arrow as well.
 */
export const arrowsOf = ({ links, splits, faults, clusters }: PageSurvey): readonly Arrow[] => {
  const faultsBetween = (one: string, other: string) =>
    (faults ?? []).filter(({ between }) => between?.includes(one) === true && between.includes(other))
  const isKnown = (name: string) => clusters.some((cluster) => cluster.name === name)
  const replicated = links.flatMap((link): Arrow[] => {
    const { kind, secondary, state, connectionState } = link
    const primary = link.primary ?? link.lastPrimary
    if (primary === undefined || !isKnown(primary)) return []
    const between = faultsBetween(primary, secondary)
    const away = clusters.find((one) => [primary, secondary].includes(one.name) && clusterStatusOf(one).look === 'away')
    const isCut = away !== undefined || faults === null || between.some((fault) => fault.isCut) || link.primary === null
    const isStreaming = state === 'stream-wals' && ['ready', ''].includes(connectionState)
    return [
      {
        ...{ key: `${kind} ${secondary}`, kind, primary, secondary, faults: between },
        state: isCut ? 'cut' : isStreaming ? 'well' : 'working',
        stateText: away ? `${away.name} ${clusterStatusOf(away).word}` : stateTextOf(link, between.length > 0),
        lag: away ? '' : lagOf(link),
      },
    ]
  })
  const split = splits.map(({ kind, between: [primary, secondary] }): Arrow => {
    const ends = { primary, secondary, faults: faultsBetween(primary, secondary) }
    return { ...ends, key: `split ${kind} ${secondary}`, kind, state: 'split', stateText: '', lag: '' }
  })
  return [...replicated, ...split]
}

/** Returns true if a cluster is one of several primaries of a replication set. */
export const isSplit = ({ splits }: PageSurvey, name: string): boolean =>
  splits.some(({ between }) => between.includes(name))

/** Returns why nothing is streamed. Empty if a fault, whose sign the arrow shows, is the reason. */
const stateTextOf = ({ primary, state, connectionState }: PageLink, hasFault: boolean): string => {
  if (primary === null) return 'primary unreachable'
  if (['ready', ''].includes(connectionState)) return state === 'stream-wals' ? '' : state
  return hasFault ? '' : connectionState.replaceAll('_', ' ')
}

/** Returns the distinct signs of faults, for example `✂ cut, 80 ms`. */
export const signsOf = (faults: readonly PageFault[]): string =>
  [...new Set(faults.map(({ sign, isCut }) => (isCut ? `${sign} cut` : sign)))].join(', ')
