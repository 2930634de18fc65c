import type { ClientCertificates } from './connection/tls.js'
import { requestGc } from '../base/garbage.js'
import { uuid } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { BodyAllowance, BodySender, IncomingRequest, Rendered, LabRequest } from '../logical/incoming.js'
import type { PathRules } from '../logical/path-rules.js'
import type { Withheld } from '../logical/request.js'
import type { ResponseBudget } from './limits/response-budget.js'
import { ClientGone, isEmptyBody, NO_BODY, readBody, type ReadBody, readFileBody } from './request/body-reader.js'
import type { RequestBodyBudget } from './limits/request-body-budget.js'
import { clientAddress, type ForwardedForSettings } from './connection/client-address.js'
import {
  namespaceOf,
  readFields,
  readHead,
  readRequest,
  type Received,
  type RequestHead,
  senderOf,
} from './request/incoming-request.js'
import { API, parseQuery, parseTarget, renderMoved, LAB_API, type Target } from './message/target.js'
import { answerCors, type WebSettings } from './message/cors.js'
import { checkFraming } from './message/request-headers.js'
import { Sender, type SenderOptions } from './response/respond.js'
import { renderError } from './message/status-codes.js'
import type { Answer, Message } from './message/direct-answer.js'
import { welcome } from './response/welcome.js'

export interface HttpHandlerOptions extends SenderOptions {
  /** Handles requests below `/v1`. A LogicalError becomes its error response, and any other error becomes 500. */
  readonly handle: (request: IncomingRequest) => Promise<Rendered>
  /** Handles requests below `/_understudy/v1`. If absent, these paths do not exist. */
  readonly lab?: ((request: LabRequest) => Promise<Rendered>) | undefined
  /** Returns a file of the web page; undefined for other paths. `accept` is the client's Accept header. */
  readonly page?: ((path: string, accept: string) => Rendered | undefined) | undefined
  readonly random: Random
  readonly log: Log
  readonly forwardedFor?: ForwardedForSettings | undefined
  /**
   * The normalized namespace of the listener, which contains the namespaces of all requests. Default: the root
   * namespace.
   */
  readonly chrootNamespace?: string | undefined
  /** Information that the listener withholds from its clients. */
  readonly withheld?: readonly Withheld[] | undefined
  /** The certificates of the clients, by connection. */
  readonly clients: Pick<ClientCertificates, 'of'>
  /** Returns the rules of a path below `/v1/`. */
  readonly rulesOf: (path: string) => PathRules
  /**
   * Returns the limits of a sender. Called for a body larger than the limit for unauthenticated senders. `gone` aborts
   * if the client disconnects.
   */
  readonly allowBody: (sender: BodySender, gone: AbortSignal) => BodyAllowance | Promise<BodyAllowance>
  /** The budget for request bodies, which all listeners of a server share. */
  readonly bodies: RequestBodyBudget
  /** The budget for responses, which all listeners of a server share. */
  readonly answers: ResponseBudget
  readonly bodyBytesMax: number
}

/** The limits of bodies below `/_understudy`: no body may exceed the limit for unauthenticated senders. */
const LAB_ALLOWANCE: BodyAllowance = { bytesMax: 0, valuesMax: 0, isAuthorised: false }

const NOT_FOUND = new LogicalError('not-found', '')

/** Releases the resources of a response that cannot be delivered. */
const abandon = async ({ body }: Rendered): Promise<void> => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) await body[Symbol.asyncIterator]().return?.()
}

/** Parses messages, calls the handlers and sends their responses. */
export class HttpHandler {
  readonly #options: HttpHandlerOptions
  readonly #sender: Sender

  constructor(options: HttpHandlerOptions) {
    this.#options = options
    this.#sender = new Sender(options)
  }

  /**
   * Responds to a message. `verb` overrides the method that the parser reports. `isLast` is called when the response is
   * ready. If it returns true, the connection is closed after the response.
   */
  async answer(request: Message, response: Answer, verb: string, isLast: () => boolean): Promise<void> {
    try {
      const target = admit(request)
      const early = request.headers.origin === undefined ? undefined : answerCors(this.#web?.cors, request, verb)
      let rendered: Rendered
      if (early) rendered = early
      else if (target.location !== undefined) {
        // Lets the parser process the bytes that have arrived before `isLast` is evaluated.
        await undefined
        rendered = renderMoved(verb, target.location)
      } else if (target.path.startsWith(API)) {
        const received = this.#receive(request, verb, target)
        const head = readHead(received)
        const isBodied = !head.isFile && !isEmptyBody(request)
        const body = isBodied ? await this.#readBody(received, head) : NO_BODY
        rendered = await this.#handle(received, head, body, response)
      } else rendered = this.#renderPage(request, verb, target) ?? (await this.#renderLab(request, verb, target))
      if (response.headersSent) return await abandon(rendered)
      checkStatus(rendered)
      await this.#sender.respond(request, response, rendered, isLast() || !request.complete)
    } catch (error) {
      await this.fail(request, response, error, isLast())
    }
  }

  /** Responds with an error. If the message has not been read completely, closes the connection after the response. */
  async fail(request: Message, response: Answer, error: unknown, isLast: boolean): Promise<void> {
    if (error instanceof ClientGone || isCutShort(error)) return
    this.#report(error, request)
    // Lets the parser process the bytes that have arrived before `isLast` is evaluated.
    await undefined
    if (response.headersSent) response.destroy()
    else await this.#sender.respond(request, response, renderError(error), isLast || !request.complete)
  }

  get #web(): WebSettings | undefined {
    return this.#options.web?.()
  }

