import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import type { FieldTable, Values } from './fields.js'
import type { PathRuleTable } from './path-rules.js'
import type {
  LeasedSecret,
  NamespaceRef,
  Operation,
  RenewalCaller,
  RenewalTimes,
  Request,
  Response,
  TokenOrigin,
} from './request.js'
import type { Storage } from './storage.js'
import type { TtlDecision } from './ttl.js'

/**
 * The properties of a mount that its backend can read. Backends read them on every use, because tuning changes them.
 * Durations are in seconds.
 */
export interface MountView {
  readonly accessor: string
  readonly uuid: string
  /** For example `secret/` or `auth/approle/`. */
  readonly path: string
  readonly namespace: NamespaceRef
  readonly isLocal: boolean
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly options: Readonly<Record<string, string>>
  /** The tuned `user_lockout_config`, with the names of the API; undefined if it was never tuned. */
  readonly userLockout?: Readonly<Record<string, unknown>> | undefined
}

/** Dependencies of a backend, passed when its mount is opened. */
export interface BackendContext {
  readonly storage: Storage
  /**
   * Storage for data that stays on this performance cluster and its DR secondaries. For a replicated mount, it contains
   * the keys below `localPrefixes`.
   */
  readonly localStorage: Storage
  readonly mount: MountView
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Returns true if this cluster cannot write the data of the mount: a replicated mount on a performance secondary. */
  isReadOnly(): boolean
  /**
   * Replaces identity templates, such as `{{identity.entity.name}}`, by values of an entity. Returns undefined if a
   * value is missing.
   */
  resolveTemplate(text: string, entityId: string): string | undefined
}

/**
 * One call of a handler. `values` contains the converted fields. `supplied` tells an explicit zero from an absent
 * field.
 */
export interface Call<T extends FieldTable = FieldTable> {
  readonly request: Request
  readonly values: Values<T>
  supplied(name: keyof T & string): boolean
  /** The path below the mount, without the trailing slash of a list. */
  readonly path: string
}

export type Handler<T extends FieldTable> = (call: Call<T>) => Response | undefined | Promise<Response | undefined>

/**
 * One endpoint. `pattern` consists of literal segments and of `:name`, which matches one segment and requires a field
 * of this name in `fields`. A final `*name` matches the rest, including slashes. With a final `/?`, a trailing slash is
 * optional.
 */
export interface PathSpec<T extends FieldTable = FieldTable> {
  readonly pattern: string
  readonly fields: T
  readonly operations: { readonly [O in Operation]?: Handler<T> }
  /**
   * Returns whether the object exists: a write of an existing object is an update, any other is a create. If absent,
   * every write is an update.
   */
  readonly exists?: (call: Call<T>) => boolean
  readonly summary: string
  /** True if the envelope repeats the members of `data` at its top level. */
  readonly mirror?: boolean
  /** The maximum body size in bytes for unauthenticated callers. Default: `openBodyBytesMax` of the limits. */
  readonly openBodyBytesMax?: number
  /** True if unknown keys of the body are data, so that they cause no warning about unrecognized parameters. */
  readonly takesAnyField?: boolean
  /** True if a verb that is not in `operations`, including LIST, returns 405 with an empty list of errors. */
  readonly isOldest?: boolean
  /** True if the rest of the path that a final `*name` matches is neither empty nor ends with a slash. */
  readonly isKeyPath?: boolean
}

type Operations<T extends FieldTable> = PathSpec<T>['operations']

/** The handlers of a path by operation, and its other properties. */
export type PathParts<T extends FieldTable> = Operations<T> &
  Omit<PathSpec<T>, 'pattern' | 'summary' | 'fields' | 'operations'>

