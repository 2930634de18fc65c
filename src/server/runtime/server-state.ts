import type { ClosedState, OpenState } from '../../core/pipeline/gate.js'
import type { RequestHandler } from '../../core/pipeline/request-handler.js'
import type { Backend } from '../../logical/backend.js'
import type { ReplicationView } from '../../replication/view.js'
import type { Runtime } from './runtime.js'

/** The state of a server, and what answers requests in it. */
export type ServerState =
  | { readonly name: ClosedState; readonly backend: Backend }
  | { readonly name: OpenState; readonly pipeline: RequestHandler }

const NOTHING: Backend = { type: 'system', paths: [] }

/** `standIn` answers while the runtime is replaced; there is no runtime before and after everything. */
export const serverStateOf = (runtime: Runtime | undefined, standIn: Backend | undefined): ServerState => {
  if (standIn) return { name: 'restarting', backend: standIn }
  if (!runtime) return { name: 'stopping', backend: NOTHING }
  const { seal, cluster, closedBackend } = runtime
  if (!cluster || seal.isSealed)
    return { name: seal.isInitialized ? 'sealed' : 'uninitialized', backend: closedBackend }
  return { name: openStateOf(cluster.replication.view), pipeline: cluster.pipeline }
}

const openStateOf = ({ isDrSecondary, isBootstrapping, isRevoked }: ReplicationView): OpenState => {
  if (isDrSecondary) return isBootstrapping ? 'dr-bootstrapping' : 'dr-secondary'
  if (!isBootstrapping) return 'active'
  return isRevoked ? 'revoked' : 'bootstrapping'
}
