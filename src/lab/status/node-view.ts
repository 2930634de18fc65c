import type { ApiClient } from '../../client/api-client.js'

/**
 * How one server of a cluster is: a single one is `active` while it is open. The others as the nodes of a cluster call
 * them; `removed` was taken out of its cluster, `stopped` does not run, and `silent` does not answer.
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
  /** Whether it is a standby that answers reads from its own copy. */
  readonly isPerformanceStandby: boolean
  /** How many entries of the log that the nodes share it has applied; null where that is not known, or there is none. */
  readonly appliedIndex: number | null
}

const STATES = [
  'sealed',
  'initializing',
  'standby',
  'taking-over',
  'active',
  'ceasing',
  'removed',
  'stopped',
  'silent',
] as const

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
export type NodeState = (typeof STATES)[number]

/** As a server tells it; one of an earlier version does not say of which kind a standby is. */
interface NodePlace {
  readonly state: string
  readonly is_active: boolean
  readonly is_performance_standby?: boolean
  readonly applied_index: number
}

/** Asks a server what it is among those of its cluster; without a client it is stopped. */
export const askNode = async (
  node: Pick<NodeView, 'name' | 'apiAddress'>,
  client: ApiClient | undefined,
): Promise<NodeView> => {
  const without = (state: NodeState): NodeView => ({
    ...{ ...node, state, isActive: false, isPerformanceStandby: false, appliedIndex: null },
  })
  if (!client) return without('stopped')
  const answer = await client.read('/_understudy/v1/info').catch(() => undefined)
  if (!answer) return without('silent')
  const place = answer.node as NodePlace | null | undefined
  if (place) {
    const state = STATES.find((one) => one === place.state) ?? 'silent'
    return {
      ...{ ...node, state, isActive: place.is_active, appliedIndex: place.applied_index },
      isPerformanceStandby: place.is_performance_standby === true,
    }
  }
  const seal: Readonly<Record<string, unknown>> = await client.read('sys/seal-status').catch(() => ({ sealed: true }))
  if (seal.removed_from_cluster === true) return without('removed')
  return seal.sealed === true ? without('sealed') : { ...without('active'), isActive: true }
}

/** Why a node is not open with all that is known; undefined when it is. What it has to apply yet may seal it, as a join does. */
export const findBehind = ({ state, appliedIndex }: NodeView, wanted: number): string | undefined => {
  if (state !== 'active' && state !== 'standby') return `it is ${state}`
  return (appliedIndex ?? 0) >= wanted ? undefined : `it has applied ${appliedIndex} of ${wanted} entries`
}
