import { attempt } from '../../base/attempt.js'
import { type ClosedState, openAllowance, type OpenState } from '../../core/pipeline/gate.js'
import type { RequestHandler } from '../../core/pipeline/request-handler.js'
import type { Backend } from '../../logical/backend.js'
import { findPath } from '../../logical/dispatch.js'
import { invalid, LogicalError, RESTARTING_REFUSAL } from '../../logical/errors.js'
import type { BodyAllowance, BodySender } from '../../logical/incoming.js'
import type { ReplicationView } from '../../replication/runtime/view.js'
import type { NodeMembership, ShellView } from '../parts/parts.js'
import type { Runtime } from './runtime.js'
import type { Clock } from '../../base/clock.js'
import { createSystemBackend } from '../../core/system/backend.js'
import { sealStatusBody } from '../../core/system/seal-paths.js'
import { ALREADY_INITIALIZED } from '../../core/system/init-paths.js'
import { statusPaths } from '../../core/system/status-paths.js'
import { withhold } from '../../core/status/cluster-status.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import type { FreshStart } from '../../replication/host/host.js'
import type { Kind } from '../../replication/model/types.js'

export type ServerState = { readonly name: ClosedState; readonly backend: Backend } | OpenServerState

export interface OpenServerState {
  readonly name: OpenState
  readonly pipeline: RequestHandler
}

const NOTHING: Backend = { type: 'system', paths: [] }

/**
 * Returns the state of the server:
 *
 * - While the runtime is replaced, `substitute` responds. The state is then `standby` on a standby, and otherwise
 *   `restarting`.
 * - During startup and shutdown there is no runtime. The state is then `stopping`.
 */
export const serverStateOf = (
  runtime: Runtime | undefined,
  substitute: Backend | undefined,
  membership: NodeMembership | undefined,
): ServerState => {
  if (substitute)
    return { name: membership && !membership.isTakingOver ? 'standby' : 'restarting', backend: substitute }
  if (!runtime) return { name: 'stopping', backend: NOTHING }
  const { seal, cluster, closedBackend } = runtime
  if (!seal.isSealed && membership && !(cluster && membership.isServing))
    return { name: 'standby', backend: closedBackend }
  if (!cluster || seal.isSealed)
    return { name: seal.isInitialized ? 'sealed' : 'uninitialized', backend: closedBackend }
  return { name: openStateOf(cluster.replication.view), pipeline: cluster.pipeline }
}

/** Returns the state of a removed node. A removed node serves no requests, regardless of its runtime. */
export const removedStateOf = (runtime: Runtime | undefined, substitute: Backend | undefined): ServerState => ({
  name: 'removed',
  backend: runtime?.closedBackend ?? substitute ?? NOTHING,
})

/**
 * Returns the limits of an unread body. A standby cannot check tokens. Its limits apply only to requests that the
 * standby serves itself.
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

type RestartShell = Pick<ShellView, 'status' | 'systemRules'> & {
  readonly peers: Pick<NonNullable<ShellView['peers']>, 'isAwaitingOthers'> | undefined
}

/**
 * Responds to requests while the runtime is replaced. Does not access the data, which may be moving to another
 * generation.
 *
 * - Status reads return the values from before the change.
 * - Submitted key shares are ignored, unless this node still waits for the other nodes.
 * - Every other request waits. If the wait times out, the server responds with 503.
 */
export class RestartView {
  readonly backend: Backend
  readonly #answers: Map<string, PreparedResponse>
  readonly #kinds: Kinds | undefined

  constructor(runtime: Runtime, { status, systemRules, peers }: RestartShell, clock: Clock) {
    // A standby and a sealed server do not know the roles of their cluster. If the storage cannot be read, status reads
    // get a 503, and the change still runs.
    const replication = runtime.cluster?.replication
    this.#kinds = replication && attempt(() => kindsOf(replication))
    const bare = (data: JsonObject): PreparedResponse => ({ data, bare: true })
    const sealStatus = attempt(() => bare(sealStatusBody(runtime.seal, status)))
    this.#answers = new Map<string, PreparedResponse>([
      ['sys/init', bare({ initialized: true })],
      ...(this.#kinds ? replicationAnswers(this.#kinds) : []),
    ])
    if (sealStatus) this.#answers.set('sys/seal-status', sealStatus)
    if (sealStatus && !peers?.isAwaitingOthers) this.#answers.set('sys/unseal', sealStatus)
    const seal = { isInitialized: true, isSealed: runtime.seal.isSealed }
    this.backend = {
      ...createSystemBackend(statusPaths({ seal, status, clock }), systemRules),
      fallback: (request) => this.#find(request),
    }
  }

  /**
   * Makes status reads report the replication set that the cluster joins. The caller calls it after the old data was
   * discarded.
   */
  showBootstrapping({ kind, setId }: FreshStart['joining']): void {
    const kinds = { ...(this.#kinds ?? DISABLED), [kind]: { mode: 'bootstrapping', cluster_id: setId } }
    for (const [path, answer] of replicationAnswers(kinds)) this.#answers.set(path, answer)
  }

  #find(request: Request): Response {
    const { path, operation } = request
    if (path === 'sys/init' && operation === 'update') throw invalid(ALREADY_INITIALIZED)
    const kept = operation === (path === 'sys/unseal' ? 'update' : 'read') ? this.#answers.get(path) : undefined
    if (!kept) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
    return { ...kept, data: withhold(kept.data, request) }
  }
}

type PreparedResponse = Response & { readonly data: JsonObject }

type Kinds = Readonly<Record<Kind, JsonObject>>

const kindsOf = (replication: NonNullable<Runtime['cluster']>['replication']): Kinds => ({
  dr: replication.statusData('dr'),
  performance: replication.statusData('performance'),
})

const DISABLED: Kinds = { dr: { mode: 'disabled' }, performance: { mode: 'disabled' } }

const replicationAnswers = (kinds: Kinds) =>
  [
    ['sys/replication/status', { data: { dr: kinds.dr, performance: kinds.performance } }],
    ['sys/replication/dr/status', { data: kinds.dr }],
    ['sys/replication/performance/status', { data: kinds.performance }],
  ] satisfies [string, PreparedResponse][]
