/**
 * The states and events of one node of a multi-node cluster, and its transitions. SPEC.md explains them, but these
 * tables decide. The functions are pure: they do not depend on the runtime or the log.
 */
export type NodeState = 'sealed' | 'initializing' | 'standby' | 'taking-over' | 'active' | 'changing' | 'stepping-down'

/** The events, in the order of the columns of `TRANSITIONS`. */
export const NODE_EVENTS = [
  /** This node becomes the leader to initialize the cluster. */
  'initializing',
  /** The barrier was unsealed. */
  'unsealed',
  /** This node became the leader. */
  'elected',
  /** The cluster was opened on this node. */
  'opened',
  /** This node has lost the leadership, or cannot open the cluster. */
  'lost',
  /** An operator requested another active node. */
  'stepped-down',
  'sealed',
  /** A replication role of the cluster has changed, so the runtime is about to be rebuilt. */
  'changing',
  /** A new runtime follows the log, either sealed or unsealed. */
  'followed-sealed',
  'followed-unsealed',
] as const
export type NodeEvent = (typeof NODE_EVENTS)[number]

export type NodeEffect =
  /** Campaign for leadership. */
  | 'campaign'
  | 'withdraw'
  | 'take-over'
  /** Close the cluster, resign, and follow the log again. */
  | 'step-down'
  /** Finish requests in progress, then do the same as `step-down`, and stay out of elections for a while. */
  | 'step-down-and-rest'
  /** Resign. The cluster is not open on this node. */
  | 'resign'

interface Step {
  readonly to: NodeState
  readonly effect?: NodeEffect
}

/** The cell of an event that is impossible in a state. */
const NEVER = undefined
const INITIALIZE: Step = { to: 'initializing' }
const SEAL: Step = { to: 'sealed' }
const CHANGE: Step = { to: 'changing' }
const STAND: Step = { to: 'standby', effect: 'campaign' }
const TAKE_OVER: Step = { to: 'taking-over', effect: 'take-over' }
const STEP_DOWN: Step = { to: 'stepping-down', effect: 'step-down' }
const REST: Step = { to: 'stepping-down', effect: 'step-down-and-rest' }
const WAIT: Step = { to: 'stepping-down' }
const WITHDRAW: Step = { to: 'sealed', effect: 'withdraw' }
const RESIGN: Step = { to: 'sealed', effect: 'resign' }

/** One row of `TRANSITIONS`: one cell for each event. */
type Row<Columns extends readonly unknown[]> = { readonly [Column in keyof Columns]: Step | undefined }

/** The next step for each state and event. Without a cell for each state and event, the code does not compile. */
export const TRANSITIONS: Readonly<Record<NodeState, Row<typeof NODE_EVENTS>>> = {
  sealed: [INITIALIZE, STAND, NEVER, NEVER, NEVER, NEVER, SEAL, NEVER, NEVER, NEVER],
  initializing: [NEVER, INITIALIZE, NEVER, NEVER, INITIALIZE, NEVER, INITIALIZE, NEVER, SEAL, STAND],
  standby: [NEVER, NEVER, TAKE_OVER, NEVER, NEVER, NEVER, WITHDRAW, NEVER, NEVER, NEVER],
  'taking-over': [NEVER, NEVER, NEVER, { to: 'active' }, STEP_DOWN, NEVER, STEP_DOWN, CHANGE, NEVER, NEVER],
  active: [NEVER, NEVER, NEVER, NEVER, STEP_DOWN, REST, STEP_DOWN, CHANGE, NEVER, NEVER],
  changing: [NEVER, NEVER, NEVER, NEVER, STEP_DOWN, NEVER, STEP_DOWN, NEVER, RESIGN, TAKE_OVER],
  'stepping-down': [NEVER, NEVER, NEVER, WAIT, WAIT, WAIT, WAIT, NEVER, SEAL, STAND],
}

/** Returns the step for an event, or undefined if the event is impossible in this state. */
export const findStep = (state: NodeState, event: NodeEvent): Step | undefined =>
  TRANSITIONS[state][NODE_EVENTS.indexOf(event)]
