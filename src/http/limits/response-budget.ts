import type { Socket } from 'node:net'
import { EventEmitter } from 'node:events'
import type { Clock, Timer } from '../../base/clock.js'
import { requestGc } from '../../base/garbage.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { ResponseReservation } from '../../logical/request.js'
import { ByteBudget } from './byte-budget.js'

/**
 * The destination of a response. The response itself has no socket while it waits for earlier responses of its
 * connection.
 */
export interface AnswerSink {
  readonly response: {
    readonly closed: boolean
    readonly writableEnded: boolean
    once(event: 'close', listener: () => void): unknown
  }
  readonly socket: Pick<Socket, 'destroyed'> & Pick<EventEmitter, 'once' | 'off'> & { destroy(): unknown }
}

interface PendingAnswer {
  readonly sink: AnswerSink
  readonly bytes: number
  readonly sinceMs: number
}

const DEFAULTS = {
  bytesMax: LIMITS.largeAnswersBytesMax,
  waitingMax: LIMITS.largeAnswersWaitingMax,
  patienceMs: LIMITS.largeAnswerPatienceMs,
}

type ResponseLimits = Readonly<Record<keyof typeof DEFAULTS, number>>

/** The maximum number of paths whose large responses are remembered. */
const EXPECTED_MAX = 256

/**
 * The memory budget for the large responses of one server, from their creation until the clients have read them. A
 * response that exceeds the budget waits in FIFO order before it is built. If a response has waited too long, the
 * budget closes the connection of the oldest client that is still reading.
 */
export class ResponseBudget {
  readonly #clock: Clock
  readonly #limits: ResponseLimits
  readonly #pending = new Set<PendingAnswer>()
  readonly #budget: ByteBudget
  /** The sizes of recent large responses by path, in the order of the last read. */
  readonly #expected = new Map<string, number>()
  /** True if a large response has been read in this turn of the event loop. */
  #hasRead = false
  #slowTimer: Timer | undefined

