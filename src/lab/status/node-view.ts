import type { ApiClient } from '../../client/api-client.js'
import type { NodeState as ReportedState } from '../../server/nodes/machine.js'

/**
 * The state of one server of a cluster. A single server is `active` while it is unsealed. Nodes report their own state.
 * `removed`: no longer a member, `stopped`: not running, `silent`: not responding.
 *
 * @example
 * import { type NodeView, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { nodes: 3 })
 * const views: NodeView[] = await Promise.all(lab.A.nodes.map((node) => node.status()))
 * console.log(views.map(({ name, state, appliedIndex }) => `${name} ${state} ${appliedIndex}`))
 */
export interface NodeView {
  readonly name: string
  readonly apiAddress: string
  readonly state: NodeState
  readonly isActive: boolean
  /** Whether the node is a standby that serves reads from its own copy of the data. */
  readonly isPerformanceStandby: boolean
  /** Number of applied entries of the shared node log. Null if unknown or without such a log. */
  readonly appliedIndex: number | null
}

/** The text of each state in messages. */
const STATE_WORDS = {
  sealed: 'sealed',
  initializing: 'initializing',
  standby: 'standby',
  'taking-over': 'becoming active',
  active: 'active',
  changing: 'changing its replication role',
  'stepping-down': 'stepping down',
  removed: 'removed',
  stopped: 'stopped',
  silent: 'not responding',
} as const satisfies Readonly<Record<ReportedState | 'removed' | 'stopped' | 'silent', string>>

/**
 * The state of one server of a cluster.
 *
 * @example
 * import { type NodeState, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('single', { nodes: 3 })
 * const stateOf = async (name: `A${number}`): Promise<NodeState> => (await lab.node(name).status()).state
 * console.log(await stateOf('A1')) // active
 */
export type NodeState = keyof typeof STATE_WORDS

export const describeNodeState = (state: NodeState): string => STATE_WORDS[state]

const isNodeState = (text: string): text is NodeState => Object.hasOwn(STATE_WORDS, text)

/** The state that a server reports. Earlier versions do not report the kind of standby. */
interface NodeFields {
  readonly state: string
  readonly is_active: boolean
  readonly is_performance_standby?: boolean
  readonly applied_index: number
}

/** Queries the state of one server. `client`: undefined for a stopped server. */
export const askNode = async (
  node: Pick<NodeView, 'name' | 'apiAddress'>,
  client: ApiClient | undefined,
): Promise<NodeView> => {
  const withState = (state: NodeState): NodeView => ({
    ...{ ...node, state, isActive: false, isPerformanceStandby: false, appliedIndex: null },
  })
  if (!client) return withState('stopped')
  const answer = await client.read('/_understudy/v1/info').catch(() => undefined)
  if (!answer) return withState('silent')
  const reported = answer.node as NodeFields | null | undefined
  if (reported) {
    const { state, is_active: isActive, applied_index: appliedIndex } = reported
    return {
      ...{ ...node, state: isNodeState(state) ? state : 'silent', isActive, appliedIndex },
      isPerformanceStandby: reported.is_performance_standby === true,
    }
  }
  const seal: Readonly<Record<string, unknown>> = await client.read('sys/seal-status').catch(() => ({ sealed: true }))
  if (seal.removed_from_cluster === true) return withState('removed')
  return seal.sealed === true ? withState('sealed') : { ...withState('active'), isActive: true }
}

/**
 * Returns why a node is not ready, or has not applied the first `wanted` entries of the node log. Undefined if it is
 * ready and has applied them. The entries matter even for a ready node: an entry about a join seals the node that
 * applies it.
 */
export const findBehind = ({ state, appliedIndex }: NodeView, wanted: number): string | undefined => {
  if (state !== 'active' && state !== 'standby') return `it is ${describeNodeState(state)}`
  return (appliedIndex ?? 0) >= wanted ? undefined : `it has applied ${appliedIndex} of ${wanted} entries`
}

/** Returns the problems of the nodes of a cluster. */
export const findNodeProblems = (nodes: readonly (NodeView & { readonly process: string })[]): string[] => {
  const unready = nodes.filter(({ state }) => state !== 'active' && state !== 'standby')
  const texts = unready.map(
    ({ name, process, state }) =>
      `has a node ${name} that ${process === 'crashed' ? 'has crashed' : `is ${describeNodeState(state)}`}`,
  )
  return nodes.some(({ isActive }) => isActive) ? texts : ['has no active node', ...texts]
}
