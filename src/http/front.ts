import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import { invalid, LogicalError } from '../logical/errors.js'
import type { IncomingRequest, Rendered, SideRequest } from '../logical/incoming.js'
import { ClientGone, hasBody, readBody } from './body.js'
import { clientAddress, type ForwardedForSettings } from './client-address.js'
import { readRequest } from './incoming-request.js'
import { checkFraming } from './request-headers.js'
import { respond } from './respond.js'
import { renderError } from './status-codes.js'
import { parseTarget, type Target } from './target.js'
import { parseQuery } from './url-pairs.js'

export interface FrontOptions {
  /** Serves `/v1`. What it throws is answered as an error; a LogicalError says which. */
  readonly handle: (request: IncomingRequest) => Promise<Rendered>
  /** Serves `/_understudy/v1`; without it those paths do not exist. */
  readonly lab?: ((request: SideRequest) => Promise<Rendered>) | undefined
  readonly random: Random
  readonly log: Log
  readonly forwardedFor?: ForwardedForSettings | undefined
  readonly bodyBytesMax: number
}

const API = '/v1/'
const SIDE = '/_understudy/v1/'

const NOT_FOUND = new LogicalError('not-found', '')

/** From a message to its answer: everything between Express and the handlers. Holds no state. */
export class Front {
  readonly #options: FrontOptions

  constructor(options: FrontOptions) {
    this.#options = options
  }

  /** Answers a message whose verb is `verb`, whatever the parser called it. */
  async answer(request: IncomingMessage, response: ServerResponse, verb: string, isLast: boolean): Promise<void> {
    try {
      const rendered = await this.#render(request, verb)
      if (!response.headersSent) await respond(request, response, rendered, isLast)
    } catch (error) {
      await this.fail(request, response, error, isLast)
    }
  }

  /** Answers with an error. A connection whose message was not read to its end is not used again. */
  async fail(request: IncomingMessage, response: ServerResponse, error: unknown, isLast: boolean): Promise<void> {
    if (error instanceof ClientGone) return
    this.#report(error, request)
    if (response.headersSent) response.destroy()
    else await respond(request, response, renderError(error), isLast || !request.complete)
  }

  #render(request: IncomingMessage, verb: string): Promise<Rendered> {
    if (request.headers.host === undefined && request.httpVersion === '1.1') throw invalid('missing Host header')
    const target = parseTarget(request.url ?? '')
    if (target.path.startsWith(API)) return this.#renderApi(request, verb, target)
    if (this.#options.lab && target.path.startsWith(SIDE))
      return this.#renderSide(request, verb, target, this.#options.lab)
    throw NOT_FOUND
  }

  async #renderApi(message: IncomingMessage, verb: string, { path, query }: Target): Promise<Rendered> {
    const remoteAddress = clientAddress(message, this.#options.forwardedFor)
    const received = { message, verb, path: path.slice(API.length), query, remoteAddress }
    return checkStatus(await this.#options.handle(await readRequest(received, this.#options)))
  }

  async #renderSide(
    message: IncomingMessage,
    verb: string,
    { path, query }: Target,
    lab: (request: SideRequest) => Promise<Rendered>,
  ): Promise<Rendered> {
    checkFraming(message.headers)
    const body = hasBody(message) ? await readBody(message, this.#options.bodyBytesMax) : Buffer.alloc(0)
    return lab({
      method: verb,
      path: path.slice(SIDE.length),
      query: parseQuery(query),
      headers: message.headers,
      body,
      remoteAddress: clientAddress(message, this.#options.forwardedFor),
    })
  }

  #report(error: unknown, request: IncomingMessage): void {
    if (error instanceof LogicalError && error.code !== 'internal') return
    const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
    this.#options.log.error('a request failed inside', { method: request.method, name, message, stack, cause })
  }
}

/** Codes that a client chose (those of sys/health) must be codes that end a message. */
const checkStatus = (rendered: Rendered): Rendered => {
  if (rendered.status >= 200 && rendered.status <= 999) return rendered
  throw invalid('')
}
