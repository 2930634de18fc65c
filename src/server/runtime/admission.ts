import type { Clock } from '../../base/clock.js'
import { isServedWhile } from '../../core/pipeline/gate.js'
import { LogicalError } from '../../logical/errors.js'
import type { BodySender, IncomingRequest } from '../../logical/incoming.js'
import { RESTARTING_REFUSAL } from '../../logical/refusal-texts.js'
import { isWrite } from '../../logical/request.js'
import { systemRulesOf } from '../rules/system-rules.js'
import type { InFlightRequests } from './in-flight.js'
import type { ShellView } from '../parts/shell-view.js'
import { goneOf, WaitingRoom } from './waiting-room.js'

interface AdmissionOptions {
  readonly shell: Pick<ShellView, 'systemRules' | 'peers'>
  readonly inFlight: Pick<InFlightRequests, 'settle'>
  readonly clock: Clock
  /** How long a request waits at most; 0 = not at all. */
  readonly waitMs: number
  /** True while the runtime is replaced. */
  readonly isRestarting: () => boolean
}

/** Lets requests in one by one: at once, or when the change of role is over that they would get into. */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #room: WaitingRoom
  #areWritesPaused = false
  /** The one call that may change a role now. */
  #inTurn: IncomingRequest | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#room = new WaitingRoom(options)
  }

  /** Requests that wait for a change to be over. */
  get waiting(): number {
    return this.#room.size
  }

  /**
   * Resolves when the request is to be handled now: at once, or when what it waits for is over, or took too long. Throws
   * LogicalError 503 for a change of a role while another one goes on. The caller calls `leave` when it is done.
   */
  async admit(request: IncomingRequest): Promise<void> {
    await this.#room.pass(request, () => this.#isToWait(request) || !this.#hasTurn(request))
    if (!this.#hasTurn(request)) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  }

  /** A request that asked to be admitted is answered. */
  leave(request: IncomingRequest): void {
    if (this.#inTurn !== request) return
    this.#inTurn = undefined
    this.wake()
  }

  /** Takes the turn where it is free, so that of several who wait one goes on. */
  #hasTurn(request: IncomingRequest): boolean {
    const { path, operation } = request
    if (!isWrite(operation) || !systemRulesOf(this.#options.shell.systemRules, path).takesTurns) return true
    this.#inTurn ??= request
    return this.#inTurn === request
  }

  #isToWait(request: IncomingRequest): boolean {
    const { shell, isRestarting } = this.#options
    if (shell.peers?.isAwaitingOthers && systemRulesOf(shell.systemRules, request.path).awaitsNodes) return true
    if (isRestarting()) return !this.#isServedWhile('restarting', request)
    return this.#areWritesPaused && this.#isPausedWrite(request)
  }

  /** The same for a large body, before it is read: nobody knows its token while the runtime is replaced. */
  async admitBody(sender: BodySender, gone: AbortSignal): Promise<void> {
    const waiting = { onGone: goneOf(gone), waitEndMs: sender.waitEndMs }
    await this.#room.pass(waiting, this.#options.isRestarting)
    sender.waitEndMs = waiting.waitEndMs
  }

  /** From now on new writes of clients wait. Resolves when those under way are answered, or have taken `settleMs`. */
  pauseWrites(settleMs: number): Promise<void> {
    this.#areWritesPaused = true
    return this.#options.inFlight.settle(settleMs, (request) => this.#isPausedWrite(request))
  }

  resumeWrites(): void {
    this.#areWritesPaused = false
    this.wake()
  }

  /** To be called when a change that requests wait for may be over. */
  wake(): void {
    this.#room.wake()
  }

  /** A write that may lead into the log. */
  #isPausedWrite(request: IncomingRequest): boolean {
    return isWrite(request.operation) && !this.#isServedWhile('writes-paused', request)
  }

  #isServedWhile(condition: 'restarting' | 'writes-paused', { operation, path }: IncomingRequest): boolean {
    return isServedWhile(condition, systemRulesOf(this.#options.shell.systemRules, path), operation)
  }
}
