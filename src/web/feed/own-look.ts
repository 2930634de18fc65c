import type {
  PageCluster,
  PageEvent,
  PageKind,
  PageLink,
  PageNode,
  PageRole,
  PageSurvey,
} from '../../lab/web/page-facts.js'
import { KIND_WORDS as WORDS, KINDS } from '../parts/words.js'

/** The status of a server and its replication peers, sent once per second. */
export interface OwnLook {
  readonly at_ms: number
  /** Empty while the server is sealed. */
  readonly name: string
  readonly api_address: string
  /** Null while the server restarts, for example after a role change. */
  readonly initialized: boolean | null
  readonly sealed: boolean | null
  readonly node: {
    readonly id: string
    readonly state: string
    readonly is_active: boolean
    readonly is_performance_standby: boolean
    readonly applied_index: number
  } | null
  readonly requests: { readonly handled: number; readonly refused: number }
  /** Null while it is unknown. */
  readonly dr: OwnStatus | null
  readonly performance: OwnStatus | null
  readonly lags: {
    readonly secondaries: readonly (Lag & { readonly kind: PageKind; readonly secondary: string })[]
    readonly upstream: Lag | null
  }
}

/** The used part of `sys/replication/status`. */
export interface OwnStatus {
  readonly mode?: string
  readonly state?: string
  readonly connection_state?: string
  readonly last_wal?: number
  readonly last_remote_wal?: number
  readonly known_secondaries?: readonly string[]
  readonly secondaries?: readonly OwnPeer[]
  readonly primaries?: readonly OwnPeer[]
}

interface OwnPeer {
  readonly node_id?: string
  readonly api_address?: string
  readonly connection_status?: string
}

interface Lag {
  readonly entries: number
  readonly ms: number
}

const NO_ROLE: PageRole = { mode: '-', state: '', lastWal: 0 }

/** The other side of a link, with the link. */
interface Peer {
  readonly cluster: PageCluster
  readonly link: PageLink
}

/** Returns the survey of one server: itself, and its replication peers as far as it knows them. */
export const surveyOf = (look: OwnLook): PageSurvey => {
  const own = ownCluster(look)
  const peers = KINDS.flatMap((kind) => peersOf(look, own.name, kind)).map(distinct)
  const links = peers.map(({ link }) => link)
  return {
    lab: own.name,
    atMs: look.at_ms,
    topology: own.name,
    actions: {},
    faults: [],
    losses: [],
    hasEvents: true,
    clusters: [own, ...peers.map(({ cluster }) => cluster)],
    links,
    splits: [],
    planned: links.map(({ kind, primary, secondary }) => ({ kind, primary: primary ?? own.name, secondary })),
    problems: problemsOf(look, own.name, links),
  }
}

const ownCluster = (look: OwnLook): PageCluster => {
  const name = look.name === '' ? 'this server' : look.name
  return {
    ...clusterOf(name, look.api_address, true),
    isInitialized: look.initialized !== false,
    isSealed: look.sealed === true,
    dr: roleOf(look.dr),
    performance: roleOf(look.performance),
    requests: { server: name, ...look.requests },
    nodes: look.node ? [nodeOf(look.node, look.api_address)] : null,
  }
}

const nodeOf = (node: NonNullable<OwnLook['node']>, apiAddress: string): PageNode => ({
  name: node.id,
  apiAddress,
  process: 'elsewhere',
  isActive: node.is_active,
  appliedIndex: node.applied_index,
  state: node.is_performance_standby ? 'performance-standby' : node.state,
})

const clusterOf = (name: string, apiAddress: string, isAnswering: boolean): PageCluster => ({
  name,
  apiAddress,
  process: 'elsewhere',
  isAnswering,
  isInitialized: true,
  isSealed: false,
  dr: NO_ROLE,
  performance: NO_ROLE,
  requests: null,
  nodes: null,
  problems: [],
})

const roleOf = (status: OwnStatus | null): PageRole => {
  if (!status?.mode) return NO_ROLE
  const { mode, state = '', last_wal: own = 0, last_remote_wal: remote = 0 } = status
  return { mode, state, lastWal: mode === 'secondary' ? remote : own }
}

const peersOf = (look: OwnLook, own: string, kind: PageKind): readonly Peer[] => {
  const status = look[kind] ?? {}
  if (status.mode === 'primary') return secondaryIds(status).map((id) => secondaryOf(look, own, kind, id))
  return status.mode === 'secondary' || status.mode === 'bootstrapping' ? [primaryOf(look, own, kind)] : []
}

const secondaryIds = ({ secondaries = [], known_secondaries: known = [] }: OwnStatus): readonly string[] => [
  ...new Set([...known, ...secondaries.map(({ node_id: id = '' }) => id)].filter((id) => id !== '')),
]

