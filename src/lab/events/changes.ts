import { isNode } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import type { EventDraft } from './event.js'

/** `silent`: the process accepts connections but does not respond, for example because it is suspended. */
type ProcessState = 'running' | 'silent' | 'stopped'
type NodeState = 'active' | 'standby'
type SealState = 'uninitialised' | 'sealed' | 'unsealed'

export interface ObservedRole {
  readonly mode: string
  /** Stream and connection of a secondary, such as `stream-wals, ready`. Empty for other roles. */
  readonly state: string
}

/** The last known state of a cluster. Parts never reported are absent. */
export interface Observation {
  readonly process: ProcessState
  readonly seal?: SealState | undefined
  /** Role of an unsealed node. */
  readonly node?: NodeState | undefined
  readonly roles?: Readonly<Record<Kind, ObservedRole>> | undefined
}

/** Returns the new state of a cluster. Parts that it does not report keep their previous value. */
export const mergeObservation = (before: Observation | undefined, now: Observation): Observation => ({
  process: now.process,
  seal: now.seal ?? before?.seal,
  node: now.node ?? before?.node,
  roles: now.roles ?? before?.roles,
})

/** Returns the events between two observations of a cluster. Parts with no previous value cause no events. */
export const changesBetween = (cluster: string, before: Observation, after: Observation): EventDraft[] => [
  ...changed(cluster, 'process', {}, before.process, after.process),
  ...changed(cluster, 'seal', {}, before.seal, after.seal),
  // A single server has no standby role.
  ...(isNode(cluster) ? changed(cluster, 'node', {}, before.node, after.node) : []),
  ...KINDS.flatMap((kind) => roleChanges(cluster, kind, before.roles?.[kind], after.roles?.[kind])),
]

const roleChanges = (
  cluster: string,
  replication: Kind,
  before: ObservedRole | undefined,
  after: ObservedRole | undefined,
): EventDraft[] => {
  if (!before || !after) return []
  if (before.mode === after.mode) return changed(cluster, 'replication', { replication }, before.state, after.state)
  const more = after.state === '' ? {} : { state: after.state }
  return changed(cluster, 'role', { replication, ...more }, before.mode, after.mode)
}

const changed = (
  cluster: string,
  kind: 'process' | 'seal' | 'node' | 'role' | 'replication',
  details: Readonly<Record<string, string>>,
  from: string | undefined,
  to: string | undefined,
): EventDraft[] =>
  from === undefined || to === undefined || from === to ? [] : [{ cluster, kind, details: { ...details, from, to } }]
