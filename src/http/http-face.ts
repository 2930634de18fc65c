import { letGo } from '../base/garbage.js'
import { uuid } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import type { Clock } from '../base/clock.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered, SideRequest } from '../logical/incoming.js'
import type { PathRules } from '../logical/path-rules.js'
import type { Withheld } from '../logical/request.js'
import type { AnswerRoom } from './answer-room.js'
import { ClientGone, isEmptyBody, NO_BODY, readBody, readFileBody, type ReadBody } from './body-reader.js'
import type { BodyRoom } from './body-room.js'
import { clientAddress, type ForwardedForSettings } from './client-address.js'
import {
  type Received,
  type RequestHead,
  namespaceOf,
  readFields,
  readHead,
  readRequest,
  senderOf,
} from './incoming-request.js'
import { API, SIDE } from './paths.js'
import { checkFraming } from './request-headers.js'
import { Sender } from './respond.js'
import { renderError } from './status-codes.js'
import type { Answer } from './direct-answer.js'
import { parseTarget, renderMoved, type Target } from './target.js'
import { parseQuery } from './url-pairs.js'
import { welcome } from './welcome.js'
import type { Message } from './whole-message.js'

export interface HttpFaceOptions {
  /** Serves `/v1`. What it throws is answered as an error; a LogicalError says which. */
  readonly handle: (request: IncomingRequest) => Promise<Rendered>
  /** Serves `/_understudy/v1`; without it those paths do not exist. */
  readonly lab?: ((request: SideRequest) => Promise<Rendered>) | undefined
  /** The page for browsers: what is at a path for whoever accepts `accept`; undefined where it is none of it. */
  readonly page?: ((path: string, accept: string) => Rendered | undefined) | undefined
  readonly random: Random
  readonly log: Log
  readonly forwardedFor?: ForwardedForSettings | undefined
  /** The namespace below which every request of the listener is made, normalized; absent: the root namespace. */
  readonly chrootNamespace?: string | undefined
  /** What the listener keeps from its clients. */
  readonly withheld?: readonly Withheld[] | undefined
  /** The rules of a path below `/v1/`. */
  readonly rulesOf: (path: string) => PathRules
  /** Asked for a body that is larger than everybody may send: how much this sender may. */
  readonly allowBody: (sender: BodySender, gone: AbortSignal) => BodyAllowance | Promise<BodyAllowance>
  /** Shared by all listeners of a server. */
  readonly bodies: BodyRoom
  /** Shared by all listeners of a server. */
  readonly answers: AnswerRoom
  readonly bodyBytesMax: number
  readonly clock: Clock
  /** Headers that each answer has besides its own: names and values in turns. */
  readonly ownHeaders?: readonly string[]
  /** How long a client is told that it may keep a connection on which nothing happens. */
  readonly idleMs: number
}

/** Our own endpoints take little. */
const SIDE_ALLOWANCE: BodyAllowance = { bytesMax: 0, valuesMax: 0, isAuthorised: false }

const NOT_FOUND = new LogicalError('not-found', '')

/** An answer that nobody gets: whatever stands behind it is let go. */
const abandon = async ({ body }: Rendered): Promise<void> => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) await body[Symbol.asyncIterator]().return?.()
}

/** From a message to its answer: everything between Express and the handlers. */
export class HttpFace {
  readonly #options: HttpFaceOptions
  readonly #sender: Sender

  constructor(options: HttpFaceOptions) {
    this.#options = options
    this.#sender = new Sender(options.clock, options.idleMs, options.ownHeaders)
  }

  /** Answers a message whose verb is `verb`, whatever the parser called it. `isLast` is asked when the answer is ready. */
  async answer(request: Message, response: Answer, verb: string, isLast: () => boolean): Promise<void> {
    try {
      const target = admit(request)
      let rendered: Rendered
      if (target.location !== undefined) {
        // The part of the message that has arrived goes through the parser before its end is asked for.
        await undefined
        rendered = renderMoved(verb, target.location)
      } else if (target.path.startsWith(API)) {
        const received = this.#receive(request, verb, target)
        const head = readHead(received)
        const isBodied = !head.isFile && !isEmptyBody(request)
        const body = isBodied ? await this.#readBody(received, head) : NO_BODY
        rendered = await this.#handle(received, head, body, response)
      } else rendered = this.#renderPage(request, verb, target) ?? (await this.#renderSide(request, verb, target))
      if (response.headersSent) return await abandon(rendered)
      checkStatus(rendered)
      await this.#sender.respond(request, response, rendered, isLast() || !request.complete)
    } catch (error) {
      await this.fail(request, response, error, isLast())
    }
  }

