import type { Facilities } from '../base/facilities.js'
import { OBSERVER_HEADER } from '../base/http-call.js'
import { checkGate, isServedWhile } from '../core/pipeline/gate.js'
import { HANDLED, type Meter, OBSERVER_HANDLED, OBSERVER_REFUSED, REFUSED } from '../core/status/metrics.js'
import { dispatch } from '../logical/dispatch.js'
import { renderAnswer } from '../logical/envelope.js'
import { LogicalError } from '../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered } from '../logical/incoming.js'
import type { Relayed } from '../replication/forwarding/relayed-request.js'
import type { PathRuleTable } from '../logical/path-rules.js'
import { isWrite, type Response } from '../logical/request.js'
import { LeadershipLost, OutcomeUnknown } from '../storage/shared-log/shared-log.js'
import type { Store } from '../storage/store/store.js'
import { headOf, renderAllowance, ServeLocally } from './nodes/standby.js'
import type { NodeParts } from './nodes/node-parts.js'
import { NotActive } from './nodes/relay-service.js'
import type { InFlightRequests } from './runtime/admission.js'
import type { RuntimeHost } from './runtime/runtime-host.js'
import type { OpenServerState } from './runtime/server-state.js'
import { systemRulesOf } from '../core/system/system-rules.js'

interface RequestsOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly host: RuntimeHost
  readonly systemRules: PathRuleTable
  readonly inFlight: InFlightRequests
  readonly meter: Meter
}

type NodeRoles = Pick<NodeParts, 'node' | 'standby'>

interface RequestStart {
  readonly store: Store | undefined
  readonly index: number | undefined
  /** The term of this node's leadership; undefined if this node was not the leader or has no other nodes. */
  readonly term: number | undefined
}

export class Requests {
  readonly #options: RequestsOptions
  /** The roles of this node in a multi-node cluster; undefined in a single-node cluster. */
  #nodes: NodeRoles | undefined

  constructor(options: RequestsOptions) {
    this.#options = options
  }

  join(nodes: NodeRoles): void {
    this.#nodes = nodes
  }

  async handle(request: IncomingRequest): Promise<Rendered> {
    const { host } = this.#options
    const nodes = this.#nodes
    try {
      await host.admission.admit(request)
      if (nodes && host.state.name === 'standby') {
        const answered = await this.#counted(request, () => nodes.standby.answerAlone(request))
        if (answered) return answered
        await nodes.standby.awaitActive(request)
        await host.admission.admit(request)
      }
      return await this.#counted(request, () => this.#answer(request))
    } finally {
      host.admission.leave(request)
    }
  }

  async allowBody(sender: BodySender, gone: AbortSignal): Promise<BodyAllowance> {
    const { host } = this.#options
    const nodes = this.#nodes
    if (!nodes) return host.allowBody(sender, gone)
    const head = headOf(sender, gone)
    try {
      if (host.state.name === 'standby') await nodes.standby.awaitActive(head)
      const allowance = await host.allowBody(head, gone)
      if (host.state.name !== 'standby') return allowance
      return (await nodes.standby.allowBody(head)) ?? allowance
    } catch (error) {
      if (error instanceof ServeLocally) return await this.allowBody(head, gone)
      throw error
    } finally {
      sender.waitEndMs = head.waitEndMs
    }
  }

  /**
   * Serves a request that a standby of this cluster forwarded. Rejects with `NotActive` if this node is not active; it
   * has then executed nothing.
   */
  async handleRelayed(request: IncomingRequest, { asks, waitMs }: Omit<Relayed, 'request'>): Promise<Rendered> {
    const { host, clock } = this.#options
    const nodes = this.#nodes
    request.waitEndMs = clock.monotonic() + waitMs
    if (!nodes?.node.isServing && !nodes?.node.isTakingOver) throw new NotActive()
    try {
      await host.admission.admit(request)
      const { state } = host
      if (!('pipeline' in state)) throw new NotActive()
      if (asks === 'allowance') return renderAllowance(state.pipeline.allowBody(state.name, request))
      if (asks === 'answer') return await this.#counted(request, () => this.#answerOpen(state, request))
      await state.pipeline.requireRights(state.name, request)
      return renderAnswer(request, { status: 204 })
    } finally {
      host.admission.leave(request)
    }
  }

