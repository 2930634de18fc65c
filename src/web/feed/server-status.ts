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
export interface ServerStatus {
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
  /** Null while the status is unknown, for example while the server restarts. */
  readonly dr: ReplicationStatus | null
  readonly performance: ReplicationStatus | null
  readonly lags: {
    readonly secondaries: readonly (Lag & { readonly kind: PageKind; readonly secondary: string })[]
    readonly upstream: Lag | null
  }
}

/** The fields of `sys/replication/status` that the page uses. */
export interface ReplicationStatus {
  readonly mode?: string
  readonly state?: string
  readonly connection_state?: string
  readonly last_wal?: number
  readonly last_remote_wal?: number
  readonly known_secondaries?: readonly string[]
  readonly secondaries?: readonly StatusPeer[]
  readonly primaries?: readonly StatusPeer[]
}

interface StatusPeer {
  readonly node_id?: string
  readonly api_address?: string
  readonly connection_status?: string
}

interface Lag {
  readonly entries: number
  readonly ms: number
}

const NO_ROLE: PageRole = { mode: '-', state: '', lastWal: 0 }

/** A cluster that replicates with the server, and the link between the two. */
interface Peer {
  readonly cluster: PageCluster
  readonly link: PageLink
}

/** Returns the survey of one server: its own cluster, and the clusters that it knows as replication peers. */
export const surveyOf = (server: ServerStatus): PageSurvey => {
  const own = ownCluster(server)
  const peers = KINDS.flatMap((kind) => peersOf(server, own.name, kind)).map(distinct)
  const links = peers.map(({ link }) => link)
  return {
    lab: own.name,
    atMs: server.at_ms,
    topology: own.name,
    actions: {},
    faults: [],
    losses: [],
    hasEvents: true,
    clusters: [own, ...peers.map(({ cluster }) => cluster)],
    links,
    splits: [],
    planned: links.map(({ kind, primary, secondary }) => ({ kind, primary: primary ?? own.name, secondary })),
    problems: problemsOf(server, own.name, links),
  }
}

const ownCluster = (server: ServerStatus): PageCluster => {
  const name = server.name === '' ? 'this server' : server.name
  return {
    ...clusterOf(name, server.api_address, true),
    isInitialized: server.initialized !== false,
    isSealed: server.sealed === true,
    dr: roleOf(server.dr),
    performance: roleOf(server.performance),
    requests: { server: name, ...server.requests },
    nodes: server.node ? [nodeOf(server.node, server.api_address)] : null,
  }
}