/** Defines a path. Preserves its field types, even if the paths of a table have different fields. */
export const definePath = <T extends FieldTable>(
  pattern: string,
  fields: T,
  summary: string,
  parts: PathParts<T>,
): PathSpec => {
  const { exists, mirror, openBodyBytesMax, takesAnyField, isOldest, isKeyPath, ...operations } = parts
  const options = { exists, mirror, openBodyBytesMax, takesAnyField, isOldest, isKeyPath }
  return { pattern, fields, summary, operations, ...options } as unknown as PathSpec
}

/** Defines the same path under several patterns. */
export const definePaths = <T extends FieldTable>(
  patterns: readonly string[],
  fields: T,
  summary: string,
  parts: PathParts<T>,
): PathSpec[] => patterns.map((pattern) => definePath(pattern, fields, summary, parts))

/** Returns a function that returns the value of a field, or undefined if the request does not contain the field. */
export const sentBy =
  <V extends object>({ values, supplied }: { readonly values: V; supplied(name: keyof V & string): boolean }) =>
  <K extends keyof V & string>(name: K): V[K] | undefined =>
    supplied(name) ? values[name] : undefined

/**
 * Returns the response of a read with the data that `render` returns. Returns undefined, which means 404, if `found` is
 * undefined.
 */
export const shown = <T>(found: T | undefined, render: (found: T) => Record<string, unknown>): Response | undefined =>
  found === undefined ? undefined : { data: render(found) }

/** Returns the response of a list. */
export const listed = async (keys: Promise<readonly string[]>): Promise<Response> => ({ data: { keys: await keys } })

/** The users that this cluster has locked after too many failed logins, for sys/locked-users. */
export interface LockedUsers {
  /** Returns the names of locked aliases, sorted. */
  list(): string[]
  /** Unlocks a user. Does nothing if the user is not locked. */
  unlock(alias: string): void
}

export interface Backend {
  /** The name of the type, such as `kv`, `approle` or `system`. */
  readonly type: string
  readonly paths: readonly PathSpec[]
  /** Rules of paths below the mount. If absent, all paths require an authorized token. */
  readonly rules?: PathRuleTable
  /**
   * Returns the response to a request that matches no path of the table. If absent, the error is `unsupported path`.
   */
  readonly fallback?: (request: Request, path: string) => Response | undefined
  readonly lockedUsers?: LockedUsers
  /** The roles of an auth method, for quotas. Absent if the backend has no roles. */
  readonly roles?: {
    /** Returns the role of a login request; undefined for other requests and for unknown roles. */
    find(request: Request, path: string): string | undefined
    /** The key of the metadata that contains the role of a token's login. */
    readonly metadataKey: string
  }
  /**
   * Returns the TTLs that the issuer of a token currently grants. Rejects with LogicalError if the token may not be
   * renewed.
   */
  renew?(origin: TokenOrigin, caller: RenewalCaller): Promise<RenewalTimes> | RenewalTimes
  /**
   * Extends the lifetime of a leased secret. Resolves to the new TTL. Rejects if the secret cannot be renewed. Absent
   * if no secret of the backend is renewable.
   */
  renewLease?(secret: LeasedSecret, incrementSeconds: number): Promise<TtlDecision>
  /**
   * Revokes a leased secret. Resolves if the secret no longer exists. Rejects with LogicalError 400 or 404 if another
   * attempt would fail too, and with any other error to be called again. Absent if the backend issues no leases.
   */
  revokeLease?(secret: LeasedSecret): Promise<void>
  /**
   * Discards cached data of a key below this mount. Called after every change, including changes that replication
   * makes.
   */
  invalidate?(key: string): void
  /** Starts background work, which stops when `signal` aborts. */
  start?(signal: AbortSignal): void
  /** Waits until background work has stopped. */
  stop?(): Promise<void>
}

type BackendFactory = (context: BackendContext) => Backend

/** A backend type that can be mounted. */
export interface BackendType {
  readonly name: string
  readonly kind: 'secret' | 'auth'
  readonly factory: BackendFactory
  /** Key prefixes below the mount whose data stays on this performance cluster. */
  readonly localPrefixes: readonly string[]
}
