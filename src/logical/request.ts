import type { LogicalError } from './errors.js'
import type { RawJson } from '../base/json.js'
import type { JsonObject } from './json.js'

export type Operation = 'create' | 'update' | 'patch' | 'read' | 'list' | 'delete' | 'help'

const WRITES: ReadonlySet<unknown> = new Set<Operation>(['create', 'update', 'patch', 'delete'])

/** Returns whether the operation can change data. */
export const isWrite = (operation: unknown): operation is Operation => WRITES.has(operation)

/** A namespace. The root namespace has ID `root` and an empty path; others have a short ID and a path that ends with `/`. */
export interface NamespaceRef {
  readonly id: string
  readonly path: string
}

export const ROOT_NAMESPACE: NamespaceRef = { id: 'root', path: '' }

export interface WrapRequest {
  readonly ttlSeconds: number
  readonly format: 'token' | 'jwt'
}

/** The request's token, as backends may see it. */
export interface TokenView {
  /** The internal ID; secret. */
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

/** Information that a listener can withhold from its clients, where Vault returns it without a token. */
export const WITHHOLDABLE = ['addresses', 'cluster-name', 'version', 'replication-status'] as const
export type Withheld = (typeof WITHHOLDABLE)[number]

/** One request, from any listener or node. Mutable only in the fields that the pipeline sets. */
export interface Request {
  readonly id: string
  operation: Operation
  /** Path below `/v1/` and the namespace, percent-decoded, without a leading slash: `auth/approle/login`. */
  path: string
  namespace: NamespaceRef
  /** Body fields of a write, or query parameters of a read, list or delete. A null-prototype object. */
  data: JsonObject
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The client's address for CIDR rules: canonical, with IPv4-mapped addresses as IPv4. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** The token as the client sent it. */
  readonly clientToken: string | undefined
  wrap: WrapRequest | undefined
  /** Set by the pipeline once the token is verified. */
  token?: TokenView
  /** Reads a body that is a file; `data` is then empty. Throws `body-too-large` if it exceeds its limit. */
  readonly readFile?: (() => Promise<Buffer>) | undefined
  /** Set if the body exceeded its sender's limit and was not read. The code that would execute the request throws it. */
  readonly bodyRefusal?: LogicalError | undefined
  /** Access to the budget for large responses; absent if responses are not buffered for clients. */
  readonly responseBudget?: ResponseReservation | undefined
  /** Information that the client's listener withholds. If absent: nothing. */
  readonly withheld?: readonly Withheld[] | undefined
  /** Set for a request authorized and forwarded by a secondary: the part of this cluster that the secondary may see. */
  readonly sight?: Sight
}

/**
 * Accounts for one response from its creation until the client has read it. `tryEnter` and `enter` replace the previous
 * reservation.
 */
export interface ResponseReservation {
  /**
   * Resolves when no other large response was read in this turn of the event loop; undefined if there is no need to wait.
   */
  turn(): Promise<void> | undefined
  /**
   * Tries to reserve `bytes` for the response just read. Returns true on success. Throws 503 if the client has disconnected.
   */
  tryEnter(bytes: number): boolean
  /** Resolves when `bytes` are reserved. */
  enter(bytes: number): Promise<void>
  /** Returns the size of the last response read at `path`, if it was large and recent. */
  expected(path: string): number | undefined
  /** Records the size of a response. Undefined: it was not large. */
  note(path: string, bytes: number | undefined): void
}

/** The part of this cluster that another cluster may see. The rest is filtered. */
export interface Sight {
  /** Returns true if the mount with this UUID is hidden from that cluster. */
  isFiltered(mountUuid: string): boolean
  /** Returns true if the namespace is hidden from that cluster. */
  hidesNamespace(path: string): boolean
}

/**
 * An auth method's response to a successful login, from which the core creates the token. Durations in seconds, 0 = not set.
 */
export interface LoginAuth {
  displayName: string
  policies: string[]
  metadata: Record<string, string>
  /** The identity alias. The core finds or creates its entity. */
  alias?: { name: string; metadata: Record<string, string> }
  /** Set if the primary has already found or created the entity of a forwarded login. */
  entityId?: string
  tokenType: 'default' | TokenType
  ttlSeconds: number
  maxTtlSeconds: number
  explicitMaxTtlSeconds: number
  periodSeconds: number
  numUses: number
  boundCidrs: string[]
  noDefaultPolicy: boolean
  /** Stored with the token and passed to the backend at renewal. */
  internal: JsonObject
}

/** The part of the issuing login or token role that is stored with a token, and passed to the backend at renewal. */
export type TokenOrigin = Readonly<Pick<LoginAuth, 'policies' | 'internal'>>

/** The times that the token's issuer grants at renewal. An absent value is not restricted. 0 = no limit. */
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

/** The response of a handler. Undefined instead of a Response means 204, or 404 for a read or a list. */
export interface Response {
  data?: Record<string, unknown> | RawJson | null
  warnings?: string[]
  /** The result of a login, which the core turns into `auth`. */
  login?: LoginAuth | undefined
  /**
   * Settles with a write that the login has queued. The core may queue more writes behind this write, and responds only when
   * this write is durable.
   */
  loginStored?: Promise<void> | undefined
  auth?: AuthAnswer
  /** Requests wrapping regardless of the client, or sets the accessor shown as `wrapped_accessor`. */
  wrap?: WrapRequest
  wrappedAccessor?: string
  wrapInfo?: WrapInfo
  leaseDurationSeconds?: number
  leaseId?: string
  renewable?: boolean
  /** Overrides the default status of 200 or 204. */
  status?: number
  /** `data` is the whole body: no envelope. */
  bare?: boolean
  /** `data` is repeated at the top level of the envelope. */
  mirror?: boolean
  /** A body without an envelope, such as an unwrapped response, metrics or a snapshot. */
  raw?: { contentType: string; body: string | Buffer | AsyncIterable<Buffer> }
  headers?: Record<string, string>
  /** The `mount_type` of the envelope; set by the pipeline. */
  mountType?: string
}
