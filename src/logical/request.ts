import type { LogicalError } from './errors.js'
import type { RawJson } from '../base/json.js'
import type { JsonObject } from './json.js'

export type Operation = 'create' | 'update' | 'patch' | 'read' | 'list' | 'delete' | 'help'

const WRITES: ReadonlySet<unknown> = new Set<Operation>(['create', 'update', 'patch', 'delete'])

/** Returns whether the operation can change data. */
export const isWrite = (operation: unknown): operation is Operation => WRITES.has(operation)

/**
 * A namespace. The root namespace has the ID `root` and an empty path. Others have a short ID and a path that ends with
 * `/`.
 */
export interface NamespaceRef {
  readonly id: string
  readonly path: string
}

export const ROOT_NAMESPACE: NamespaceRef = { id: 'root', path: '' }

export interface WrapRequest {
  readonly ttlSeconds: number
  readonly format: 'token' | 'jwt'
}

/** The properties of a request's token that backends can read. */
export interface TokenView {
  /** The internal ID of the token, which is secret. */
  readonly id: string
  readonly accessor: string
  readonly policies: readonly string[]
  readonly displayName: string
  readonly entityId: string
  readonly type: TokenType
  readonly isRoot: boolean
  readonly namespace: NamespaceRef
}

export type TokenType = 'service' | 'batch'

/** Information that Vault returns without a token, and that a listener can withhold from its clients. */
export const WITHHOLDABLE = ['addresses', 'cluster-name', 'version', 'replication-status'] as const
export type Withheld = (typeof WITHHOLDABLE)[number]

/** A request from a client or from another node. The pipeline may change only the fields that are not `readonly`. */
export interface Request {
  readonly id: string
  operation: Operation
  /** The percent-decoded path below `/v1/` and the namespace, without a leading slash, such as `auth/approle/login`. */
  path: string
  namespace: NamespaceRef
  /** The body fields of a write, or the query parameters of a read, list or delete, in a null-prototype object. */
  data: JsonObject
  /** The headers by name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The client's address for CIDR rules, in canonical form. An IPv4-mapped IPv6 address is in the form of IPv4. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** The certificates that the client presented to the listener, in DER, with its own first; undefined if none. */
  readonly peerCertificates?: readonly Buffer[] | undefined
  /** The token as the client sent it. */
  readonly clientToken: string | undefined
  wrap: WrapRequest | undefined
  /** Set by the pipeline once the token is verified. */
  token?: TokenView
  /**
   * Reads a body that is a file. `data` is then empty. Throws LogicalError `body-too-large` if the file exceeds its
   * limit.
   */
  readonly readFile?: (() => Promise<Buffer>) | undefined
  /** Calls `listener` once when the client disconnects. Returns the unsubscribe function. */
  readonly onGone?: (listener: () => void) => () => void
  /** The error for a body that exceeded the limit of its sender and was not read. Dispatch throws this error. */
  readonly bodyRefusal?: LogicalError | undefined
  /** The reservation for a large response; absent if responses are not buffered for clients. */
  readonly responseBudget?: ResponseReservation | undefined
  /** Information that the listener withholds from the client. By default, none. */
  readonly withheld?: readonly Withheld[] | undefined
  /** The data of this cluster that the secondary may see, if a secondary forwarded the request. */
  readonly visibility?: Visibility
}

/**
 * Reserves memory for one response from its creation until the client has read it. `tryEnter` and `enter` replace the
 * previous reservation.
 */
export interface ResponseReservation {
  /**
   * Resolves in a turn of the event loop in which no large response has been read yet. Returns undefined if this is
   * already so.
   */
  turn(): Promise<void> | undefined
  /**
   * Reserves `bytes` for a response that has just been read. Returns false if the budget is exhausted. Throws
   * LogicalError 503 if the client has disconnected.
   */
  tryEnter(bytes: number): boolean
  /**
   * Resolves when `bytes` are reserved. Rejects with LogicalError 503 if the client has disconnected or too many
   * responses wait.
   */
  enter(bytes: number): Promise<void>
  /** Returns the size of the last response read at `path`, if it was large and recent. */
  expected(path: string): number | undefined
  /** Records the size of a response in bytes; undefined if the response was not large. */
  note(path: string, bytes: number | undefined): void
}

