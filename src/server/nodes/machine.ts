/**
 * The states and events of one node of a multi-node cluster, and their transitions. SPEC.md explains them; these tables are
 * authoritative. Pure: independent of runtime and log.
 */
export type NodeState = 'sealed' | 'initializing' | 'standby' | 'taking-over' | 'active' | 'changing' | 'ceasing'

export type NodeEvent =
  /** It leads in order to initialize the cluster. */
  | 'initializing'
  /** The barrier was unsealed. */
  | 'unsealed'
  /** This node became the leader. */
  | 'elected'
  /** The cluster is open on this node. */
  | 'opened'
  /** It is no longer the leader, or could not open the cluster. */
  | 'lost'
  /** An operator requested another active node. */
  | 'stepped-down'
  | 'sealed'
  /** A role of the cluster has changed: the runtime is about to be rebuilt. */
  | 'changing'
  /** A runtime that follows the log has replaced the leading one, sealed or not. */
  | 'followed-sealed'
  | 'followed-unsealed'

export type NodeEffect =
  /** Stand for election. */
  | 'campaign'
  | 'withdraw'
  | 'take-over'
  /** Finish the work in progress, close the cluster, resign, and follow the log again. */
  | 'step-down'
  /** The same, but stay out of elections for a while. */
  | 'step-down-and-rest'
  /** Give up leadership: nothing is open. */
  | 'resign'

interface Step {
  readonly to: NodeState
  readonly effect?: NodeEffect
}

const REJECTED = 'rejected'

const STEP_DOWN: Step = { to: 'ceasing', effect: 'step-down' }
const REST: Step = { to: 'ceasing', effect: 'step-down-and-rest' }
const KEEP_STEPPING_DOWN: Step = { to: 'ceasing' }

/** Every state and every event. A new one of either does not compile until all its cells are written. */
export const TRANSITIONS: Readonly<Record<NodeState, Readonly<Record<NodeEvent, Step | typeof REJECTED>>>> = {
  sealed: {
    initializing: { to: 'initializing' },
    unsealed: { to: 'standby', effect: 'campaign' },
    elected: REJECTED,
    opened: REJECTED,
    lost: REJECTED,
    'stepped-down': REJECTED,
    sealed: { to: 'sealed' },
    changing: REJECTED,
    'followed-sealed': REJECTED,
    'followed-unsealed': REJECTED,
  },
  initializing: {
    initializing: REJECTED,
    unsealed: { to: 'initializing' },
    elected: REJECTED,
    opened: REJECTED,
    lost: { to: 'initializing' },
    'stepped-down': REJECTED,
    sealed: { to: 'initializing' },
    changing: REJECTED,
    'followed-sealed': { to: 'sealed' },
    'followed-unsealed': { to: 'standby', effect: 'campaign' },
  },
  standby: {
    initializing: REJECTED,
    unsealed: REJECTED,
    elected: { to: 'taking-over', effect: 'take-over' },
    opened: REJECTED,
    lost: REJECTED,
    'stepped-down': REJECTED,
    sealed: { to: 'sealed', effect: 'withdraw' },
    changing: REJECTED,
    'followed-sealed': REJECTED,
    'followed-unsealed': REJECTED,
  },
  'taking-over': {
    initializing: REJECTED,
    unsealed: REJECTED,
    elected: REJECTED,
    opened: { to: 'active' },
    lost: STEP_DOWN,
    'stepped-down': REJECTED,
    sealed: STEP_DOWN,
    changing: { to: 'changing' },
    'followed-sealed': REJECTED,
    'followed-unsealed': REJECTED,
  },
  active: {
    initializing: REJECTED,
    unsealed: REJECTED,
    elected: REJECTED,
    opened: REJECTED,
    lost: STEP_DOWN,
    'stepped-down': REST,
    sealed: STEP_DOWN,
    changing: { to: 'changing' },
    'followed-sealed': REJECTED,
    'followed-unsealed': REJECTED,
  },
  changing: {
    initializing: REJECTED,
    unsealed: REJECTED,
    elected: REJECTED,
    opened: REJECTED,
    lost: STEP_DOWN,
    'stepped-down': REJECTED,
    sealed: STEP_DOWN,
    changing: REJECTED,
    'followed-sealed': { to: 'sealed', effect: 'resign' },
    'followed-unsealed': { to: 'taking-over', effect: 'take-over' },
  },
  ceasing: {
    initializing: REJECTED,
    unsealed: REJECTED,
    elected: REJECTED,
    opened: KEEP_STEPPING_DOWN,
    lost: KEEP_STEPPING_DOWN,
    'stepped-down': KEEP_STEPPING_DOWN,
    sealed: KEEP_STEPPING_DOWN,
    changing: REJECTED,
    'followed-sealed': { to: 'sealed' },
    'followed-unsealed': { to: 'standby', effect: 'campaign' },
  },
}

/** Returns undefined for an event that is impossible in this state. */
export const findStep = (state: NodeState, event: NodeEvent): Step | undefined => {
  const step = TRANSITIONS[state][event]
  return step === REJECTED ? undefined : step
}
