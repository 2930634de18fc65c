import type { LogicalError } from './errors.js'
import type { RawJson } from '../base/json.js'
import type { JsonObject } from './json.js'

export type Operation = 'create' | 'update' | 'patch' | 'read' | 'list' | 'delete' | 'help'

const WRITES: ReadonlySet<unknown> = new Set<Operation>(['create', 'update', 'patch', 'delete'])

/** Whether it is an operation that may change something. */
export const isWrite = (operation: unknown): operation is Operation => WRITES.has(operation)

/** A namespace: id `root` and path `` for the root namespace, else a short id and a path that ends with `/`. */
export interface NamespaceRef {
  readonly id: string
  readonly path: string
}

export const ROOT_NAMESPACE: NamespaceRef = { id: 'root', path: '' }

/** The wrapping that the client asked for. */
export interface WrapRequest {
  readonly ttlSeconds: number
  readonly format: 'token' | 'jwt'
}

/** The token a request was made with, as backends may see it. */
export interface TokenView {
  /** The internal id; secret. */
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

/** What a listener may keep from its clients, where the reference answers without a token. */
export const WITHHOLDABLE = ['addresses', 'cluster-name', 'version', 'replication-status'] as const
export type Withheld = (typeof WITHHOLDABLE)[number]

/** One request, from whatever door it came. Mutable only where the pipeline fills it in. */
export interface Request {
  readonly id: string
  operation: Operation
  /** Below `/v1/` and below the namespace, percent-decoded, without a leading slash: `auth/approle/login`. */
  path: string
  namespace: NamespaceRef
  /** Body fields of a write, query parameters of a read, list or delete. A null-prototype object. */
  data: JsonObject
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The client's address as CIDR rules judge it: canonical, IPv4-mapped addresses as IPv4. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** The token as the client sent it. */
  readonly clientToken: string | undefined
  wrap: WrapRequest | undefined
  /** Set by the pipeline when the token was found good. */
  token?: TokenView
  /** Reads the body where it is a file and no set of fields; `body-too-large` when it is. `data` is empty then. */
  readonly readFile?: (() => Promise<Buffer>) | undefined
  /** The body was too large for its sender and was not read: thrown by whatever would execute the request. */
  readonly bodyRefusal?: LogicalError | undefined
  /** Room for a large answer; absent where answers are not held for clients. */
  readonly answerRoom?: AnswerPlace | undefined
  /** What the listener that the client called keeps from it; absent: nothing. */
  readonly withheld?: readonly Withheld[] | undefined
  /** Set for a request that a secondary has authorised and forwarded: the part of this cluster that it may see. */
  readonly sight?: Sight
}

/** Where one answer is counted from its making until its client has it. Whoever enters anew is counted anew. */
export interface AnswerPlace {
  /** Resolves when no other large answer was read in this turn of the loop; undefined for at once. */
  turn(): Promise<void> | undefined
  /**
   * To be called with what was read. True when there was room for so many bytes; they are counted then. Throws 503 when the
   * client is gone.
   */
  tryEnter(bytes: number): boolean
  /** Resolves when they have room and are counted. */
  enter(bytes: number): Promise<void>
  /** How large the last answer was that was read there, if it was large and not long ago. */
  expected(path: string): number | undefined
  /** Undefined: what was read there was not large. */
  note(path: string, bytes: number | undefined): void
}

/** The part of this cluster that another one may see: the rest is filtered. */
export interface Sight {
  /** True for the id of a mount that is kept from it. */
  isFiltered(mountUuid: string): boolean
  /** True for the path of a namespace that is kept from it. */
  hidesNamespace(path: string): boolean
}

/** The answer of an auth method to a good login, of which the core makes the token. Durations in seconds, 0 = not set. */
export interface LoginAuth {
  displayName: string
  policies: string[]
  metadata: Record<string, string>
  /** The identity alias: its entity is found or made by the core. */
  alias?: { name: string; metadata: Record<string, string> }
  /** Where the primary has already found or made the entity of a forwarded login. */
  entityId?: string
  tokenType: 'default' | TokenType
  ttlSeconds: number
  maxTtlSeconds: number
  explicitMaxTtlSeconds: number
  periodSeconds: number
  numUses: number
  boundCidrs: string[]
  noDefaultPolicy: boolean
  /** Kept with the token and handed back to the backend at renewal. */
  internal: JsonObject
}

/** What a token keeps of the login, or the token role, that issued it: handed back to the backend at renewal. */
export type TokenOrigin = Readonly<Pick<LoginAuth, 'policies' | 'internal'>>

/** The times that the origin of a token grants at a renewal; what is absent it does not rule. 0 = no limit. */
export type RenewalTimes = Readonly<
  Partial<Pick<LoginAuth, 'ttlSeconds' | 'maxTtlSeconds' | 'explicitMaxTtlSeconds' | 'periodSeconds'>>
>

/** `auth` of an answer. */
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

/** The answer of a handler. Undefined instead of a Response means 204, or 404 for a read or a list. */
export interface Response {
  data?: Record<string, unknown> | RawJson | null
  warnings?: string[]
  /** A login's result; the core turns it into `auth`. */
  login?: LoginAuth | undefined
  /**
   * Settles with a write that the login has queued. Whoever takes the login may queue more behind it, and answers nothing
   * before it is durable.
   */
  loginStored?: Promise<void> | undefined
  auth?: AuthAnswer
  /** Asks for wrapping whatever the client said; or names the accessor shown as `wrapped_accessor`. */
  wrap?: WrapRequest
  wrappedAccessor?: string
  wrapInfo?: WrapInfo
  leaseDurationSeconds?: number
  leaseId?: string
  renewable?: boolean
  /** Overrides 200 or 204. */
  status?: number
  /** `data` is the whole body: no envelope. */
  bare?: boolean
  /** `data` is repeated at the top level of the envelope. */
  mirror?: boolean
  /** A body that is no envelope: an unwrapped answer, metrics text, a snapshot. */
  raw?: { contentType: string; body: string | Buffer | AsyncIterable<Buffer> }
  headers?: Record<string, string>
  /** `mount_type` of the envelope; set by the pipeline. */
  mountType?: string
}