const nodeOf = (node: NonNullable<ServerStatus['node']>, apiAddress: string): PageNode => ({
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

const roleOf = (status: ReplicationStatus | null): PageRole => {
  if (!status?.mode) return NO_ROLE
  const { mode, state = '', last_wal: own = 0, last_remote_wal: remote = 0 } = status
  return { mode, state, lastWal: mode === 'secondary' ? remote : own }
}

const peersOf = (server: ServerStatus, own: string, kind: PageKind): readonly Peer[] => {
  const status = server[kind] ?? {}
  if (status.mode === 'primary') return secondaryIds(status).map((id) => secondaryOf(server, own, kind, id))
  return status.mode === 'secondary' || status.mode === 'bootstrapping' ? [primaryOf(server, own, kind)] : []
}

const secondaryIds = ({ secondaries = [], known_secondaries: known = [] }: ReplicationStatus): readonly string[] => [
  ...new Set([...known, ...secondaries.map(({ node_id: id = '' }) => id)].filter((id) => id !== '')),
]

const secondaryOf = (server: ServerStatus, own: string, kind: PageKind, id: string): Peer => {
  const row = server[kind]?.secondaries?.find(({ node_id }) => node_id === id)
  const isConnected = row?.connection_status === 'connected'
  const lag = server.lags.secondaries.find((one) => one.kind === kind && one.secondary === id)
  const state = isConnected ? 'stream-wals' : ''
  const lastWal = Math.max(0, roleOf(server[kind]).lastWal - (lag?.entries ?? 0))
  return {
    cluster: { ...clusterOf(id, row?.api_address ?? '', isConnected), [kind]: { mode: 'secondary', state, lastWal } },
    link: {
      kind,
      primary: own,
      secondary: id,
      state,
      connectionState: isConnected ? 'ready' : 'disconnected',
      ...lagFieldsOf(lag),
    },
  }
}

const primaryOf = (server: ServerStatus, own: string, kind: PageKind): Peer => {
  const { primaries = [], state = '', connection_state: connectionState = '' } = server[kind] ?? {}
  const row = primaries.find(({ connection_status: connection }) => connection === 'connected') ?? primaries[0]
  const { upstream } = server.lags
  const lastWal = roleOf(server[kind]).lastWal + (upstream?.entries ?? 0)
  const cluster = clusterOf(`${WORDS[kind]} primary`, row?.api_address ?? '', connectionState === 'ready')
  return {
    cluster: { ...cluster, [kind]: { mode: 'primary', state: '', lastWal } },
    link: { kind, primary: cluster.name, secondary: own, state, connectionState, ...lagFieldsOf(upstream) },
  }
}

const lagFieldsOf = (lag: Lag | null | undefined): Pick<PageLink, 'lagEntries' | 'lagSeconds'> => ({
  lagEntries: lag?.entries ?? null,
  lagSeconds: lag ? lag.ms / 1000 : null,
})

/** Makes the names of peers unique: two peers may have the same ID, or the name of this server. */
const distinct = ({ cluster, link }: Peer, index: number, all: readonly Peer[]): Peer => {
  const { name } = cluster
  if (link.primary !== link.secondary && all.findIndex((one) => one.cluster.name === name) >= index)
    return { cluster, link }
  const other = `${name} (${WORDS[link.kind]})`
  const end = cluster[link.kind].mode === 'secondary' ? { secondary: other } : { primary: other }
  return { cluster: { ...cluster, name: other }, link: { ...link, ...end } }
}

const problemsOf = (
  { initialized, sealed }: ServerStatus,
  own: string,
  links: readonly PageLink[],
): readonly string[] => [
  ...(initialized === false ? [`${own} is not initialized`] : sealed === true ? [`${own} is sealed`] : []),
  ...links
    .filter(({ connectionState }) => connectionState !== 'ready')
    .map(({ kind, primary, secondary, connectionState }) =>
      secondary === own
        ? `${own} is disconnected from its ${WORDS[kind]} primary (${connectionState || 'idle'})`
        : `the ${WORDS[kind]} secondary ${secondary} is disconnected from ${primary}`,
    ),
]

/** Returns the values whose changes are events, by the beginning of the event text. `kind`: the kind of the event. */
const factsOf = (server: ServerStatus): ReadonlyMap<string, readonly [kind: string, value: string]> => {
  const facts = new Map<string, readonly [string, string]>()
  if (server.initialized !== null)
    facts.set('', ['seal', server.initialized ? (server.sealed === true ? 'sealed' : 'unsealed') : 'not initialized'])
  if (server.node) facts.set(`node ${server.node.id}: `, ['role', server.node.state])
  for (const kind of KINDS) {
    const status = server[kind]
    if (!status?.mode) continue
    facts.set(`${kind}: `, ['role', status.mode])
    if (status.mode === 'secondary')
      facts.set(`${kind} stream: `, ['replication', [status.state, status.connection_state].filter(Boolean).join(', ')])
  }
  for (const { kind, secondary, primary, connectionState } of surveyOf(server).links)
    if (primary !== null && server[kind]?.mode === 'primary')
      facts.set(`${kind} secondary ${secondary}: `, [
        'replication',
        connectionState === 'ready' ? 'connected' : connectionState,
      ])
  return facts
}

/** Returns the changes between two reports as events. `after`: the ID of the last earlier event. */
export const eventsBetween = (before: ServerStatus, now: ServerStatus, after: number): readonly PageEvent[] => {
  const known = factsOf(before)
  const changes = [...factsOf(now)].flatMap(([name, [kind, value]]) => {
    const was = known.get(name)?.[1]
    return was === undefined || was === value ? [] : [{ kind, text: `${name}${was} -> ${value}` }]
  })
  const time = new Date(now.at_ms).toISOString()
  const cluster = surveyOf(now).lab
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
