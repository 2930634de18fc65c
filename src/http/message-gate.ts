import type { Socket } from 'node:net'
import { type Answer, DirectAnswer } from './direct-answer.js'
import type { FastLane } from './fast-lane.js'
import { findEnd, matchedAtEnd } from './blank-line.js'
import type { Message, WholeMessage } from './whole-message.js'

const VERB = Buffer.from('LIST ')
const CR = 0x0d
const LF = 0x0a

/** Where the bytes that come next belong. */
type Position =
  | { readonly in: 'start' }
  | { readonly in: 'head'; readonly matched: number }
  | { readonly in: 'sized-body'; readonly left: number }
  | { readonly in: 'chunked-body'; readonly matched: number }
  | { readonly in: 'answer' }

/** What is taken in the fast lane never becomes a request of Node's; it is served at once. */
interface FastLaneUse {
  readonly lane: FastLane
  readonly serve: (message: WholeMessage, answer: DirectAnswer) => void
}

const START: Position = { in: 'start' }
const FRESH_HEAD: Position = { in: 'head', matched: 0 }
const ANSWER: Position = { in: 'answer' }

/**
 * Stands between a socket and Node's parser, which does not know the verb LIST: the first bytes `LIST ` of a message become
 * `LINK `, a verb of the same length, and the gate remembers that they were not. A message begins only where the parser
 * itself has said that the one before it is complete and its answer has been sent; until then bytes are buffered. So the
 * parser never holds two messages, bodies are never touched, and bytes are handed on without a copy. Where gate and
 * parser disagree about the end of a message the connection is cut.
 */
export class MessageGate {
  readonly #socket: Socket
  readonly #feed: (chunk: Buffer) => void
  readonly #fast: FastLaneUse | undefined
  #position: Position = START
  #buffered: Buffer | undefined
  #request: Message | undefined
  #response: Answer | undefined
  /** The slice being fed ends with what ends a head. */
  #mayBegin = false
  #begun = 0
  #isList = false
  #isHolding = false
  #isStopped = false

  /** To be made when Node's HTTP server has taken the socket, in the same turn. */
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

  /** True when the message that is being answered was sent as LIST. */
  get isList(): boolean {
    return this.#isList
  }

  /** The answer that is due or being sent; undefined between messages. */
  get openResponse(): Answer | undefined {
    return this.#response?.writableFinished ? undefined : this.#response
  }

  /** The answer that is due to a message that is complete. */
  get dueAnswer(): Answer | undefined {
    return this.#request?.complete ? this.openResponse : undefined
  }

  /** Messages that have begun. */
  get begun(): number {
    return this.#begun
  }

  /** Between two messages: one was answered, and none has begun since. */
  get isIdle(): boolean {
    if (this.#begun === 0) return false
    return this.#position.in === 'start' || (this.#position.in === 'answer' && !this.openResponse && !this.#buffered)
  }

  /** The parser has read a head. False when it should not have: the bytes since are not to be trusted. */
  begin(request: Message, response: Answer): boolean {
    if (!this.#mayBegin || this.#request) return false
    this.#open(request, response)
    return true
  }

  /** Nothing more is read from this connection; what still comes is thrown away. */
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

  /** Hands on what belongs together; false when more bytes, or the end of an answer, must come first. */
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
    this.#handOn(buffered, end ?? buffered.length)
    this.#mayBegin = false
    const whole = this.#fast?.lane.message
    if (this.#fast && whole) return this.#serveWhole(this.#fast, whole)
    const request = this.#request
    if (end === undefined) this.#position = { in: 'head', matched: matchedAtEnd(buffered, matched) }
    else if (!request) this.#cut()
    else if (request.headers['transfer-encoding'] !== undefined) this.#position = { in: 'chunked-body', matched: 0 }
    else this.#passed(Number(request.headers['content-length'] ?? 0))
    return true
  }

  /** All of its body has come: the parser sees the end of it, and it is served. */
  #serveWhole({ lane, serve }: FastLaneUse, message: WholeMessage): boolean {
    const size = Number(message.headers['content-length'] ?? 0)
    const buffered = this.#buffered
    if (size > 0 && buffered) {
      message.body = size === buffered.length ? buffered : buffered.subarray(0, size)
      this.#buffered = size === buffered.length ? undefined : buffered.subarray(size)
      lane.passBody(message.body, this.#feed)
    }
    if (!message.complete) {
      this.#cut()
      return false
    }
    // Node's server, which sees no message of the fast lane, has set it behind one of its own.
    if (this.#socket.timeout) this.#socket.setTimeout(0)
    const answer = new DirectAnswer(message)
    this.#open(message, answer)
    this.#position = ANSWER
    serve(message, answer)
    return true
  }

  #passSized(buffered: Buffer, left: number): boolean {
    const size = Math.min(left, buffered.length)
    this.#handOn(buffered, size)
    this.#passed(left - size)
    return true
  }

  #passChunked(buffered: Buffer, matched: number): boolean {
    const end = findEnd(buffered, matched)
    this.#handOn(buffered, end ?? buffered.length)
    const isComplete = this.#request?.complete === true
    if (end === undefined) {
      if (isComplete) this.#cut()
      this.#position = { in: 'chunked-body', matched: matchedAtEnd(buffered, matched) }
    } else this.#position = isComplete ? ANSWER : { in: 'chunked-body', matched: 0 }
    return true
  }

  /** The parser must see the end of a sized message where its size says, neither before nor after. */
  #passed(left: number): void {
    if ((left === 0) !== (this.#request?.complete === true)) this.#cut()
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

  #handOn(buffered: Buffer, size: number): void {
    const isAll = size === buffered.length
    this.#buffered = isAll ? undefined : buffered.subarray(size)
    this.#feed(isAll ? buffered : buffered.subarray(0, size))
  }

  #cut(): void {
    if (this.#isStopped) return
    this.stop()
    this.#socket.destroy()
  }
}
