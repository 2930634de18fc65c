import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import { statesOf } from '../containers/docker.js'
import {
  type AnyLab,
  type AttachedServer,
  type ClusterAccess,
  hasDaemon,
  isAttached,
  requireCluster,
  serversIn,
  serversOfLab,
  withAnonymousClient,
} from '../model/cluster.js'
import { type ActiveFault, describeFault, describeTarget, isOfLink, isShown } from '../daemon/active-fault.js'
import { describeRestart, LabDaemonClient, listEvents } from '../daemon/lab-daemon-client.js'
import { findLastPositionOf } from '../daemon/last-position.js'
import { KIND_WORDS, KINDS } from '../model/kinds.js'
import { findServer } from '../processes/launch.js'
import type { LabHost } from '../processes/lab-host.js'
import { askExpectedLoss, describeLoss, isLevel } from '../requests/expected-loss.js'
import { askRoles, askStatus } from '../requests/replication.js'
import { describeUnreachable } from '../requests/request-errors.js'
import { AHEAD_FIXES, isDetached, NO_STATUS, type ReplicationStatuses } from '../requests/replication-status.js'
import { type Ask, findLinks, findProblemsOf, type FollowView } from './links.js'
import { askNode, findNodeProblems, type NodeView } from './node-view.js'

/**
 * The state of a server's process. `crashed`: the process exited, but the lab did not stop it. `elsewhere`: this
 * machine cannot observe the process.
 */
export type ProcessState = 'running' | 'paused' | 'stopped' | 'crashed' | 'elsewhere'

export const isDown = (process: ProcessState): boolean => process === 'stopped' || process === 'crashed'
export interface NodeRow extends NodeView {
  readonly process: ProcessState
  readonly pid: number | null
}

/** The state of one cluster, as its server reports it. In a multi-node cluster, the active node reports it. */
export interface ClusterView extends ReplicationStatuses {
  readonly name: string
  readonly apiAddress: string
  readonly process: ProcessState
  readonly pid: number | null
  /** The status code of `sys/health`. Null without a timely response. */
  readonly health: number | null
  readonly isInitialized: boolean
  readonly isSealed: boolean
  /** The nodes of a multi-node cluster. */
  readonly nodes?: readonly NodeRow[] | undefined
  readonly problems: readonly string[]
}

/** The part of a cluster view that the responses of the cluster determine. */
type ClusterAnswer = Pick<ClusterView, 'health' | 'isInitialized' | 'isSealed' | 'dr' | 'performance' | 'problems'>

export interface LabView {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly topology: string
  readonly clusters: readonly ClusterView[]
  /** The current replication topology. */
  readonly links: readonly FollowView[]
  /** The active faults. Null if the lab daemon does not respond. */
  readonly faults: readonly ActiveFault[] | null
  /** All problems: of clusters, of their replication, of links, and of an interrupted load. */
  readonly problems: readonly string[]
}

/** Default timeout of a request about a cluster, and the maximum for a suspended server, in milliseconds. */
export const ANSWER_MS = 1000

/** Queries all clusters of a lab concurrently. `timeoutMs`: timeout of the requests to a server. */
export const observe = async (lab: AnyLab, host: LabHost, timeoutMs = ANSWER_MS): Promise<LabView> => {
  const running = await findRunning(lab, host)
  const [faults, answers] = await Promise.all([
    faultsOf(lab),
    Promise.all(
      lab.clusters.map((cluster) =>
        cluster.nodes
          ? surveyNodes({ ...cluster, nodes: cluster.nodes }, running, timeoutMs)
          : surveyCluster(cluster, running.get(cluster.name) ?? STOPPED, timeoutMs),
      ),
    ),
  ])
  const clusters = await withLosses(lab, answers, host.clock, timeoutMs)
  const links = findLinks(clusters, faults ?? [], host.clock.now())
  const problems = [
    ...(await findProblemsOf(clusters, links, askAgain(lab, clusters, timeoutMs), host.clock)),
    ...describeLinks(lab, faults),
    ...(!isAttached(lab) && lab.isLoading
      ? [`a snapshot or a reset was not loaded completely: run "understudy reset --name ${lab.name}"`]
      : []),
  ]
  return { apiVersion: 'understudy/v1', name: lab.name, topology: lab.topology, clusters, links, faults, problems }
}

