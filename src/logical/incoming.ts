import type { LogicalError } from './errors.js'
import type { JsonObject } from './json.js'
import type { Operation, Request, Withheld } from './request.js'

/**
 * A request as the HTTP front hands it inward: parsed, and judged as far as HTTP alone can judge it. `namespace` is
 * the root namespace and `path` still bears any namespace prefix; the pipeline resolves both. The path is canonical:
 * percent-decoded once, slashes collapsed, no `.` or `..` segment, printable, without leading slash; that of a list ends
 * with `/`. `operation` is never `create`: telling it from `update` is the pipeline's business. `data` is a
 * null-prototype object: the body of a write, the query of anything else.
 */
export interface IncomingRequest extends Request {
  /** X-Vault-Namespace, below the namespace of the listener; undefined if neither names a namespace. */
  readonly namespaceHeader: string | undefined
  /** The path, with its leading slash, and the query as they were sent; absent where another node has handed the request on. */
  readonly target?: string
  /** HEAD: executed as a read, answered without a body. */
  readonly isHead: boolean
  /** Size of the body as it was read; a file that is left to `readFile` counts 0. */
  readonly bodyBytes?: number
  /** Tells once when the client has gone away. Returns the unsubscribe function. */
  readonly onGone?: (listener: () => void) => () => void
  /** Monotonic ms until which the request may wait for changes of the cluster, all of them together; absent before it waits. */
  waitEndMs?: number | undefined
}

/** Who is about to send a large body where: what its head alone says. */
export interface BodySender {
  readonly operation: Operation
  /** As in `IncomingRequest`. */
  readonly path: string
  readonly namespaceHeader: string | undefined
  readonly clientToken: string | undefined
  readonly remoteAddress: string
  /** As in `IncomingRequest`, which takes it over. */
  waitEndMs?: number | undefined
}

/** Bounds for the body of one request. */
export interface BodyAllowance {
  readonly bytesMax: number
  /** Members and elements of a document, or parameters of a form. */
  readonly valuesMax: number
  /** A good token speaks for the sender, whatever it may do. */
  readonly isAuthorised: boolean
  /** The refusal of a larger body where something else than its size is wrong, such as the token of its sender. */
  readonly refusal?: LogicalError
}

/** A request below `/_understudy/v1`. */
export interface SideRequest {
  readonly id: string
  readonly method: string
  /** Below `/_understudy/v1/`, canonical. */
  readonly path: string
  readonly query: JsonObject
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
  /** As in `IncomingRequest`. */
  readonly namespaceHeader: string | undefined
  /** As in `Request`. */
  readonly withheld?: readonly Withheld[] | undefined
  readonly remoteAddress: string
  /** The connection is protected by TLS. */
  readonly isTls?: boolean | undefined
}

/** An answer ready to be sent. A stream is sent chunk by chunk at the pace of the client. */
export interface Rendered {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer | AsyncIterable<Buffer>
  readonly headers: Readonly<Record<string, string>>
}