  constructor(clock: Clock, limits: Partial<ResponseLimits> = {}) {
    this.#clock = clock
    this.#limits = { ...DEFAULTS, ...limits }
    this.#budget = new ByteBudget({
      ...this.#limits,
      refusal: 'too many large responses are waiting: try again later',
      onChange: (hasAdmitted) => this.#watchSlowest(hasAdmitted),
    })
  }

  /** Returns a reservation. Its bytes are released when the client has read the response or has disconnected. */
  reservationFor(sink: AnswerSink): ResponseReservation {
    return new SinkReservation(this, sink)
  }

  /**
   * Returns a reservation for a response to another node. Its bytes are released when the call ends. A slow node is
   * never disconnected.
   */
  reservationForCall(ended: AbortSignal): ResponseReservation {
    const end = new CallEnd(ended)
    return this.reservationFor({ response: end, socket: end })
  }

  expected(path: string): number | undefined {
    return this.#expected.size === 0 ? undefined : this.#expected.get(path)
  }

  note(path: string, bytes: number | undefined): void {
    this.#expected.delete(path)
    if (bytes === undefined) return
    this.#expected.set(path, bytes)
    const [oldest = ''] = this.#expected.keys()
    if (this.#expected.size > EXPECTED_MAX) this.#expected.delete(oldest)
  }

  turn(): Promise<void> | undefined {
    return this.#hasRead ? this.#nextFreeTurn() : undefined
  }

  async #nextFreeTurn(): Promise<void> {
    while (this.#hasRead) await nextTurn()
  }

  async takeTurn(sink: AnswerSink): Promise<void> {
    while (this.#hasRead) await nextTurn()
    if (isGone(sink)) throw wentAway()
    this.#noteRead()
  }

  #noteRead(): void {
    this.#hasRead = true
    void nextTurn().then(() => {
      this.#hasRead = false
    })
  }

  tryEnter(bytes: number, sink: AnswerSink): PendingAnswer | undefined {
    if (isGone(sink)) throw wentAway()
    this.#noteRead()
    return this.#budget.tryTake(bytes) ? this.#hold(bytes, sink) : undefined
  }

  /**
   * Resolves when `bytes` are reserved. Rejects with LogicalError 503 if too many responses wait, or if the client has
   * disconnected.
   */
  enter(bytes: number, sink: AnswerSink): Promise<PendingAnswer> {
    const held = () => this.#hold(bytes, sink)
    return this.#budget.take(bytes, held, (leave) => whenGone(sink, () => leave(wentAway())))
  }

  #hold(bytes: number, sink: AnswerSink): PendingAnswer {
    const pending: PendingAnswer = { sink, bytes, sinceMs: this.#clock.monotonic() }
    this.#pending.add(pending)
    whenGone(sink, () => this.release(pending))
    return pending
  }

  release(pending: PendingAnswer): void {
    if (!this.#pending.delete(pending)) return
    requestGc(pending.bytes)
    this.#budget.release(pending.bytes)
  }

  /** Starts the timeout for slow clients while a response waits. Restarts the timeout when a response is admitted. */
  #watchSlowest(hasAdmitted: boolean): void {
    if (hasAdmitted || !this.#budget.isAwaited) this.#stopSlowTimer()
    if (this.#budget.isAwaited)
      this.#slowTimer ??= this.#clock.setTimer(this.#limits.patienceMs, () => this.#disconnectOldest())
  }

  /**
   * Disconnects the client of the oldest response if that client reads too slowly. Skips responses that are still being
   * built, because their clients do not cause the delay.
   */
  #disconnectOldest(): void {
    this.#stopSlowTimer()
    const [oldest] = [...this.#pending].filter(({ sink }) => sink.response.writableEnded)
    const isSlow = oldest && this.#clock.monotonic() - oldest.sinceMs >= this.#limits.patienceMs
    if (isSlow) oldest.sink.socket.destroy()
    this.#watchSlowest(false)
  }

  #stopSlowTimer(): void {
    this.#slowTimer?.cancel()
    this.#slowTimer = undefined
  }
}

/** The reservation of one response. A small object, because every request creates one and few requests use it. */
class SinkReservation implements ResponseReservation {
  readonly #budget: ResponseBudget
  readonly #sink: AnswerSink
  #held: PendingAnswer | undefined

  constructor(budget: ResponseBudget, sink: AnswerSink) {
    this.#budget = budget
    this.#sink = sink
  }

  turn(): Promise<void> | undefined {
    return this.#budget.turn()
  }

  tryEnter(bytes: number): boolean {
    this.#giveBack()
    this.#held = this.#budget.tryEnter(bytes, this.#sink)
    return this.#held !== undefined
  }

  async enter(bytes: number): Promise<void> {
    this.#giveBack()
    this.#held = await this.#budget.enter(bytes, this.#sink)
    // Several responses may have been admitted at the same time, and only one large response is read per turn.
    await this.#budget.takeTurn(this.#sink)
  }

  expected(path: string): number | undefined {
    return this.#budget.expected(path)
  }

  note(path: string, bytes: number | undefined): void {
    this.#budget.note(path, bytes)
  }

  #giveBack(): void {
    if (this.#held) this.#budget.release(this.#held)
    this.#held = undefined
  }
}

class CallEnd extends EventEmitter {
  readonly writableEnded = false
  readonly #ended: AbortSignal

  constructor(ended: AbortSignal) {
    super()
    this.#ended = ended
    ended.addEventListener('abort', () => this.emit('close'), { once: true })
  }

  get closed(): boolean {
    return this.#ended.aborted
  }

  get destroyed(): boolean {
    return this.#ended.aborted
  }

  destroy(): void {}
}

/**
 * Calls `callback` when the response or the connection closes. When a connection closes, Node notifies only the
 * response in progress, and not the responses queued behind it.
 */
const whenGone = ({ response, socket }: AnswerSink, callback: () => void): void => {
  const gone = () => {
    socket.off('close', gone)
    callback()
  }
  if (isGone({ response, socket })) {
    gone()
    return
  }
  socket.once('close', gone)
  response.once('close', gone)
}

const isGone = ({ response, socket }: AnswerSink): boolean => response.closed || socket.destroyed

const wentAway = (): LogicalError => new LogicalError('unavailable', 'the client disconnected')