const secondaryOf = (look: OwnLook, own: string, kind: PageKind, id: string): Peer => {
  const row = look[kind]?.secondaries?.find(({ node_id }) => node_id === id)
  const isConnected = row?.connection_status === 'connected'
  const lag = look.lags.secondaries.find((one) => one.kind === kind && one.secondary === id)
  const state = isConnected ? 'stream-wals' : ''
  const lastWal = Math.max(0, roleOf(look[kind]).lastWal - (lag?.entries ?? 0))
  return {
    cluster: { ...clusterOf(id, row?.api_address ?? '', isConnected), [kind]: { mode: 'secondary', state, lastWal } },
    link: {
      kind,
      primary: own,
      secondary: id,
      state,
      connectionState: isConnected ? 'ready' : 'disconnected',
      ...secondsOf(lag),
    },
  }
}

const primaryOf = (look: OwnLook, own: string, kind: PageKind): Peer => {
  const { primaries = [], state = '', connection_state: connectionState = '' } = look[kind] ?? {}
  const row = primaries.find(({ connection_status: connection }) => connection === 'connected') ?? primaries[0]
  const { upstream } = look.lags
  const lastWal = roleOf(look[kind]).lastWal + (upstream?.entries ?? 0)
  const cluster = clusterOf(`${WORDS[kind]} primary`, row?.api_address ?? '', connectionState === 'ready')
  return {
    cluster: { ...cluster, [kind]: { mode: 'primary', state: '', lastWal } },
    link: { kind, primary: cluster.name, secondary: own, state, connectionState, ...secondsOf(upstream) },
  }
}

const secondsOf = (lag: Lag | null | undefined): Pick<PageLink, 'lagEntries' | 'lagSeconds'> => ({
  lagEntries: lag?.entries ?? null,
  lagSeconds: lag ? lag.ms / 1000 : null,
})

/**
 * Makes the names of peers unique. Operators choose IDs per kind, so two peers may have the same ID, or the name of
 * this server.
 */
const distinct = ({ cluster, link }: Peer, index: number, all: readonly Peer[]): Peer => {
  const { name } = cluster
  if (link.primary !== link.secondary && all.findIndex((one) => one.cluster.name === name) >= index)
    return { cluster, link }
  const other = `${name} (${WORDS[link.kind]})`
  const end = cluster[link.kind].mode === 'secondary' ? { secondary: other } : { primary: other }
  return { cluster: { ...cluster, name: other }, link: { ...link, ...end } }
}

const problemsOf = ({ initialized, sealed }: OwnLook, own: string, links: readonly PageLink[]): readonly string[] => [
  ...(initialized === false ? [`${own} is not initialized`] : sealed === true ? [`${own} is sealed`] : []),
  ...links
    .filter(({ connectionState }) => connectionState !== 'ready')
    .map(({ kind, primary, secondary, connectionState }) =>
      secondary === own
        ? `${own} is disconnected from its ${WORDS[kind]} primary (${connectionState || 'idle'})`
        : `the ${WORDS[kind]} secondary ${secondary} is disconnected from ${primary}`,
    ),
]

/** Returns the fields whose change is an event, by name. */
const factsOf = (look: OwnLook): ReadonlyMap<string, readonly [kind: string, value: string]> => {
  const facts = new Map<string, readonly [string, string]>()
  if (look.initialized !== null)
    facts.set('', ['seal', look.initialized ? (look.sealed === true ? 'sealed' : 'unsealed') : 'not initialized'])
  if (look.node) facts.set(`node ${look.node.id}: `, ['role', look.node.state])
  for (const kind of KINDS) {
    const status = look[kind]
    if (!status?.mode) continue
    facts.set(`${kind}: `, ['role', status.mode])
    if (status.mode === 'secondary')
      facts.set(`${kind} stream: `, ['replication', [status.state, status.connection_state].filter(Boolean).join(', ')])
  }
  for (const { kind, secondary, primary, connectionState } of surveyOf(look).links)
    if (primary !== null && look[kind]?.mode === 'primary')
      facts.set(`${kind} secondary ${secondary}: `, [
        'replication',
        connectionState === 'ready' ? 'connected' : connectionState,
      ])
  return facts
}

/** Returns the events between two messages. `after`: the ID of the last earlier event. */
export const eventsBetween = (before: OwnLook, look: OwnLook, after: number): readonly PageEvent[] => {
  const known = factsOf(before)
  const changes = [...factsOf(look)].flatMap(([name, [kind, value]]) => {
    const was = known.get(name)?.[1]
    return was === undefined || was === value ? [] : [{ kind, text: `${name}${was} -> ${value}` }]
  })
  const time = new Date(look.at_ms).toISOString()
  const cluster = surveyOf(look).lab
  return changes.map(({ kind, text }, index) => ({
    id: after + 1 + index,
    time,
    cluster,
    kind,
    text,
    command: null,
    step: null,
  }))
}
