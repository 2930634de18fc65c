import type { LogicalError } from './errors.js'
import type { JsonObject } from './json.js'
import type { Operation, Request, Withheld } from './request.js'

/**
 * A request that `src/http` has parsed and validated against HTTP rules only. `namespace` is the root namespace, and
 * `path` may still contain a namespace prefix: the pipeline resolves both. The path is canonical: percent-decoded once,
 * slashes collapsed, without `.` or `..` segments, printable, without a leading slash. The path of a list ends with
 * `/`. `operation` is never `create`, since the pipeline distinguishes it from `update`. `data` is a null-prototype
 * object: the body of a write, otherwise the query.
 */
export interface IncomingRequest extends Request {
  /** The header `X-Vault-Namespace` below the namespace of the listener; undefined if both are absent. */
  readonly namespaceHeader: string | undefined
  /** Path and query as the client sent them, with a leading slash; absent if another node forwarded the request. */
  readonly target?: string
  /** True for a HEAD request: executed like a read, with a response without a body. */
  readonly isHead: boolean
  /** Size of the body in bytes; 0 for a file, which `readFile` reads. */
  readonly bodyBytes?: number
  /**
   * Time of the monotonic clock, in ms, at which the request stops waiting for cluster changes; absent before the first
   * wait.
   */
  waitEndMs?: number | undefined
}

/** The sender and the target of a large body, known from the head of the request. */
export interface BodySender {
  readonly operation: Operation
  /** As in `IncomingRequest`. */
  readonly path: string
  readonly namespaceHeader: string | undefined
  readonly clientToken: string | undefined
  readonly remoteAddress: string
  /** Copied to the `IncomingRequest` of this body. */
  waitEndMs?: number | undefined
}

/** Limits for the body of one request. */
export interface BodyAllowance {
  readonly bytesMax: number
  /** Maximum number of members and elements of a document, or of parameters of a form. */
  readonly valuesMax: number
  /** True if the sender has a valid token, regardless of its policies. */
  readonly isAuthorised: boolean
  /** The error for a larger body if it is not `body-too-large`, such as an error about the sender's token. */
  readonly refusal?: LogicalError
}

/** A request below `/_understudy/v1`. */
export interface LabRequest {
  readonly id: string
  readonly method: string
  /** The canonical path relative to `/_understudy/v1/`. */
  readonly path: string
  readonly query: JsonObject
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
  /** As in `IncomingRequest`. */
  readonly namespaceHeader: string | undefined
  /** As in `Request`. */
  readonly withheld?: readonly Withheld[] | undefined
  readonly remoteAddress: string
  readonly isTls?: boolean | undefined
}

/** A response ready to be sent. A stream is sent chunk by chunk, as fast as the client reads. */
export interface Rendered {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer | AsyncIterable<Buffer>
  readonly headers: Readonly<Record<string, string>>
}
