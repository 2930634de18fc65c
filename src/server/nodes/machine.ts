/**
 * The states and events of one node of a multi-node cluster, and their transitions. SPEC.md explains them; these tables are
 * authoritative. Pure: independent of runtime and log.
 */
export type NodeState = 'sealed' | 'initializing' | 'standby' | 'taking-over' | 'active' | 'changing' | 'ceasing'

/** In the order of the columns of `TRANSITIONS`. */
export const NODE_EVENTS = [
  /** This node leads in order to initialize the cluster. */
  'initializing',
  /** The barrier was unsealed. */
  'unsealed',
  /** This node became the leader. */
  'elected',
  /** The cluster is open on this node. */
  'opened',
  /** This node is no longer the leader, or could not open the cluster. */
  'lost',
  /** An operator requested another active node. */
  'stepped-down',
  'sealed',
  /** A role of the cluster has changed: the runtime is about to be rebuilt. */
  'changing',
  /** A runtime that follows the log has replaced the leading one, sealed or not. */
  'followed-sealed',
  'followed-unsealed',
] as const
export type NodeEvent = (typeof NODE_EVENTS)[number]

export type NodeEffect =
  /** Stand for election. */
  | 'campaign'
  | 'withdraw'
  | 'take-over'
  /** Finish the work in progress, close the cluster, resign, and follow the log again. */
  | 'step-down'
  /** Do the same as `step-down`, and stay out of elections for a while. */
  | 'step-down-and-rest'
  /** Resign. The cluster is not open on this node. */
  | 'resign'

interface Step {
  readonly to: NodeState
  readonly effect?: NodeEffect
}

/** The event is impossible in this state. */
const NEVER = undefined
const INITIALIZE: Step = { to: 'initializing' }
const SEAL: Step = { to: 'sealed' }
const CHANGE: Step = { to: 'changing' }
const STAND: Step = { to: 'standby', effect: 'campaign' }
const TAKE_OVER: Step = { to: 'taking-over', effect: 'take-over' }
const STEP_DOWN: Step = { to: 'ceasing', effect: 'step-down' }
const REST: Step = { to: 'ceasing', effect: 'step-down-and-rest' }
const WAIT: Step = { to: 'ceasing' }
const WITHDRAW: Step = { to: 'sealed', effect: 'withdraw' }
const RESIGN: Step = { to: 'sealed', effect: 'resign' }

/** One cell per column. */
type Row<Columns extends readonly unknown[]> = { readonly [Column in keyof Columns]: Step | undefined }

/** One row per state, one column per event. If a cell of a new state or event is missing, the code does not compile. */
export const TRANSITIONS: Readonly<Record<NodeState, Row<typeof NODE_EVENTS>>> = {
  sealed: [INITIALIZE, STAND, NEVER, NEVER, NEVER, NEVER, SEAL, NEVER, NEVER, NEVER],
  initializing: [NEVER, INITIALIZE, NEVER, NEVER, INITIALIZE, NEVER, INITIALIZE, NEVER, SEAL, STAND],
  standby: [NEVER, NEVER, TAKE_OVER, NEVER, NEVER, NEVER, WITHDRAW, NEVER, NEVER, NEVER],
  'taking-over': [NEVER, NEVER, NEVER, { to: 'active' }, STEP_DOWN, NEVER, STEP_DOWN, CHANGE, NEVER, NEVER],
  active: [NEVER, NEVER, NEVER, NEVER, STEP_DOWN, REST, STEP_DOWN, CHANGE, NEVER, NEVER],
  changing: [NEVER, NEVER, NEVER, NEVER, STEP_DOWN, NEVER, STEP_DOWN, NEVER, RESIGN, TAKE_OVER],
  ceasing: [NEVER, NEVER, NEVER, WAIT, WAIT, WAIT, WAIT, NEVER, SEAL, STAND],
}

/** Returns undefined for an event that is impossible in this state. */
export const findStep = (state: NodeState, event: NodeEvent): Step | undefined =>
  TRANSITIONS[state][NODE_EVENTS.indexOf(event)]
