import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, Rendered, LabRequest } from '../../logical/incoming.js'
import type { PathRules } from '../../logical/path-rules.js'
import { takeBody } from '../request/body-reader.js'
import { namespaceOf, readFields, readHead, readRequest } from '../request/incoming-request.js'
import { API, parseQuery, parseTarget, renderMoved, LAB_API } from '../message/target.js'
import { renderError } from '../message/status-codes.js'

/** A complete message that did not arrive over a connection. */
export interface SentMessage {
  readonly verb: string
  /** Path and query, as the client sent them. */
  readonly url: string
  /** The headers by name in lower case. */
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface AnswerOptions {
  readonly handle: (request: IncomingRequest) => Promise<Rendered>
  readonly lab: (request: LabRequest) => Promise<Rendered>
  readonly rulesOf: (path: string) => PathRules
  readonly random: Random
  readonly id: () => string
  /** Called with every error that is not a LogicalError. */
  readonly onBug: (error: unknown) => void
}

const REMOTE_ADDRESS = '127.0.0.1'
const REMOTE_PORT = 40_000

/** Returns the response of an HTTP server to a message. The body has the limit of an authenticated sender. */
export const answerWhole = async (message: SentMessage, options: AnswerOptions): Promise<Rendered> => {
  try {
    const { path, query, location } = parseTarget(message.url)
    if (location !== undefined) return renderMoved(message.verb, location)
    if (path.startsWith(API)) return await answerApi(message, path.slice(API.length), query, options)
    if (!path.startsWith(LAB_API)) throw new LogicalError('not-found', '')
    const { verb: method, headers, body } = message
    const namespaceHeader = namespaceOf(headers)
    const target = { method, path: path.slice(LAB_API.length), query: parseQuery(query), namespaceHeader }
    return await options.lab({ ...target, headers, body, id: options.id(), remoteAddress: REMOTE_ADDRESS })
  } catch (error) {
    if (!(error instanceof LogicalError)) options.onBug(error)
    return renderError(error)
  }
}

const answerApi = async (
  { verb, url, headers, body }: SentMessage,
  path: string,
  query: string,
  { handle, rulesOf, random }: AnswerOptions,
): Promise<Rendered> => {
  const socket = Object.assign(new EventEmitter(), { remotePort: REMOTE_PORT })
  const received = {
    message: { url, headers, socket },
    verb,
    path,
    query,
    remoteAddress: REMOTE_ADDRESS,
    namespaceHeader: namespaceOf(headers),
    rules: rulesOf(path),
  }
  const head = readHead(received)
  const data = await readFields(received, head, await takeBody({ body }, { bytesMax: LIMITS.bodyBytesMax }))
  const parts = {
    random,
    readFile: async () => body,
    bodyBytes: body.length,
    bodyRefusal: undefined,
    responseBudget: undefined,
  }
  return handle(readRequest(received, head, data, parts))
}
