import { awaitChange } from '../../base/await-change.js'
import type { Clock } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import { isServedWhile } from '../../core/pipeline/gate.js'
import { LogicalError, RESTARTING_REFUSAL } from '../../logical/errors.js'
import type { BodySender, IncomingRequest } from '../../logical/incoming.js'
import { isWrite } from '../../logical/request.js'
import { systemRulesOf } from '../../core/system/system-rules.js'
import type { ShellView } from '../parts/parts.js'
import { LIMITS } from '../../base/limits.js'
import { TransientMap } from '../../base/transient-map.js'

interface AdmissionOptions {
  readonly shell: Pick<ShellView, 'systemRules' | 'peers'>
  readonly inFlight: Pick<InFlightRequests, 'settle'>
  readonly clock: Clock
  /** Maximum time in ms that a request waits. If 0, requests do not wait. */
  readonly waitMs: number
  readonly isRestarting: () => boolean
}

/** Admits each request immediately, or after the change of the cluster that would affect the request. */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #queue: RequestQueue
  #areWritesPaused = false
  /** The request that may change a role now. All other requests that change a role must wait. */
  #inTurn: IncomingRequest | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#queue = new RequestQueue(options)
  }

  get waiting(): number {
    return this.#queue.size
  }

  /**
   * Resolves when the request can be handled: immediately, after the change that it waits for, or when its maximum wait
   * is over. Rejects with LogicalError 503 if the request changes a role while another request changes one. The caller
   * must call `leave` afterwards.
   */
  async admit(request: IncomingRequest): Promise<void> {
    await this.#queue.pass(request, () => this.#mustWait(request) || !this.#hasTurn(request))
    if (!this.#hasTurn(request)) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  }

  /** Ends the admission of an answered request, so that another request may change a role. */
  leave(request: IncomingRequest): void {
    if (this.#inTurn !== request) return
    this.#inTurn = undefined
    this.wake()
  }

  /**
   * Returns true if the request may run. Only one request at a time may change a role. If no request does, this request
   * becomes that one.
   */
  #hasTurn(request: IncomingRequest): boolean {
    const { path, operation } = request
    if (!isWrite(operation) || !systemRulesOf(this.#options.shell.systemRules, path).takesTurns) return true
    this.#inTurn ??= request
    return this.#inTurn === request
  }

  #mustWait(request: IncomingRequest): boolean {
    const { shell, isRestarting } = this.#options
    if (shell.peers?.isAwaitingOthers && systemRulesOf(shell.systemRules, request.path).awaitsNodes) return true
    if (isRestarting()) return !this.#isServedWhile('restarting', request)
    return this.#areWritesPaused && this.#isPausedWrite(request)
  }

  /** Waits with a large body while the runtime is replaced, since the client's token cannot be checked then. */
  async admitBody(sender: BodySender, gone: AbortSignal): Promise<void> {
    const waiting = { onGone: goneOf(gone), waitEndMs: sender.waitEndMs }
    await this.#queue.pass(waiting, this.#options.isRestarting)
    sender.waitEndMs = waiting.waitEndMs
  }

  /** Makes new client writes wait. Resolves when the writes in progress have been answered, or after `settleMs` ms. */
  pauseWrites(settleMs: number): Promise<void> {
    this.#areWritesPaused = true
    return this.#options.inFlight.settle(settleMs, (request) => this.#isPausedWrite(request))
  }

  resumeWrites(): void {
    this.#areWritesPaused = false
    this.wake()
  }

  /** Makes waiting requests check their condition again. Called after a change that requests may wait for. */
  wake(): void {
    this.#queue.wake()
  }

  /** Returns true if the request is a write that must wait while writes are paused. */
  #isPausedWrite(request: IncomingRequest): boolean {
    return isWrite(request.operation) && !this.#isServedWhile('writes-paused', request)
  }

  #isServedWhile(condition: 'restarting' | 'writes-paused', { operation, path }: IncomingRequest): boolean {
    return isServedWhile(condition, systemRulesOf(this.#options.shell.systemRules, path), operation)
  }
}

interface RequestQueueOptions {
  readonly clock: Clock
  /** Maximum time in ms that a request waits in all queues together. If 0, requests do not wait. */
  readonly waitMs: number
}

type Waiting = Pick<IncomingRequest, 'bodyBytes' | 'onGone' | 'waitEndMs'>

/** Returns the `onGone` function of a request, given a signal that aborts when the client disconnects. */
export const goneOf =
  (gone: AbortSignal): NonNullable<IncomingRequest['onGone']> =>
  (listener) => {
    gone.addEventListener('abort', listener, { once: true })
    return () => gone.removeEventListener('abort', listener)
  }

/**
 * A queue of requests that wait for a change of the cluster instead of being rejected. The number of requests and their
 * total size are limited. After the wait, the caller checks the request against the new state. A request whose client
 * disconnects leaves the queue.
 */
export class RequestQueue {
  readonly #options: RequestQueueOptions
  readonly #waiting = new Set<() => void>()
  #bytes = 0

  constructor(options: RequestQueueOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Resolves when one of these conditions is true. Rejects with LogicalError 503 if the client disconnects.
   *
   * - The request no longer has to wait.
   * - The total time of the request in all queues is over.
   * - The request has waited for `ms` milliseconds in this queue.
   * - This queue is full.
   */
  async pass(request: Waiting, mustWait: () => boolean, ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (!mustWait()) return
    const { clock } = this.#options
    const endMs = clock.monotonic() + Math.min(ms, this.leftMs(request))
    while (mustWait()) {
      const leftMs = endMs - clock.monotonic()
      if (leftMs <= 0 || !this.#hasSpace(request)) return
      await this.#wait(request, leftMs)
    }
  }

  /** Returns the time that the request may still wait, in ms. The time starts with the first call. */
  leftMs(request: Waiting): number {
    const nowMs = this.#options.clock.monotonic()
    request.waitEndMs ??= nowMs + this.#options.waitMs
    return Math.max(0, request.waitEndMs - nowMs)
  }

  /** Makes every waiting request check its condition again. Called after a change. */
  wake(): void {
    for (const check of [...this.#waiting]) check()
  }

  #hasSpace({ bodyBytes = 0 }: Waiting): boolean {
    return this.#waiting.size < LIMITS.waitingRequestsMax && this.#bytes + bodyBytes <= LIMITS.waitingBytesMax
  }

  async #wait({ bodyBytes = 0, onGone }: Waiting, leftMs: number): Promise<void> {
    let leave: () => void = () => undefined
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = this.#options.clock.setTimer(leftMs, resolve)
        const off = onGone?.(() => reject(new LogicalError('unavailable', 'the client disconnected')))
        this.#waiting.add(resolve)
        this.#bytes += bodyBytes
        leave = () => {
          timer.cancel()
          off?.()
          this.#waiting.delete(resolve)
          this.#bytes -= bodyBytes
        }
      })
    } finally {
      leave()
    }
  }
}

export interface InFlight {
  readonly startTimeMs: number
  readonly remoteAddress: string
  readonly path: string
  readonly method: string
}

/** The requests that this server is processing. */
export class InFlightRequests {
  readonly #clock: Clock
  readonly #ends = new Listeners()
  readonly #requests = new TransientMap<string, { request: IncomingRequest; startTimeMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds a request. The returned function removes it, and must be called when the request has been answered. */
  begin(request: IncomingRequest): () => void {
    this.#requests.set(request.id, { request, startTimeMs: this.#clock.now() })
    return () => {
      this.#requests.delete(request.id)
      this.#ends.emit()
    }
  }

  /** Resolves when the selected requests that are in flight now have been answered, or after `timeoutMs` ms. */
  async settle(timeoutMs: number, isAwaited: (request: IncomingRequest) => boolean = () => true): Promise<void> {
    const awaited = new Set([...this.#requests].flatMap(([id, { request }]) => (isAwaited(request) ? [id] : [])))
    const isOver = () => {
      for (const id of awaited) if (this.#requests.has(id)) return false
      return true
    }
    if (!isOver()) await awaitChange(this.#ends.add, isOver, { clock: this.#clock, timeoutMs })
  }

  all(): ReadonlyMap<string, InFlight> {
    return new Map(
      [...this.#requests].map(([id, { request, startTimeMs }]) => [
        id,
        { startTimeMs, remoteAddress: request.remoteAddress, path: request.path, method: request.operation },
      ]),
    )
  }
}
