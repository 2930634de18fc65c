import { openAllowance } from '../../core/pipeline/body-allowance.js'
import type { ClosedState, OpenState } from '../../core/pipeline/gate.js'
import type { RequestHandler } from '../../core/pipeline/request-handler.js'
import type { Backend } from '../../logical/backend.js'
import { findPath } from '../../logical/dispatch.js'
import { LogicalError } from '../../logical/errors.js'
import type { BodyAllowance, BodySender } from '../../logical/incoming.js'
import { RESTARTING_REFUSAL } from '../../logical/refusal-texts.js'
import type { ReplicationView } from '../../replication/runtime/view.js'
import type { NodeSeat } from '../parts/node-seat.js'
import type { Runtime } from './runtime.js'

/** The state of a server, and what answers requests in it. */
export type ServerState = { readonly name: ClosedState; readonly backend: Backend } | OpenServerState

/** A cluster is open on it. */
export interface OpenServerState {
  readonly name: OpenState
  readonly pipeline: RequestHandler
}

const NOTHING: Backend = { type: 'system', paths: [] }

/**
 * `standIn` answers while the runtime is replaced, as on a standby where there are other nodes; there is no runtime before and
 * after everything.
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

/** Of a node that the others have taken out: whatever runtime there is, it serves no more. */
export const removedStateOf = (runtime: Runtime | undefined, standIn: Backend | undefined): ServerState => ({
  name: 'removed',
  backend: runtime?.closedBackend ?? standIn ?? NOTHING,
})

/** The limits of a body, before it is read. On a standby they hold for what that answers itself: it knows no tokens. */
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
