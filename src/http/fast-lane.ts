import type { Socket } from 'node:net'
import { type NodeParser, type ParserHooks, parserOf } from './parser-hooks.js'
import { readPlainHeaders, WholeMessage } from './whole-message.js'

const API = '/v1/'

/** What Node's parser says of a head. Headers and target are absent where it had to say them piece by piece. */
type Head = readonly [
  major: number,
  minor: number,
  headers: readonly string[] | undefined,
  method: number,
  url: string | undefined,
  status: undefined,
  reason: undefined,
  isUpgrade: boolean,
  isKept: boolean,
]
type OnHead = (...head: Head) => unknown
type OnBody = (bytes: Buffer) => unknown
type OnEnd = () => unknown

/** The message that the parser reads is Node's. */
const NONE = -1

/**
 * Takes messages from Node's parser before its server makes a request and a response of them, which costs more than all
 * that is done with most of them. It takes plain ones below `/v1/` whose body has come with the head; whatever else the
 * parser reads goes on to the server as if there were no lane.
 */
export class FastLane {
  readonly #socket: Socket
  readonly #parser: NodeParser
  readonly #hooks: ParserHooks
  readonly #onBody: OnBody
  /** Bytes that have come behind the head that the parser is given next. */
  #atHand = NONE
  #isList = false
  #message: WholeMessage | undefined

  /** To be made when Node's HTTP server has taken the socket. Undefined without a parser to be asked. */
  static over(socket: Socket, hooks: ParserHooks | undefined): FastLane | undefined {
    const parser = hooks && parserOf(socket)
    return parser && new FastLane(socket, parser, hooks)
  }

  private constructor(socket: Socket, parser: NodeParser, hooks: ParserHooks) {
    this.#socket = socket
    this.#parser = parser
    this.#hooks = hooks
    const { head, body, end } = hooks
    const before = { [head]: parser[head], [body]: parser[body], [end]: parser[end] }
    const leave = () => void Object.assign(parser, before)
    const onHead = (parser[head] as OnHead).bind(parser)
    const onBody = (parser[body] as OnBody).bind(parser)
    const onEnd = (parser[end] as OnEnd).bind(parser)
    const takeHead: OnHead = (...found) => {
      if (this.#takes(found)) return 0
      if (isUpgrade(found)) leave()
      return onHead(...found)
    }
    const takeEnd: OnEnd = () => {
      if (this.#message) this.#message.complete = true
      else onEnd()
    }
    this.#onBody = (bytes) => (this.#message ? undefined : onBody(bytes))
    Object.assign(parser, { [head]: takeHead, [body]: this.#onBody, [end]: takeEnd })
    // Node gives its parser to another connection, which may be none of ours.
    socket.prependOnceListener('close', leave)
  }

  /** The message that was taken of the head that the parser has been given last. */
  get message(): WholeMessage | undefined {
    return this.#message
  }

  /** The rest of a head goes to the parser next, and so many bytes have come behind it. */
  offer(atHand: number, isList: boolean): void {
    this.#atHand = atHand
    this.#isList = isList
  }

  /** What the parser is given next begins another message. */
  clear(): void {
    this.#atHand = NONE
    this.#message = undefined
  }

  /** Gives the parser the body of the message that was taken; it makes no copy of what nobody asks for. */
  passBody(body: Buffer, feed: (bytes: Buffer) => void): void {
    this.#parser[this.#hooks.body] = undefined
    feed(body)
    this.#parser[this.#hooks.body] = this.#onBody
  }

  #takes(found: Head): boolean {
    const [major, minor, pairs, method, url = '', , , , isKept] = found
    const isPlain = isKept && !isUpgrade(found) && minor === 1 && major === 1
    if (this.#atHand === NONE || !isPlain || !pairs || !url.startsWith(API)) return false
    const sent = this.#hooks.verbs.get(method)
    const verb = this.#isList ? 'LIST' : sent
    if (verb === undefined || verb === 'LINK') return false
    const headers = readPlainHeaders(pairs)
    if (!headers || Number(headers['content-length'] ?? 0) > this.#atHand) return false
    this.#atHand = NONE
    this.#message = new WholeMessage(verb, url, headers, this.#socket)
    return true
  }
}

const isUpgrade = ([, , , , , , , is]: Head): boolean => is
