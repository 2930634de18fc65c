import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../../base/limits.js'
import { bodyTooLarge, type LogicalError } from '../../logical/errors.js'
import type { BodyAllowance } from '../../logical/incoming.js'
import type { OpenBody, RequestBodyBudget, Reservation } from '../limits/request-body-budget.js'
import { type Message, WholeMessage } from '../message/direct-answer.js'

/** Thrown if the client disconnected while it sent its body, so that no response is possible. */
export class ClientGone extends Error {}

/** A body that has been read. The caller calls `done` when it has handled the request. */
export interface ReadBody {
  readonly size: number
  /** Returns the bytes, and drops the reference to them. Later calls return an empty buffer. */
  readonly take: () => Buffer
  readonly valuesMax: number
  /** The error for a body that exceeds the sender's limit. Such a body has not been read. */
  readonly refusal?: LogicalError
  readonly done: () => void
}

interface BodyReaderOptions {
  readonly budget: RequestBodyBudget
  /** The limit of the listener, for all senders. */
  readonly bytesMax: number
  /**
   * Returns the limits of the sender. Called when the received or the announced size exceeds the limit for
   * unauthenticated senders.
   */
  readonly allowance: (gone: AbortSignal) => BodyAllowance | Promise<BodyAllowance>
}

const NOTHING = Buffer.alloc(0)
const FIRST_BYTES = 1024

export const NO_BODY: ReadBody = { size: 0, take: () => NOTHING, valuesMax: 0, done: () => undefined }

/** Returns whether a message has no body, according to its headers. */
export const isEmptyBody = ({ headers }: Message): boolean => {
  const length = headers['content-length']
  return (length === undefined || length === '0') && headers['transfer-encoding'] === undefined
}

/** Returns the size in Content-Length, in bytes; undefined for a chunked body. */
const announcedBytes = ({ headers }: IncomingMessage): number | undefined =>
  headers['content-length'] === undefined ? undefined : Number(headers['content-length'])

/**
 * Reads the body of a message. A body that arrived together with its head is already in memory, so only the limit of
 * the listener applies to it.
 */
export const readBody = (message: Message, options: BodyReaderOptions): Promise<ReadBody> =>
  message instanceof WholeMessage ? takeBody(message, options) : new BodyReader(message, options).read()

/** Returns a body that has already arrived. Rejects with LogicalError `body-too-large` if it exceeds the limit. */
export const takeBody = async (
  { body }: Pick<WholeMessage, 'body'>,
  { bytesMax }: Pick<BodyReaderOptions, 'bytesMax'>,
): Promise<ReadBody> => {
  if (body.length > bytesMax) throw bodyTooLarge()
  return { size: body.length, take: takeOnce(body), valuesMax: LIMITS.jsonValuesMax, done: NO_BODY.done }
}

/**
 * Reads one body. Starts with the limit for unauthenticated senders. If the body exceeds this limit, requests the
 * limits of the sender and continues within them. Allocates memory as bytes arrive, or by the announced size if a
 * reservation covers it. Rejects with LogicalError `body-too-large` if the body exceeds the limit of the listener.
 */
class BodyReader {
  readonly #request: IncomingMessage
  readonly #options: BodyReaderOptions
  /** Created only when the allowance is requested, because most bodies are complete before that. */
  #gone: AbortController | undefined
  readonly #announced: number | undefined
  #resolve: (body: ReadBody) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined
  #open: OpenBody | undefined
  #reservation: Reservation | undefined
  #bytes: Buffer = NOTHING
  #size = 0
  /** The number of bytes after which the allowance is requested again. */
  #limit: number
  #allowance: BodyAllowance | undefined
  #isEnded = false

  constructor(request: IncomingMessage, options: BodyReaderOptions) {
    this.#request = request
    this.#options = options
    this.#announced = announcedBytes(request)
    this.#limit = Math.min(LIMITS.openBodyBytesMax, options.bytesMax)
  }