/** Returns the function that reads the status of a cluster at the server that a view shows. */
export const askAgain =
  (lab: AnyLab, views: readonly ClusterView[], timeoutMs: number): Ask =>
  async (name, kind) => {
    const apiAddress = views.find((view) => view.name === name)?.apiAddress
    const cluster = { ...requireCluster(lab, name), ...(apiAddress && { apiAddress }) }
    return withAnonymousClient(cluster, (client) => askStatus(client, kind), timeoutMs)
  }

/** Returns the faults of links and servers. Null if the lab daemon does not respond, empty if there is none. */
const faultsOf = async (lab: AnyLab): Promise<readonly ActiveFault[] | null> =>
  !hasDaemon(lab)
    ? []
    : new LabDaemonClient(lab.keeper.socket).list().then(
        (all) => all.filter(isShown),
        () => null,
      )

type Running = Pick<ClusterView, 'process' | 'pid'>
const STOPPED: Running = { process: 'stopped', pid: null }

/** Returns the state of the process or container of each server, by name. */
const findRunning = async (lab: AnyLab, host: LabHost): Promise<ReadonlyMap<string, Running>> => {
  if (!isAttached(lab))
    return new Map(
      serversOfLab(lab).map((server) => {
        const found = findServer(lab, server, host)
        if (!found) return [server.name, server.process ? { ...STOPPED, process: 'crashed' } : STOPPED]
        return [server.name, { process: found.isFrozen ? 'paused' : 'running', pid: found.pid }]
      }),
    )
  const servers = lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster))
  const states = await statesOf(servers.flatMap(({ container }) => container ?? []))
  return new Map(
    servers.map(({ name, container }) => {
      const process = container === undefined ? 'elsewhere' : (states.get(container) ?? 'stopped')
      return [name, { process, pid: null }]
    }),
  )
}

/** Queries the state of each node. Reads the cluster state from the active node, or else from a node that responds. */
const surveyNodes = async (
  cluster: ClusterAccess & { readonly nodes: readonly Pick<ClusterAccess, 'name' | 'apiAddress'>[] },
  running: ReadonlyMap<string, Running>,
  timeoutMs: number,
): Promise<ClusterView> => {
  const nodes = await Promise.all(
    cluster.nodes.map(async ({ name, apiAddress }): Promise<NodeRow> => {
      const state = running.get(name) ?? STOPPED
      const ask = (client?: ApiClient) => askNode({ name, apiAddress }, client)
      if (isDown(state.process)) return { ...(await ask()), ...state }
      const maxMs = timeoutOf(state.process, timeoutMs)
      return { ...(await withAnonymousClient({ ...cluster, apiAddress }, ask, maxMs)), ...state }
    }),
  )
  const reporter = nodes.find(({ isActive }) => isActive) ?? nodes.find(({ appliedIndex }) => appliedIndex !== null)
  const asked = reporter ?? nodes.find((node) => !isDown(node.process)) ?? nodes[0]
  const { apiAddress, ...state } = asked ?? { ...cluster, ...STOPPED }
  const view = await surveyCluster({ ...cluster, apiAddress }, state, timeoutMs)
  return { ...view, nodes, problems: [...view.problems, ...findNodeProblems(nodes)] }
}

/** A suspended server does not respond, so that a long timeout would only delay the result. */
const timeoutOf = (process: ProcessState, timeoutMs: number): number =>
  process === 'paused' ? Math.min(timeoutMs, ANSWER_MS) : timeoutMs

const surveyCluster = (cluster: ClusterAccess, { process, pid }: Running, timeoutMs: number) =>
  viewOf({ ...cluster, process, pid }, () => withAnonymousClient(cluster, askCluster, timeoutOf(process, timeoutMs)))

