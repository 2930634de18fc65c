import { isNode } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import type { EventDraft } from './event.js'

/** `silent`: it accepts connections and says nothing, as when it is frozen. */
type ProcessState = 'running' | 'silent' | 'stopped'
type NodeState = 'active' | 'standby'
type SealState = 'uninitialised' | 'sealed' | 'unsealed'

export interface ObservedRole {
  readonly mode: string
  /** Stream and connection of a secondary, such as `stream-wals, ready`; empty for other roles. */
  readonly state: string
}

/** The last known state of a cluster; a part that it never told is absent. */
export interface Observation {
  readonly process: ProcessState
  readonly seal?: SealState | undefined
  /** Of an open server. */
  readonly node?: NodeState | undefined
  readonly roles?: Readonly<Record<Kind, ObservedRole>> | undefined
}

/** The state of a cluster now, with what was known before where it tells nothing. */
export const mergeObservation = (before: Observation | undefined, now: Observation): Observation => ({
  process: now.process,
  seal: now.seal ?? before?.seal,
  node: now.node ?? before?.node,
  roles: now.roles ?? before?.roles,
})

/** The events between two looks at one cluster; none of what was never known before. */
export const changesBetween = (cluster: string, before: Observation, after: Observation): EventDraft[] => [
  ...changed(cluster, 'process', {}, before.process, after.process),
  ...changed(cluster, 'seal', {}, before.seal, after.seal),
  // A server that is a cluster alone is no standby of anybody.
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
