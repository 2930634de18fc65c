import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { checkGate, isServedWhile } from '../core/pipeline/gate.js'
import { HANDLED, type Meter, REFUSED } from '../core/status/metrics.js'
import { dispatch } from '../logical/dispatch.js'
import { renderAnswer } from '../logical/envelope.js'
import { LogicalError } from '../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered } from '../logical/incoming.js'
import type { Asked } from '../replication/forwarding/relayed-request.js'
import type { PathRuleTable } from '../logical/path-rules.js'
import { isWrite, type Response } from '../logical/request.js'
import { LeadershipLost, OutcomeUnknown } from '../storage/commit-log/shared-log.js'
import { headOf, renderAllowance } from './nodes/body-question.js'
import type { ClusterNode } from './nodes/cluster-node.js'
import { NotActive } from './nodes/relay-service.js'
import { OwnTurn } from './nodes/relay.js'
import type { Standby } from './nodes/standby.js'
import type { InFlightRequests } from './runtime/in-flight.js'
import type { RuntimeHost } from './runtime/runtime-host.js'
import type { OpenServerState } from './runtime/server-state.js'
import { systemRulesOf } from './system-rules.js'

interface RequestsOptions {
  readonly host: RuntimeHost
  /** Undefined for a server that is a cluster alone. */
  readonly nodes: () => { readonly node: ClusterNode; readonly standby: Standby } | undefined
  readonly systemRules: PathRuleTable
  readonly inFlight: InFlightRequests
  readonly meter: Meter
  readonly clock: Clock
  readonly log: Log
}

/** What becomes of a request, by the state that the server is in. */
export class Requests {
  readonly #options: RequestsOptions

  constructor(options: RequestsOptions) {
    this.#options = options
  }

  async handle(request: IncomingRequest): Promise<Rendered> {
    const { host } = this.#options
    const nodes = this.#options.nodes()
    await host.admit(request)
    if (nodes && host.state.name === 'standby') {
      await nodes.standby.awaitActive(request)
      await host.admit(request)
    }
    return this.#counted(request, () => this.#answer(request))
  }

  /** The limits of a body, before it is read. */
  async allowBody(sender: BodySender, gone: AbortSignal): Promise<BodyAllowance> {
    const { host } = this.#options
    const nodes = this.#options.nodes()
    if (!nodes) return host.allowBody(sender, gone)
    const head = headOf(sender, gone)
    if (host.state.name === 'standby') await nodes.standby.awaitActive(head)
    const allowance = await host.allowBody(sender, gone)
    if (host.state.name !== 'standby') return allowance
    try {
      return (await nodes.standby.allowBody(head)) ?? allowance
    } catch (error) {
      if (error instanceof OwnTurn) return this.allowBody(sender, gone)
      throw error
    }
  }

  /** Serves what a standby of this cluster hands on, or throws `NotActive` and has done nothing. */
  async handleRelayed(request: IncomingRequest, { asks }: { readonly asks: Asked }): Promise<Rendered> {
    const { host } = this.#options
    const nodes = this.#options.nodes()
    if (!nodes?.node.isServing && !nodes?.node.isTakingOver) throw new NotActive()
    await host.admit(request)
    const { state } = host
    if (!('pipeline' in state)) throw new NotActive()
    if (asks === 'allowance') return renderAllowance(state.pipeline.allowBody(state.name, request))
    if (asks === 'answer') return this.#counted(request, () => this.#answerOpen(state, request))
    await state.pipeline.requireRights(state.name, request)
    return renderAnswer(request, { status: 204 })
  }

  /** Answers what concerns this server alone. */
  async answerHere(request: IncomingRequest): Promise<Rendered> {
    const { host, systemRules } = this.#options
    const { state } = host
    if ('pipeline' in state) return this.#answerOpen(state, request)
    checkGate(state.name, systemRulesOf(systemRules, request.path), request.operation)
    return renderAnswer(request, await dispatch(state.backend, request, request.path.slice('sys/'.length)))
  }

  async #answer(request: IncomingRequest): Promise<Rendered> {
    const { host } = this.#options
    const nodes = this.#options.nodes()
    if (!nodes || host.state.name !== 'standby') return this.answerHere(request)
    try {
      return await nodes.standby.answer(request)
    } catch (error) {
      if (!(error instanceof OwnTurn)) throw error
      await host.admit(request)
      return this.#answer(request)
    }
  }

  async #answerOpen({ name, pipeline }: OpenServerState, request: IncomingRequest): Promise<Rendered> {
    if (!this.#options.nodes()) return renderAnswer(request, await pipeline.handle(name, request))
    try {
      const response = await pipeline.handle(name, request)
      if (this.#isOutdated(request) && !hasWritten(response)) throw lost(request)
      return renderAnswer(request, response)
    } catch (error) {
      throw this.#isOutdated(request) && !isUnavailable(error) ? lost(request, error) : error
    }
  }

  /**
   * Another node may lead by now, so that what was read here may be out of date. What was written is in the log of all, and
   * who ends this node's being active is told so.
   */
  #isOutdated({ path, operation }: IncomingRequest): boolean {
    const { systemRules } = this.#options
    return (
      this.#options.nodes()?.node.isLeading === false &&
      !isServedWhile('fenced', systemRulesOf(systemRules, path), operation)
    )
  }

  async #counted(request: IncomingRequest, run: () => Promise<Rendered>): Promise<Rendered> {
    const { inFlight, clock, log, meter } = this.#options
    const done = inFlight.begin(request)
    const startedMs = clock.monotonic()
    try {
      return await run()
    } catch (error) {
      meter.record(REFUSED, clock.monotonic() - startedMs)
      throw error
    } finally {
      // The path of a request may hold secrets, and is for audit devices. The id stays when the request is forwarded.
      log.debug('a request was answered', { request_id: request.id, operation: request.operation })
      done()
      meter.record(HANDLED, clock.monotonic() - startedMs)
    }
  }
}

const hasWritten = (response: Response | undefined): boolean => response?.headers?.['X-Vault-Index'] !== undefined

/** What is closed meanwhile may fail behind a write that is in the log already. */
const lost = ({ operation }: IncomingRequest, cause?: unknown): LogicalError =>
  isWrite(operation) ? new OutcomeUnknown(cause) : new LeadershipLost(cause)

const isUnavailable = (error: unknown): boolean => error instanceof LogicalError && error.code === 'unavailable'