/** Returns the view of a cluster. `ask` queries it, and rejects if it does not respond. */
export const viewOf = async (
  { name, apiAddress, process, pid }: Pick<ClusterView, 'name' | 'apiAddress' | 'process' | 'pid'>,
  ask: () => Promise<ClusterAnswer>,
): Promise<ClusterView> => {
  const off = { health: null, isInitialized: false, isSealed: false, dr: NO_STATUS, performance: NO_STATUS } as const
  const view = { name, apiAddress, process, pid, ...off }
  if (isDown(process)) return { ...view, problems: [process === 'crashed' ? 'has crashed' : 'is stopped'] }
  try {
    return { ...view, ...(await ask()) }
  } catch (error) {
    return {
      ...view,
      problems: [process === 'paused' ? 'is paused' : (describeUnreachable(error) ?? 'does not respond')],
    }
  }
}

/** Returns the state of a cluster with its problems. Rejects if it does not respond. */
export const askCluster = async (client: ApiClient): Promise<ClusterAnswer> => {
  const [health, roles] = await Promise.all([client.send('GET', 'sys/health'), askRoles(client)])
  const isInitialized = health.json?.initialized === true
  const isSealed = health.json?.sealed === true
  const answered = { health: health.status, isInitialized, isSealed, ...roles }
  return { ...answered, problems: findProblems(answered) }
}

const findProblems = (view: Omit<ClusterAnswer, 'problems'>): string[] => {
  if (!view.isInitialized) return ['is not initialized']
  if (view.isSealed) return ['is sealed']
  if (KINDS.every((kind) => view[kind].mode === NO_STATUS.mode)) return ['does not report its replication roles']
  const isFenced = view.health === 503 && KINDS.some((kind) => view[kind].mode === 'primary')
  const problems = KINDS.flatMap((kind) => {
    const { mode, state, connectionState, isAhead } = view[kind]
    const word = KIND_WORDS[kind]
    if (mode === 'bootstrapping') return [`receives its first copy (${word})`]
    if (mode !== 'secondary') return []
    if (isAhead) return [`is ahead of its ${word} primary, which lost entries: ${AHEAD_FIXES}`]
    if (state === 'idle') return [`is a ${word} secondary that follows no primary`]
    if (connectionState !== 'ready') return [`is disconnected from its ${word} primary (${connectionState})`]
    return state === 'stream-wals' ? [] : [`is catching up with its ${word} primary (${state})`]
  })
  return isFenced ? ['rejects writes: its replication set has a newer primary', ...problems] : problems
}

/** Adds the expected loss of a failover to the problems of each DR secondary whose primary is lost. */
const withLosses = async (lab: AnyLab, views: readonly ClusterView[], clock: Clock, timeoutMs: number) => {
  // A running demoted primary also counts: its demotion reported whether a secondary lacks data.
  const hasPrimary = (set: string) =>
    views.some(({ dr }) => dr.clusterId === set && (dr.mode === 'primary' || isDetached(dr)))
  // For a secondary that is ahead, its own problem already describes the effect of a promotion.
  const isOrphaned = ({ dr }: ClusterView) => dr.mode === 'secondary' && !dr.isAhead && !hasPrimary(dr.clusterId)
  if (!views.some(isOrphaned)) return [...views]
  const events = hasDaemon(lab) ? await listEvents(lab) : []
  return Promise.all(
    views.map(async (view) => {
      if (!isOrphaned(view)) return view
      const last = findLastPositionOf(events, view.dr.clusterId)
      const facts = { secondary: view.dr, last, nowMs: clock.now() }
      const ask = (client: ApiClient) => askExpectedLoss(client, facts)
      const loss = await withAnonymousClient(requireCluster(lab, view.name), ask, timeoutMs)
      return isLevel(loss) ? view : { ...view, problems: [...view.problems, `${describeLoss(loss)} in a failover`] }
    }),
  )
}

const describeLinks = ({ name, keeper }: AnyLab, faults: readonly ActiveFault[] | null): string[] => {
  if (faults === null) {
    const fix = describeRestart(keeper?.socket ?? '', `understudy start --name ${name}`)
    return [`the lab daemon does not respond, so every link is down: ${fix}`]
  }
  return faults.map(
    (active) =>
      `${isOfLink(active) ? 'the link ' : ''}${describeTarget(active)} has a fault (${describeFault(active)})`,
  )
}
