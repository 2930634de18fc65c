import type { Socket } from 'node:net'
import { type NodeParser, type ParserHooks, parserOf } from './parser-hooks.js'
import { readPlainHeaders, WholeMessage } from '../message/direct-answer.js'

const API = '/v1/'

/** The arguments of Node's head callback. Headers and target are undefined if the parser reported them in pieces. */
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

/** Value of `#atHand` while the parser reads a message that belongs to Node's server. */
const NONE = -1

/**
 * Takes messages from Node's parser before Node creates a request and a response, which takes more time than the work
 * of most requests. Takes only plain messages below `/v1/` whose body arrived together with the head. All other
 * messages go to Node's server as usual.
 */
export class FastLane {
  readonly #socket: Socket
  readonly #parser: NodeParser
  readonly #hooks: ParserHooks
  readonly #onBody: OnBody
  /** The number of bytes that have arrived after the head that the parser reads next, or `NONE`. */
  #atHand = NONE
  #isList = false
  #message: WholeMessage | undefined

  /**
   * Creates the fast lane of a socket that Node's HTTP server has taken. Returns undefined if the parser has no hooks.
   */
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
    // Node reuses the parser for another connection, which may belong to a different server.
    socket.prependOnceListener('close', leave)
  }

  /** The message that the fast lane has taken from the last head; undefined if it has taken none. */
  get message(): WholeMessage | undefined {
    return this.#message
  }

  /**
   * Announces that the parser receives the rest of a head next, and that `atHand` bytes have arrived after the head.
   */
  offer(atHand: number, isList: boolean): void {
    this.#atHand = atHand
    this.#isList = isList
  }

  /** Announces that the parser receives the beginning of another message next. */
  clear(): void {
    this.#atHand = NONE
    this.#message = undefined
  }

  /**
   * Passes the body of the taken message to the parser. Disables the body callback, so that the parser makes no copy
   * for it.
   */
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