  /** Answers with an error. A connection whose message was not read to its end is not used again. */
  async fail(request: Message, response: Answer, error: unknown, isLast: boolean): Promise<void> {
    if (error instanceof ClientGone || isCutShort(error)) return
    this.#report(error, request)
    // The part of the message that has arrived goes through the parser before its end is asked for.
    await undefined
    if (response.headersSent) response.destroy()
    else await this.#sender.respond(request, response, renderError(error), isLast || !request.complete)
  }

  #receive(message: Message, verb: string, target: Target): Received {
    const { forwardedFor, rulesOf, chrootNamespace, withheld } = this.#options
    const remoteAddress = clientAddress(message, forwardedFor)
    const path = target.path.slice(API.length)
    return {
      message,
      verb,
      path,
      query: target.query,
      remoteAddress,
      namespaceHeader: namespaceOf(message.headers, chrootNamespace),
      withheld,
      rules: rulesOf(path),
    }
  }

  #readBody(received: Received, head: RequestHead): Promise<ReadBody> {
    const { bodies, bodyBytesMax, allowBody } = this.#options
    const allowance = async (gone: AbortSignal) => {
      const sender = senderOf(received, head)
      const allowed = await allowBody(sender, gone)
      received.waitEndMs = sender.waitEndMs
      return allowed
    }
    return readBody(received.message, { room: bodies, bytesMax: bodyBytesMax, allowance })
  }

  async #handle(received: Received, head: RequestHead, body: ReadBody, sink: Answer): Promise<Rendered> {
    const { handle, random, bodies, answers } = this.#options
    try {
      const fields = readFields(received, head, body)
      const data = fields instanceof Promise ? await fields : fields
      const readFile = () => readFileBody(received.message, bodies)
      const { size: bodyBytes, refusal: bodyRefusal } = body
      const answerRoom = answers.placeFor({ response: sink, socket: received.message.socket })
      const parts = { random, readFile, bodyBytes, bodyRefusal, answerRoom }
      return await handle(readRequest(received, head, data, parts))
    } finally {
      body.done()
      if (body.size > LIMITS.openBodyBytesMax) letGo(body.size)
    }
  }

  async #readSideBody(message: Message): Promise<Buffer> {
    if (isEmptyBody(message)) return NO_BODY.take()
    const options = { room: this.#options.bodies, bytesMax: LIMITS.openBodyBytesMax, allowance: () => SIDE_ALLOWANCE }
    const { take, refusal } = await readBody(message, options)
    if (refusal) throw refusal
    return take()
  }

  #renderPage({ headers: { accept } }: Message, verb: string, { path }: Target): Rendered | undefined {
    if (verb !== 'GET' && verb !== 'HEAD') return undefined
    return this.#options.page?.(path, accept ?? '') ?? welcome(path, accept)
  }

  async #renderSide(message: Message, method: string, { path, query }: Target): Promise<Rendered> {
    const { lab, forwardedFor, random, chrootNamespace, withheld } = this.#options
    if (!lab || !`${path}/`.startsWith(SIDE)) throw NOT_FOUND
    checkFraming(message.headers)
    return lab({
      id: uuid(random),
      method,
      path: path.slice(SIDE.length),
      query: parseQuery(query),
      headers: message.headers,
      body: await this.#readSideBody(message),
      namespaceHeader: namespaceOf(message.headers, chrootNamespace),
      withheld,
      isTls: 'encrypted' in message.socket,
      remoteAddress: clientAddress(message, forwardedFor),
    })
  }

  #report(error: unknown, request: Message): void {
    if (error instanceof LogicalError && error.code !== 'internal') return
    const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
    this.#options.log.error('a request failed inside', { method: request.method, name, message, stack, cause })
  }
}

/** The client went away in the middle of a stream. */
const isCutShort = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

const admit = (request: Message): Target => {
  if (request.headers.host === undefined && request.httpVersion === '1.1') throw invalid('missing Host header')
  return parseTarget(request.url ?? '')
}

/** Codes that a client chose (those of sys/health) must be codes that end a message. */
const checkStatus = ({ status }: Rendered): void => {
  if (!(Number.isInteger(status) && status >= 200 && status <= 999)) throw invalid('')
}
