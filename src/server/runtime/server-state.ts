import { openAllowance } from '../../core/pipeline/body-allowance.js'
import type { ClosedState, OpenState } from '../../core/pipeline/gate.js'
import type { RequestHandler } from '../../core/pipeline/request-handler.js'
import type { Backend } from '../../logical/backend.js'
import { findPath } from '../../logical/dispatch.js'
import { LogicalError } from '../../logical/errors.js'
import type { BodyAllowance, BodySender } from '../../logical/incoming.js'
import { RESTARTING_REFUSAL } from '../../logical/refusal-texts.js'
import type { ReplicationView } from '../../replication/runtime/view.js'
import type { NodeSeat } from '../parts/parts.js'
import type { Runtime } from './runtime.js'

/** The state of a server, and the backend that responds in it. */
export type ServerState = { readonly name: ClosedState; readonly backend: Backend } | OpenServerState

/** A cluster is open. */
export interface OpenServerState {
  readonly name: OpenState
  readonly pipeline: RequestHandler
}

const NOTHING: Backend = { type: 'system', paths: [] }

/**
 * Returns the state. `standIn` responds while the runtime is replaced, and on a standby if there are other nodes. During
 * startup and shutdown there is no runtime.
 */
export const serverStateOf = (
  runtime: Runtime | undefined,
  standIn: Backend | undefined,
  seat: NodeSeat | undefined,
): ServerState => {
  if (standIn) return { name: seat && !seat.isTakingOver ? 'standby' : 'restarting', backend: standIn }
  if (!runtime) return { name: 'stopping', backend: NOTHING }
  const { seal, cluster, closedBackend } = runtime
  if (!seal.isSealed && seat && !(cluster && seat.isServing)) return { name: 'standby', backend: closedBackend }
  if (!cluster || seal.isSealed)
    return { name: seal.isInitialized ? 'sealed' : 'uninitialized', backend: closedBackend }
  return { name: openStateOf(cluster.replication.view), pipeline: cluster.pipeline }
}

/** Returns the state of a removed node: it no longer serves, regardless of its runtime. */
export const removedStateOf = (runtime: Runtime | undefined, standIn: Backend | undefined): ServerState => ({
  name: 'removed',
  backend: runtime?.closedBackend ?? standIn ?? NOTHING,
})

/**
 * Returns the limits of a body, before it is read. On a standby they apply to requests that it answers itself, since it
 * knows no tokens.
 */
export const allowanceIn = (state: ServerState, sender: BodySender): BodyAllowance => {
  if ('pipeline' in state) return state.pipeline.allowBody(state.name, sender)
  const allowance = openAllowance(findPath(state.backend, sender.path.replace(/^sys\//, ''))?.spec)
  if (state.name !== 'restarting') return allowance
  return { ...allowance, refusal: new LogicalError('unavailable', RESTARTING_REFUSAL) }
}

const openStateOf = ({ isDrSecondary, isBootstrapping, isStranded }: ReplicationView): OpenState => {
  if (isDrSecondary) return isBootstrapping ? 'dr-bootstrapping' : 'dr-secondary'
  if (!isBootstrapping) return 'active'
  return isStranded ? 'stranded' : 'bootstrapping'
}