/** The data of this cluster that another cluster may see. A paths filter hides the rest. */
export interface Visibility {
  /** Returns true if the mount with this UUID is hidden from that cluster. */
  isFiltered(mountUuid: string): boolean
  /** Returns true if the namespace is hidden from that cluster. */
  hidesNamespace(path: string): boolean
}

/**
 * An auth method's response to a successful login, from which the core creates the token. Durations are in seconds,
 * with 0 for not set.
 */
export interface LoginAuth {
  displayName: string
  policies: string[]
  metadata: Record<string, string>
  /**
   * The alias of the user. The core finds or creates the entity of the alias. `groups` contains the names of the group
   * aliases of the user, if the auth method reports groups.
   */
  alias?: { name: string; metadata: Record<string, string>; groups?: readonly string[] | undefined }
  /** The entity ID, if the primary has already found or created the entity of a forwarded login. */
  entityId?: string
  tokenType: 'default' | TokenType
  ttlSeconds: number
  maxTtlSeconds: number
  explicitMaxTtlSeconds: number
  periodSeconds: number
  numUses: number
  boundCidrs: string[]
  noDefaultPolicy: boolean
  /** Data that is stored with the token, and passed to the backend at renewal. */
  internal: JsonObject
}

/** The data of a login or a token role that is stored with the token, and passed to the backend at renewal. */
export type TokenOrigin = Readonly<Pick<LoginAuth, 'policies' | 'internal'>>

/** The properties of a renewal request that the issuer of the token can check. */
export type RenewalCaller = Pick<Request, 'peerCertificates'>

/**
 * The TTLs that the issuer of a token grants at renewal. An absent value means no restriction, and 0 means no limit.
 */
export type RenewalTimes = Readonly<
  Partial<Pick<LoginAuth, 'ttlSeconds' | 'maxTtlSeconds' | 'explicitMaxTtlSeconds' | 'periodSeconds'>>
>

/** The `auth` member of a response. */
export interface AuthAnswer {
  clientToken: string
  accessor: string
  policies: string[]
  tokenPolicies: string[]
  identityPolicies: string[]
  metadata: Record<string, string> | null
  leaseDurationSeconds: number
  renewable: boolean
  entityId: string
  tokenType: TokenType
  orphan: boolean
  numUses: number
}

export interface WrapInfo {
  token: string
  accessor: string
  ttlSeconds: number
  creationTime: string
  creationPath: string
  wrappedAccessor: string
}

/**
 * A new secret that a backend can revoke. The core stores its lease. At the end of the lease, the core calls
 * `revokeLease` of the backend.
 */
export interface LeaseGrant {
  /** The TTL; 0 means the default of the mount. The maximum TTL of the mount applies. */
  ttlSeconds: number
  isRenewable: boolean
  /** Data that is stored with the lease, and passed to the backend at renewal and revocation. */
  internal: JsonObject
}

/** The data of a lease that its backend receives. */
export interface LeasedSecret {
  readonly internal: JsonObject
  /** Time at which the secret was issued, in milliseconds since the epoch. Maximum TTLs count from this time. */
  readonly issuedMs: number
}

/** The response of a handler. Undefined instead of a Response means 204, or 404 for a read or a list. */
export interface Response {
  data?: Record<string, unknown> | RawJson | null
  warnings?: string[]
  /** The result of a login, which the core turns into `auth`. */
  login?: LoginAuth | undefined
  /**
   * Settles when the write that the login has queued ends. The core may queue more writes after this write, and
   * responds only when this write is durable.
   */
  loginStored?: Promise<void> | undefined
  auth?: AuthAnswer
  /** Wraps the response even if the client did not request it. */
  wrap?: WrapRequest
  /** The `wrapped_accessor` of the response with the wrapping token. */
  wrappedAccessor?: string
  wrapInfo?: WrapInfo
  /** A new secret, for which the core creates a lease and sets the next three members. */
  lease?: LeaseGrant | undefined
  leaseDurationSeconds?: number
  leaseId?: string
  renewable?: boolean
  /** Overrides the default status code of 200 or 204. */
  status?: number
  /** True if `data` is the whole body, without an envelope. */
  bare?: boolean
  /** True if the envelope repeats the members of `data` at its top level. */
  mirror?: boolean
  /** A body without an envelope, such as an unwrapped response, metrics or a snapshot. */
  raw?: { contentType: string; body: string | Buffer | AsyncIterable<Buffer> }
  headers?: Record<string, string>
  /** The `mount_type` of the envelope, which the pipeline sets. */
  mountType?: string
}
