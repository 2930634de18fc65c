import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../base/limits.js'
import { bodyTooLarge, type LogicalError } from '../logical/errors.js'
import type { BodyAllowance } from '../logical/incoming.js'
import type { BodyRoom, OpenBody, Place } from './body-room.js'
import { type Message, WholeMessage } from './whole-message.js'

/** The client went away while it sent its body: there is nobody to answer. */
export class ClientGone extends Error {}

/** A body that was read; `done` is to be called when its request is answered. */
export interface ReadBody {
  readonly size: number
  /** Hands the bytes out, and forgets them: what they say is kept by whoever parses them. */
  readonly take: () => Buffer
  readonly valuesMax: number
  /** The body is larger than its sender may send here, and was not read. */
  readonly refusal?: LogicalError
  readonly done: () => void
}

interface BodyReaderOptions {
  readonly room: BodyRoom
  /** Bound of the listener, whoever sends. */
  readonly bytesMax: number
  /** Asked once the body is, or will be, larger than what anybody may send. */
  readonly allowance: (gone: AbortSignal) => BodyAllowance | Promise<BodyAllowance>
}

const NOTHING = Buffer.alloc(0)
const FIRST_BYTES = 1024

export const NO_BODY: ReadBody = { size: 0, take: () => NOTHING, valuesMax: 0, done: () => undefined }

/** True for a message that says of itself that it has no body. */
export const isEmptyBody = ({ headers }: Message): boolean => {
  const length = headers['content-length']
  return (length === undefined || length === '0') && headers['transfer-encoding'] === undefined
}

/** Announced bytes; undefined for a body in chunks. */
const announcedBytes = ({ headers }: IncomingMessage): number | undefined =>
  headers['content-length'] === undefined ? undefined : Number(headers['content-length'])

/** Reads the body of a message, or takes it as it has come with its head: then it is one that anybody may send. */
export const readBody = (message: Message, options: BodyReaderOptions): Promise<ReadBody> =>
  message instanceof WholeMessage ? takeBody(message, options) : new BodyReader(message, options).read()

/** A body that is there. Fails with `body-too-large` beyond the bound. */
export const takeBody = async (
  { body }: Pick<WholeMessage, 'body'>,
  { bytesMax }: Pick<BodyReaderOptions, 'bytesMax'>,
): Promise<ReadBody> => {
  if (body.length > bytesMax) throw bodyTooLarge()
  return { size: body.length, take: takeOnce(body), valuesMax: LIMITS.jsonValuesMax, done: NO_BODY.done }
}

/**
 * Reads one body. It begins as one that nobody speaks for; where it is to be larger it is asked who sends it, and it goes
 * on within what he may send. Memory is taken as bytes arrive, never as they are announced, but for a place in the room.
 * Fails with `body-too-large` beyond the bound of the listener.
 */
class BodyReader {
  readonly #request: IncomingMessage
  readonly #options: BodyReaderOptions
  /** Made for those who are asked: most bodies are through before anybody is. */
  #gone: AbortController | undefined
  readonly #announced: number | undefined
  #resolve: (body: ReadBody) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined
  #open: OpenBody | undefined
  #place: Place | undefined
  #bytes: Buffer = NOTHING
  #size = 0
  /** Bytes that may arrive before the allowance is asked for again. */
  #limit: number
  #allowance: BodyAllowance | undefined
  #isOver = false

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
    request.once('error', (cause) => this.#fail(new ClientGone('the client went away', { cause })))
    if ((this.#announced ?? 0) > this.#options.bytesMax) {
      this.#fail(bodyTooLarge())
      return
    }
    this.#open = this.#options.room.begin((error) => this.#fail(error))
    request.on('data', (chunk: Buffer) => this.#take(chunk))
    request.once('end', () => this.#finish())
    if ((this.#announced ?? 0) > this.#limit) this.#ask(NOTHING)
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#size + chunk.length > this.#limit) this.#ask(chunk)
    else this.#add(chunk)
  }

  #add(chunk: Buffer): void {
    this.#place?.receive(chunk.length)
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

  /** Pieces are not kept as they came: each of a single byte would cost a hundred. */
  #extend(needed: number): void {
    const doubled = Math.max(needed, 2 * this.#bytes.length, FIRST_BYTES)
    const isPlaced = this.#place !== undefined && this.#announced !== undefined
    const capacity = isPlaced ? (this.#announced ?? needed) : Math.min(doubled, this.#limit)
    const before = this.#bytes
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
    before.copy(this.#bytes, 0, 0, this.#size)
    this.#open?.grow(capacity - before.length)
  }

  /** Who sends this, and how much may he? What has arrived beyond the limit waits for the answer, what has not is not read. */
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
    if (this.#isOver) return
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
    this.#options.room.enter(this.#announced ?? bytesMax, gone, fail).then((place) => this.#goOn(place, chunk), fail)
  }

  #goOn(place: Place, chunk: Buffer): void {
    if (this.#isOver) {
      place.leave()
      return
    }
    this.#place = place
    this.#open?.end()
    this.#open = undefined
    this.#add(chunk)
    this.#request.resume()
  }

  /** The request goes on without its body: what serves the path may have more to say against it than its size. */
  #refuse(refusal: LogicalError): void {
    this.#end()
    this.#resolve({ ...NO_BODY, refusal })
  }

  #finish(): void {
    if (this.#isOver) return
    const { valuesMax } = this.#allowance ?? { valuesMax: LIMITS.jsonValuesMax }
    const bytes = this.#size === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#size)
    const place = this.#place
    place?.complete()
    this.#place = undefined
    this.#end()
    this.#resolve({ size: bytes.length, take: takeOnce(bytes), valuesMax, done: () => place?.leave() })
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#reject(error)
  }

  /** The rest of the body is thrown away as it comes. */
  #end(): void {
    this.#isOver = true
    this.#open?.end()
    this.#place?.leave()
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

/** A file, by whoever has made sure that its sender may send it. */
export const readFileBody = async (request: Message, room: BodyRoom): Promise<Buffer> => {
  if (isEmptyBody(request)) return NOTHING
  const bytesMax = LIMITS.snapshotBytesMax
  const allowance = () => ({ bytesMax, valuesMax: 0, isAuthorised: true })
  const { take, done } = await readBody(request, { room, bytesMax, allowance })
  done()
  return take()
}