  #receive(message: Message, verb: string, target: Target): Received {
    const { forwardedFor, rulesOf, chrootNamespace, withheld, clients } = this.#options
    const remoteAddress = clientAddress(message, forwardedFor)
    const path = target.path.slice(API.length)
    return {
      message,
      verb,
      path,
      query: target.query,
      remoteAddress,
      peerCertificates: clients.of(message.socket),
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
    return readBody(received.message, { budget: bodies, bytesMax: bodyBytesMax, allowance })
  }

  async #handle(received: Received, head: RequestHead, body: ReadBody, sink: Answer): Promise<Rendered> {
    const { handle, random, bodies, answers } = this.#options
    try {
      const fields = readFields(received, head, body)
      const data = fields instanceof Promise ? await fields : fields
      const readFile = () => readFileBody(received.message, bodies)
      const { size: bodyBytes, refusal: bodyRefusal } = body
      const responseBudget = answers.reservationFor({ response: sink, socket: received.message.socket })
      const parts = { random, readFile, bodyBytes, bodyRefusal, responseBudget }
      return await handle(readRequest(received, head, data, parts))
    } finally {
      body.done()
      if (body.size > LIMITS.openBodyBytesMax) requestGc(body.size)
    }
  }

  async #readLabBody(message: Message): Promise<Buffer> {
    if (isEmptyBody(message)) return NO_BODY.take()
    const options = { budget: this.#options.bodies, bytesMax: LIMITS.openBodyBytesMax, allowance: () => LAB_ALLOWANCE }
    const { take, refusal } = await readBody(message, options)
    if (refusal) throw refusal
    return take()
  }

  #renderPage({ headers: { accept } }: Message, verb: string, { path }: Target): Rendered | undefined {
    if (verb !== 'GET' && verb !== 'HEAD') return undefined
    const page = this.#options.page?.(path, accept ?? '') ?? welcome(path, accept)
    return page && withHeaders(page, this.#web?.pageHeaders ?? {})
  }

  async #renderLab(message: Message, method: string, { path, query }: Target): Promise<Rendered> {
    const { lab, forwardedFor, random, chrootNamespace, withheld } = this.#options
    if (!lab || !`${path}/`.startsWith(LAB_API)) throw NOT_FOUND
    checkFraming(message.headers)
    return lab({
      id: uuid(random),
      method,
      path: path.slice(LAB_API.length),
      query: parseQuery(query),
      headers: message.headers,
      body: await this.#readLabBody(message),
      namespaceHeader: namespaceOf(message.headers, chrootNamespace),
      withheld,
      isTls: 'encrypted' in message.socket,
      remoteAddress: clientAddress(message, forwardedFor),
    })
  }

  #report(error: unknown, request: Message): void {
    if (error instanceof LogicalError && error.code !== 'internal') return
    const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
    this.#options.log.error('a request failed with an internal error', {
      method: request.method,
      name,
      message,
      stack,
      cause,
    })
  }
}

/** Returns the response with other headers, which replace its headers of the same name. */
const withHeaders = (rendered: Rendered, headers: Readonly<Record<string, string>>): Rendered => {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  if (names.size === 0) return rendered
  const kept = Object.entries(rendered.headers).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...rendered, headers: { ...Object.fromEntries(kept), ...headers } }
}

/** Returns true if the client disconnected during a stream. */
const isCutShort = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

const admit = (request: Message): Target => {
  if (request.headers.host === undefined && request.httpVersion === '1.1') throw invalid('missing Host header')
  return parseTarget(request.url ?? '')
}

/**
 * Throws LogicalError 400 if the status code is not between 200 and 999. Clients of sys/health can choose a status
 * code.
 */
const checkStatus = ({ status }: Rendered): void => {
  if (!(Number.isInteger(status) && status >= 200 && status <= 999)) throw invalid('')
}
