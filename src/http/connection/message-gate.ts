import type { Socket } from 'node:net'
import { type Answer, DirectAnswer, type Message, type WholeMessage } from '../message/direct-answer.js'
import type { FastLane } from './fast-lane.js'
import { findEnd, matchedAtEnd } from './blank-line.js'

const VERB = Buffer.from('LIST ')
const CR = 0x0d
const LF = 0x0a

/** The part of a message to which the next bytes belong. */
type Position =
  | { readonly in: 'start' }
  | { readonly in: 'head'; readonly matched: number }
  | { readonly in: 'sized-body'; readonly left: number }
  | { readonly in: 'chunked-body'; readonly matched: number }
  | { readonly in: 'answer' }

/** The fast lane, and the function that handles its messages, which never become requests of Node's server. */
interface FastLaneUse {
  readonly lane: FastLane
  readonly serve: (message: WholeMessage, answer: DirectAnswer) => void
}

const START: Position = { in: 'start' }
const FRESH_HEAD: Position = { in: 'head', matched: 0 }
const ANSWER: Position = { in: 'answer' }

/**
 * Passes bytes from a socket to Node's parser, which does not know the verb LIST. The gate changes `LIST ` at the
 * beginning of a message to `LINK `, a verb of the same length, and remembers the original verb. The gate passes on the
 * next message only when the parser has reported the end of the previous message and its response has been sent. Until
 * then, the gate buffers bytes. The parser therefore never handles two messages at once, and bodies are never changed
 * or copied. If gate and parser disagree about the end of a message, the gate closes the connection.
 */
export class MessageGate {
  readonly #socket: Socket
  readonly #feed: (chunk: Buffer) => void
  readonly #fast: FastLaneUse | undefined
  #position: Position = START
  #buffered: Buffer | undefined
  #request: Message | undefined
  #response: Answer | undefined
  /** True while the parser receives bytes that contain the end of a head. */
  #mayBegin = false
  #begun = 0
  #isList = false
  #isHolding = false
  #isStopped = false

