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
  if (process === 'stopped' || process === 'paused') return { word: process, look: 'away' }
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

/** Returns the status of a server of a cluster, and its visual style. */
export const nodeStatusOf = ({
  process,
  state,
  isActive,
}: PageNode): { word: string; look: 'active' | 'plain' | 'away' } => {
  const word =
    process === 'stopped' || process === 'paused' ? process : (NODE_WORDS[state] ?? state.replaceAll('-', ' '))
  const isOpen = isActive || state === 'standby' || state.endsWith('-standby')
  return { word, look: word === process || !isOpen ? 'away' : isActive ? 'active' : 'plain' }
}

const NODE_WORDS: Readonly<Record<string, string>> = { silent: 'unreachable' }

/** Returns the distinct signs of the faults between a node and the other nodes of its cluster. */
export const nodeSignsOf = (node: string, faults: PageSurvey['faults']): string =>
  signsAmong((faults ?? []).filter(({ between }) => between?.includes(node) === true))

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

/** Format for 10,000 entries or more: one decimal place and a suffix such as K. */
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const durationOf = (seconds: number): string => {
  if (seconds < 600) return `${seconds.toFixed(1)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

export interface Arrow {
  readonly key: string
  readonly kind: PageLink['kind']
  readonly primary: string
  readonly secondary: string
  /** `well`: entries are streamed. `working`: synchronization is in progress. `cut`: nothing is received. */
  readonly state: 'well' | 'working' | 'cut'
  /** A short text: `✂ cut`, `merkle-sync`; empty if healthy. */
  readonly stateWords: string
  readonly lag: string
  readonly faults: readonly PageFault[]
}

/** Returns the arrows of the topology. If the primary of a secondary is unknown, uses its last known primary. */
export const arrowsOf = ({ links, faults, clusters }: PageSurvey): readonly Arrow[] =>
  links.flatMap((link) => {
    const { kind, secondary, state, connectionState } = link
    const primary = link.primary ?? link.lastPrimary
    if (primary === undefined || !clusters.some(({ name }) => name === primary)) return []
    const between = (faults ?? []).filter(
      (fault) => fault.between?.includes(primary) === true && fault.between.includes(secondary),
    )
    const isCut = faults === null || between.some((fault) => fault.isCut) || link.primary === null
    const isStreaming = state === 'stream-wals' && ['ready', ''].includes(connectionState)
    return {
      key: `${kind} ${secondary}`,
      kind,
      primary,
      secondary,
      state: isCut ? 'cut' : isStreaming ? 'well' : 'working',
      stateWords: isStreaming && link.primary !== null ? '' : stateWordsOf(link, between.length > 0),
      lag: lagOf(link),
      faults: between,
    }
  })

/** Returns why nothing is streamed, unless a fault on the arrow shows it. */
const stateWordsOf = ({ primary, state, connectionState }: PageLink, hasFault: boolean): string => {
  if (primary === null) return 'primary unreachable'
  if (['ready', ''].includes(connectionState)) return state
  return hasFault ? '' : connectionState.replaceAll('_', ' ')
}

/** Returns the distinct signs of the faults on an arrow. */
export const signsOf = ({ faults }: Arrow): string => signsAmong(faults)

const signsAmong = (faults: readonly PageFault[]): string =>
  [...new Set(faults.map(({ sign, isCut }) => (isCut ? `${sign} cut` : sign)))].join(', ')