  read(): Promise<ReadBody> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#start()
    })
  }

  #start(): void {
    const request = this.#request
    request.once('error', (cause) => this.#fail(new ClientGone('the client disconnected', { cause })))
    if ((this.#announced ?? 0) > this.#options.bytesMax) {
      this.#fail(bodyTooLarge())
      return
    }
    this.#open = this.#options.budget.begin((error) => this.#fail(error))
    request.on('data', (chunk: Buffer) => this.#take(chunk))
    request.once('end', () => this.#finish())
    if ((this.#announced ?? 0) > this.#limit) this.#ask(NOTHING)
  }

  #take(chunk: Buffer): void {
    if (this.#isEnded) return
    if (this.#size + chunk.length > this.#limit) this.#ask(chunk)
    else this.#add(chunk)
  }

  #add(chunk: Buffer): void {
    this.#reservation?.receive(chunk.length)
    if (this.#size === 0 && chunk.length === this.#announced) {
      this.#bytes = chunk
      this.#size = chunk.length
      return
    }
    const needed = this.#size + chunk.length
    if (needed > this.#bytes.length) this.#extend(needed)
    chunk.copy(this.#bytes, this.#size)
    this.#size = needed
  }

  /**
   * Enlarges the buffer. Chunks are copied into one buffer, because a chunk of one byte would occupy about a hundred
   * bytes.
   */
  #extend(needed: number): void {
    const doubled = Math.max(needed, 2 * this.#bytes.length, FIRST_BYTES)
    const isReserved = this.#reservation !== undefined && this.#announced !== undefined
    const capacity = isReserved ? (this.#announced ?? needed) : Math.min(doubled, this.#limit)
    const before = this.#bytes
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
    before.copy(this.#bytes, 0, 0, this.#size)
    this.#open?.grow(capacity - before.length)
  }

  /**
   * Requests the allowance of the sender. Pauses reading until the allowance arrives. `chunk` contains the bytes that
   * exceed the limit.
   */
  #ask(chunk: Buffer): void {
    const needed = Math.max(this.#announced ?? 0, this.#size + chunk.length)
    if (needed > this.#options.bytesMax) {
      this.#fail(bodyTooLarge())
      return
    }
    this.#request.pause()
    this.#gone ??= new AbortController()
    const { signal } = this.#gone
    Promise.resolve(this.#allowance ?? this.#options.allowance(signal)).then(
      (allowance) => this.#decide(allowance, needed, chunk, signal),
      (error) => this.#fail(error),
    )
  }

  #decide(allowance: BodyAllowance, needed: number, chunk: Buffer, gone: AbortSignal): void {
    if (this.#isEnded) return
    const bytesMax = Math.min(allowance.bytesMax, this.#options.bytesMax)
    if (needed > bytesMax) {
      this.#refuse(allowance.refusal ?? bodyTooLarge())
      return
    }
    this.#allowance = allowance
    this.#limit = bytesMax
    if (!allowance.isAuthorised) {
      this.#add(chunk)
      this.#request.resume()
      return
    }
    const fail = (error: unknown) => this.#fail(error)
    this.#options.budget
      .enter(this.#announced ?? bytesMax, gone, fail)
      .then((reservation) => this.#continueWith(reservation, chunk), fail)
  }

  #continueWith(reservation: Reservation, chunk: Buffer): void {
    if (this.#isEnded) {
      reservation.leave()
      return
    }
    this.#reservation = reservation
    this.#open?.end()
    this.#open = undefined
    this.#add(chunk)
    this.#request.resume()
  }

  /** Resolves without the body, because another error of the request may take precedence over the size. */
  #refuse(refusal: LogicalError): void {
    this.#end()
    this.#resolve({ ...NO_BODY, refusal })
  }

  #finish(): void {
    if (this.#isEnded) return
    const { valuesMax } = this.#allowance ?? { valuesMax: LIMITS.jsonValuesMax }
    const bytes = this.#size === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#size)
    const reservation = this.#reservation
    reservation?.complete()
    this.#reservation = undefined
    this.#end()
    this.#resolve({ size: bytes.length, take: takeOnce(bytes), valuesMax, done: () => reservation?.leave() })
  }

  #fail(error: unknown): void {
    if (this.#isEnded) return
    this.#end()
    this.#reject(error)
  }

  /** Discards the rest of the body as it arrives. */
  #end(): void {
    this.#isEnded = true
    this.#open?.end()
    this.#reservation?.leave()
    this.#bytes = NOTHING
    this.#gone?.abort(new ClientGone('the body is no longer read'))
    this.#request.resume()
  }
}

const takeOnce = (bytes: Buffer): (() => Buffer) => {
  let left: Buffer = bytes
  return () => {
    const taken = left
    left = NOTHING
    return taken
  }
}

/** Reads a body that is a file. The caller must have checked that the sender may send a file. */
export const readFileBody = async (request: Message, budget: RequestBodyBudget): Promise<Buffer> => {
  if (isEmptyBody(request)) return NOTHING
  const bytesMax = LIMITS.snapshotBytesMax
  const allowance = () => ({ bytesMax, valuesMax: 0, isAuthorised: true })
  const { take, done } = await readBody(request, { budget, bytesMax, allowance })
  done()
  return take()
}