  /** Must run in the turn of the event loop in which Node's HTTP server takes the socket. */
  constructor(socket: Socket, fast?: FastLaneUse) {
    const [listener] = socket.listeners('data')
    if (!listener) throw new Error('the socket has no HTTP parser')
    this.#socket = socket
    this.#fast = fast
    this.#feed = (chunk) => listener.call(socket, chunk)
    socket.off('data', listener as (chunk: Buffer) => void)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('resume', () => this.#advance())
  }

  /** True if the client sent the current message with the verb LIST. */
  get isList(): boolean {
    return this.#isList
  }

  /** The response to the current message until it has been sent; undefined between messages. */
  get openResponse(): Answer | undefined {
    return this.#response?.writableFinished ? undefined : this.#response
  }

  /** The unsent response to a message that has arrived completely; undefined if there is none. */
  get dueAnswer(): Answer | undefined {
    return this.#request?.complete ? this.openResponse : undefined
  }

  get begun(): number {
    return this.#begun
  }

  /** True between two messages: the response to the last message has been sent, and no message has begun since. */
  get isIdle(): boolean {
    if (this.#begun === 0) return false
    return this.#position.in === 'start' || (this.#position.in === 'answer' && !this.openResponse && !this.#buffered)
  }

  /**
   * Records the message whose head the parser has read. Returns false if gate and parser disagree, because no message
   * may begin now.
   */
  begin(request: Message, response: Answer): boolean {
    if (!this.#mayBegin || this.#request) return false
    this.#open(request, response)
    return true
  }

  /** Stops reading from this connection and discards further bytes. */
  stop(): void {
    this.#isStopped = true
    this.#buffered = undefined
    this.#socket.resume()
  }

  #open(request: Message, response: Answer): void {
    this.#request = request
    this.#response = response
    this.#begun++
  }

  #take(chunk: Buffer): void {
    if (this.#isStopped) return
    this.#buffered = this.#buffered ? Buffer.concat([this.#buffered, chunk]) : chunk
    if (this.#isHolding) this.#socket.pause()
    this.#advance()
  }

  #advance(): void {
    while (this.#buffered && !this.#isStopped && !this.#isHolding && !this.#socket.isPaused()) {
      if (this.#socket.destroyed || !this.#step(this.#buffered)) return
    }
  }

  /** Passes on the next bytes. Returns false if more bytes, or the end of a response, must come first. */
  #step(buffered: Buffer): boolean {
    switch (this.#position.in) {
      case 'start':
        return this.#start(buffered)
      case 'head':
        return this.#passHead(buffered, this.#position.matched)
      case 'sized-body':
        return this.#passSized(buffered, this.#position.left)
      case 'chunked-body':
        return this.#passChunked(buffered, this.#position.matched)
      case 'answer':
        return this.#awaitAnswer()
    }
  }

  #start(buffered: Buffer): boolean {
    let blank = 0
    while (buffered[blank] === CR || buffered[blank] === LF) blank++
    const rest = blank === 0 ? buffered : buffered.subarray(blank)
    this.#buffered = rest.length === 0 ? undefined : rest
    if (rest.length < VERB.length && VERB.subarray(0, rest.length).equals(rest)) return false
    this.#isList = rest[0] === VERB[0] && rest.subarray(0, VERB.length).equals(VERB)
    if (this.#isList) rest.write('LINK', 'latin1')
    this.#fast?.lane.clear()
    this.#position = FRESH_HEAD
    return true
  }

  #passHead(buffered: Buffer, matched: number): boolean {
    const end = findEnd(buffered, matched)
    this.#mayBegin = end !== undefined
    if (end !== undefined) this.#fast?.lane.offer(buffered.length - end, this.#isList)
    this.#feedParser(buffered, end ?? buffered.length)
    this.#mayBegin = false
    const whole = this.#fast?.lane.message
    if (this.#fast && whole) return this.#serveWhole(this.#fast, whole)
    const request = this.#request
    if (end === undefined) this.#position = { in: 'head', matched: matchedAtEnd(buffered, matched) }
    else if (!request) this.#closeConnection()
    else if (request.headers['transfer-encoding'] !== undefined) this.#position = { in: 'chunked-body', matched: 0 }
    else this.#passed(Number(request.headers['content-length'] ?? 0))
    return true
  }

  /** Passes the complete body to the parser, and handles the message. */
  #serveWhole({ lane, serve }: FastLaneUse, message: WholeMessage): boolean {
    const size = Number(message.headers['content-length'] ?? 0)
    const buffered = this.#buffered
    if (size > 0 && buffered) {
      message.body = size === buffered.length ? buffered : buffered.subarray(0, size)
      this.#buffered = size === buffered.length ? undefined : buffered.subarray(size)
      lane.passBody(message.body, this.#feed)
    }
    if (!message.complete) {
      this.#closeConnection()
      return false
    }
    // Node's server does not see messages of the fast lane, so its keep-alive timeout may still run since an earlier
    // message.
    if (this.#socket.timeout) this.#socket.setTimeout(0)
    const answer = new DirectAnswer(message)
    this.#open(message, answer)
    this.#position = ANSWER
    serve(message, answer)
    return true
  }

  #passSized(buffered: Buffer, left: number): boolean {
    const size = Math.min(left, buffered.length)
    this.#feedParser(buffered, size)
    this.#passed(left - size)
    return true
  }

  #passChunked(buffered: Buffer, matched: number): boolean {
    const end = findEnd(buffered, matched)
    this.#feedParser(buffered, end ?? buffered.length)
    const isComplete = this.#request?.complete === true
    if (end === undefined) {
      if (isComplete) this.#closeConnection()
      this.#position = { in: 'chunked-body', matched: matchedAtEnd(buffered, matched) }
    } else this.#position = isComplete ? ANSWER : { in: 'chunked-body', matched: 0 }
    return true
  }

  /**
   * Updates the position after bytes of a body with Content-Length. Closes the connection if the parser sees another
   * end of the message.
   */
  #passed(left: number): void {
    if ((left === 0) !== (this.#request?.complete === true)) this.#closeConnection()
    this.#position = left === 0 ? ANSWER : { in: 'sized-body', left }
  }

  #awaitAnswer(): boolean {
    const response = this.#response
    if (response && !response.writableFinished) {
      this.#isHolding = true
      this.#socket.pause()
      response.once('close', () => this.#release())
      return false
    }
    this.#request = undefined
    this.#response = undefined
    this.#position = START
    return true
  }

  #release(): void {
    this.#isHolding = false
    if (this.#socket.destroyed) return
    this.#socket.resume()
    this.#advance()
  }

  #feedParser(buffered: Buffer, size: number): void {
    const isAll = size === buffered.length
    this.#buffered = isAll ? undefined : buffered.subarray(size)
    this.#feed(isAll ? buffered : buffered.subarray(0, size))
  }

  #closeConnection(): void {
    if (this.#isStopped) return
    this.stop()
    this.#socket.destroy()
  }
}