  async answerHere(request: IncomingRequest): Promise<Rendered> {
    const { host, systemRules } = this.#options
    const { state } = host
    if ('pipeline' in state) return this.#answerOpen(state, request)
    checkGate(state.name, systemRulesOf(systemRules, request.path), request)
    return renderAnswer(request, await dispatch(state.backend, request, request.path.slice('sys/'.length)))
  }

  async #answer(request: IncomingRequest): Promise<Rendered> {
    const { host } = this.#options
    const nodes = this.#nodes
    if (!nodes || host.state.name !== 'standby') return this.answerHere(request)
    try {
      return await nodes.standby.answer(request)
    } catch (error) {
      if (!(error instanceof ServeLocally)) throw error
      await host.admission.admit(request)
      return this.#answer(request)
    }
  }

  async #answerOpen({ name, pipeline }: OpenServerState, request: IncomingRequest): Promise<Rendered> {
    const since = this.#recordStart()
    try {
      const response = await pipeline.handle(name, request)
      if (this.#isOutdated(request, since) && !hasWritten(response)) throw new LeadershipLost()
      return renderAnswer(request, response)
    } catch (error) {
      throw this.#errorFor(request, since, error)
    }
  }

  #recordStart(): RequestStart {
    const store = this.#options.host.runtime?.store
    return { store, index: store?.position.index, term: this.#nodes?.node.leadingTerm }
  }

  /**
   * Returns true if another node may have become the leader since the request began. Data that was read here may then
   * be stale. Requests that a fenced node serves are exempt, because they may make this node step down and must then
   * return their result.
   */
  #isOutdated({ path, operation }: IncomingRequest, { term }: RequestStart): boolean {
    const { systemRules } = this.#options
    const node = this.#nodes?.node
    if (!node || (term !== undefined && term === node.leadingTerm)) return false
    return !isServedWhile('fenced', systemRulesOf(systemRules, path), operation)
  }

  /**
   * Returns the error that the client receives for a failed request. A failed write may have been stored in part. It
   * counts as not executed only if both conditions hold:
   * - The write was rejected with `unavailable` or `sealed`.
   * - The store has not changed since the write began.
   */
  #errorFor(request: IncomingRequest, since: RequestStart, error: unknown): unknown {
    const isRefusal = error instanceof LogicalError && (error.code === 'unavailable' || error.code === 'sealed')
    const isUnchanged = since.store?.position.index === since.index
    if (this.#isOutdated(request, since)) {
      if (isWrite(request.operation)) return isRefusal && isUnchanged ? error : unknownOutcome(error)
      return isRefusal ? error : new LeadershipLost(error)
    }
    const { runtime } = this.#options.host
    const isEnding = runtime?.store !== since.store || runtime?.seal.isSealed === true
    return isWrite(request.operation) && isEnding && isRefusal && !isUnchanged ? unknownOutcome(error) : error
  }

  /** Runs a request, and counts it in the metrics and the log if it got a response. */
  async #counted<T extends Rendered | undefined>(request: IncomingRequest, run: () => Promise<T>): Promise<T> {
    const { inFlight, clock, log, meter } = this.#options
    const done = inFlight.begin(request)
    const startedMs = clock.monotonic()
    const isOfObserver = request.headers[OBSERVER_HEADER] !== undefined
    const record = (name: string, observerName: string) => {
      meter.record(name, clock.monotonic() - startedMs)
      if (isOfObserver) meter.record(observerName, clock.monotonic() - startedMs)
    }
    let isCounted = true
    try {
      const rendered = await run()
      isCounted = rendered !== undefined
      return rendered
    } catch (error) {
      record(REFUSED, OBSERVER_REFUSED)
      throw error
    } finally {
      // The log omits the path, which may contain secrets and belongs in audit logs. A forwarded request has the same
      // ID on both nodes.
      if (isCounted) log.debug('a request was answered', { request_id: request.id, operation: request.operation })
      done()
      if (isCounted) record(HANDLED, OBSERVER_HANDLED)
    }
  }
}

const hasWritten = (response: Response | undefined): boolean => response?.headers?.['X-Vault-Index'] !== undefined

const unknownOutcome = (cause: unknown): OutcomeUnknown =>
  cause instanceof OutcomeUnknown ? cause : new OutcomeUnknown(cause)
