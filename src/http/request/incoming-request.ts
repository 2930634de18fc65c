import type { Random } from '../../base/random.js'
import { uuid } from '../../base/id.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { parseBool } from '../../logical/field-values.js'
import type { BodySender, IncomingRequest } from '../../logical/incoming.js'
import type { JsonObject } from '../../logical/json.js'
import { normalizeNamespacePath } from '../../logical/namespace-path.js'
import type { PathRules } from '../../logical/path-rules.js'
import {
  type Operation,
  type ResponseReservation,
  ROOT_NAMESPACE,
  type Withheld,
  type WrapRequest,
} from '../../logical/request.js'
import { asFolder } from '../../logical/storage.js'
import { parseFields } from './body.js'
import type { ReadBody } from './body-reader.js'
import { checkFraming, checkPatchType, findClientToken, headerText, parseWrap } from '../message/request-headers.js'
import { findParameter, originForm, parseQuery } from '../message/target.js'
import type { Message } from '../message/direct-answer.js'

/** The members of a message from which a request is built. */
interface MessageHead extends Pick<Message, 'headers' | 'url'> {
  readonly socket: {
    readonly remotePort?: number | undefined
    once(event: 'end' | 'close', listener: () => void): unknown
    off(event: 'end' | 'close', listener: () => void): unknown
  }
}

export interface Received<Head extends MessageHead = Message> {
  readonly message: Head
  /** The method that the client sent, including LIST. */
  readonly verb: string
  /** The canonical path relative to `/v1/`. */
  readonly path: string
  readonly rules: PathRules
  readonly query: string
  readonly remoteAddress: string
  /** As in `Request`. */
  readonly peerCertificates?: readonly Buffer[] | undefined
  /** As in `IncomingRequest`. */
  readonly namespaceHeader: string | undefined
  /** As in `Request`. */
  readonly withheld?: readonly Withheld[] | undefined
  /** Copied to the request, whose maximum wait includes the time that the body has waited for cluster changes. */
  waitEndMs?: number | undefined
}

export interface RequestHead {
  readonly operation: Operation
  /** True if the body is a file, which is read only on demand. */
  readonly isFile: boolean
  readonly wrap: WrapRequest | undefined
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['GET', 'read'],
  ['HEAD', 'read'],
  ['LIST', 'list'],
  ['PUT', 'update'],
  ['POST', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

/** Returns LogicalError 405 without a text, for a verb that the path never accepts. */
const wrongVerb = (): LogicalError => new LogicalError('unsupported-operation', '')

/**
 * Validates the method and the headers about the body, before the body is read. Throws LogicalError for requests that
 * violate HTTP rules.
 */
export const readHead = ({ message: { headers }, verb, rules }: Received<MessageHead>): RequestHead => {
  const operation = operationOf(verb, rules)
  checkFraming(headers)
  if (verb === 'PATCH') checkPatchType(headers)
  const isFile = isWrite(operation) && rules.body === 'file'
  return { operation, isFile, wrap: parseWrap(headers) }
}

/**
 * Returns the namespace in the headers, below the namespace of the listener (`chroot`); undefined if neither is set.
 */
export const namespaceOf = (headers: MessageHead['headers'], chroot = ''): string | undefined => {
  const named = headerText(headers, 'x-vault-namespace')
  return chroot === '' ? named : chroot + normalizeNamespacePath(named ?? '')
}

export const senderOf = (
  { message: { headers }, path, remoteAddress, namespaceHeader }: Received<MessageHead>,
  { operation }: RequestHead,
): BodySender => ({
  operation,
  path,
  namespaceHeader,
  clientToken: findClientToken(headers),
  remoteAddress,
})

/**
 * Returns the fields of a request: from the body for a write, otherwise from the query. Ignores the bodies of reads,
 * lists and deletes. A body that is a file has no fields.
 */
export const readFields = (
  { message, query, rules }: Received<MessageHead>,
  { operation, isFile }: RequestHead,
  { take, valuesMax }: ReadBody,
): JsonObject | Promise<JsonObject> =>
  isWrite(operation) && !isFile
    ? parseFields({
        bytes: take(),
        mediaType: message.headers['content-type'],
        isBare: rules.body === 'bare',
        valuesMax,
      })
    : parseQuery(query)

/** Builds the request. Does not read a body that is a file: `readFile` does. */
export const readRequest = (
  received: Received<MessageHead>,
  head: RequestHead,
  data: JsonObject,
  { random, readFile, bodyBytes, bodyRefusal, responseBudget }: RequestParts,
): IncomingRequest => {
  const { message, verb, path, query, remoteAddress } = received
  const { operation, isFile, wrap } = head
  const isList = operation === 'list' || (verb === 'GET' && takeListParameter(data))
  const asksHelp = query.includes('help=') && !!findParameter(query, 'help')
  // Lists all fields, because V8 would turn the result of spread syntax with so many fields into a slow dictionary
  // object.
  return {
    namespaceHeader: received.namespaceHeader,
    clientToken: findClientToken(message.headers),
    id: uuid(random),
    operation: asksHelp ? 'help' : isList ? 'list' : operation,
    path: isList ? asFolder(path) : path,
    namespace: ROOT_NAMESPACE,
    data,
    headers: message.headers,
    remoteAddress,
    remotePort: message.socket.remotePort ?? 0,
    peerCertificates: received.peerCertificates,
    withheld: received.withheld,
    wrap,
    target: originForm(message.url ?? ''),
    isHead: verb === 'HEAD',
    readFile: isFile ? readFile : undefined,
    bodyBytes,
    onGone: (listener) => {
      const { socket } = message
      // A client that disconnects while it waits may send only FIN, which causes `end` without `close`.
      const events = ['end', 'close'] as const
      for (const event of events) socket.once(event, listener)
      return () => {
        for (const event of events) socket.off(event, listener)
      }
    },
    bodyRefusal,
    responseBudget,
    waitEndMs: received.waitEndMs,
  }
}

interface RequestParts {
  readonly random: Random
  readonly readFile: () => Promise<Buffer>
  readonly bodyBytes: number
  readonly bodyRefusal: LogicalError | undefined
  readonly responseBudget: ResponseReservation | undefined
}

const isWrite = (operation: Operation): boolean => operation === 'update' || operation === 'patch'

const operationOf = (verb: string, { verbs }: PathRules): Operation => {
  const operation = OPERATIONS.get(verb)
  if (!operation || !(verbs ? verbs.includes(verb) : verb !== 'HEAD')) throw wrongVerb()
  return operation
}

/**
 * Returns whether the parameter `list` turns a GET into a list, and removes it if so. If it is repeated, the first
 * value counts. Throws LogicalError 400 for an invalid value.
 */
const takeListParameter = (fields: JsonObject): boolean => {
  const value = fields.list
  if (value === undefined) return false
  const isList = parseBool(String(Array.isArray(value) ? value[0] : value))
  if (isList === undefined) throw invalid('')
  if (isList) delete fields.list
  return isList
}
