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
  /** Maximum time in ms that a request waits; 0 = it does not wait. */
  readonly waitMs: number
  /** Returns true while the runtime is being replaced. */
  readonly isRestarting: () => boolean
}

/** Admits requests one by one: immediately, or after the role change that would affect them. */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #room: WaitingRoom
  #areWritesPaused = false
  /** The one request that may currently change a role. */
  #inTurn: IncomingRequest | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#room = new WaitingRoom(options)
  }

  /** The number of requests waiting for a change to complete. */
  get waiting(): number {
    return this.#room.size
  }

  /**
   * Resolves when the request can be handled: immediately, after the change it waits for, or after a timeout. Throws
   * LogicalError 503 for a role change during another one. The caller must call `leave` afterwards.
   */
  async admit(request: IncomingRequest): Promise<void> {
    await this.#room.pass(request, () => this.#isToWait(request) || !this.#hasTurn(request))
    if (!this.#hasTurn(request)) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  }

  /** Ends the admission of a request that has been answered. */
  leave(request: IncomingRequest): void {
    if (this.#inTurn !== request) return
    this.#inTurn = undefined
    this.wake()
  }

  /** Takes the turn if it is free, so that one of several waiting requests continues. */
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

  /** Admits a large body before it is read: while the runtime is replaced, its token cannot be checked. */
  async admitBody(sender: BodySender, gone: AbortSignal): Promise<void> {
    const waiting = { onGone: goneOf(gone), waitEndMs: sender.waitEndMs }
    await this.#room.pass(waiting, this.#options.isRestarting)
    sender.waitEndMs = waiting.waitEndMs
  }

  /** Makes new client writes wait. Resolves when those in progress have been answered, or after `settleMs`. */
  pauseWrites(settleMs: number): Promise<void> {
    this.#areWritesPaused = true
    return this.#options.inFlight.settle(settleMs, (request) => this.#isPausedWrite(request))
  }

  resumeWrites(): void {
    this.#areWritesPaused = false
    this.wake()
  }

  /** Makes waiting requests check again. Call it when a change that they wait for may be complete. */
  wake(): void {
    this.#room.wake()
  }

  /** Returns true for a write that may add to the log while writes are paused. */
  #isPausedWrite(request: IncomingRequest): boolean {
    return isWrite(request.operation) && !this.#isServedWhile('writes-paused', request)
  }

  #isServedWhile(condition: 'restarting' | 'writes-paused', { operation, path }: IncomingRequest): boolean {
    return isServedWhile(condition, systemRulesOf(this.#options.shell.systemRules, path), operation)
  }
}
