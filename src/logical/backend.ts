import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Random } from '../base/random.js'
import type { FieldTable, Values } from './fields.js'
import type { PathRuleTable } from './path-rules.js'
import type { NamespaceRef, Operation, RenewalTimes, Request, Response, TokenOrigin } from './request.js'
import type { Storage } from './storage.js'

/** A mount as its backend sees it, read fresh at every use since tuning changes it. Times are seconds. */
export interface MountView {
  readonly accessor: string
  readonly uuid: string
  /** `secret/`, `auth/approle/`. */
  readonly path: string
  readonly namespace: NamespaceRef
  readonly isLocal: boolean
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly options: Readonly<Record<string, string>>
  /** `user_lockout_config` as it was tuned, by its wire names; undefined when it never was. */
  readonly userLockout?: Readonly<Record<string, unknown>> | undefined
}

/** Everything a backend is given when its mount is opened. */
export interface BackendContext {
  readonly storage: Storage
  /** Never leaves this performance cluster, but is on its DR copies. For normal mounts the keys named local. */
  readonly localStorage: Storage
  readonly mount: MountView
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** True where replicated keys cannot be written here (a performance secondary, for a mount that is not local). */
  isReadOnly(): boolean
}

/** One call of a handler. `Values` are coerced; `supplied` tells an explicit zero from an absent field. */
export interface Call<T extends FieldTable = FieldTable> {
  readonly request: Request
  readonly values: Values<T>
  supplied(name: keyof T & string): boolean
  /** The path below the mount, without a list's trailing slash. */
  readonly path: string
}

export type Handler<T extends FieldTable> = (call: Call<T>) => Response | undefined | Promise<Response | undefined>

/**
 * One endpoint. `pattern` is literal segments and `:name` for one segment (a field of that name must be in `fields`);
 * a last `*name` takes the rest, slashes and all. A trailing `/?` says that a trailing slash is tolerated.
 */
export interface PathSpec<T extends FieldTable = FieldTable> {
  readonly pattern: string
  readonly fields: T
  readonly operations: { readonly [O in Operation]?: Handler<T> }
  /** Tells create from update; without it every write is an update. */
  readonly exists?: (call: Call<T>) => boolean
  readonly summary: string
  /** `data` is repeated at the top level of the envelope. */
  readonly mirror?: boolean
  /** Bytes of a body that nobody has authorised; without it `openBodyBytesMax` of the limits. */
  readonly openBodyBytesMax?: number
  /** Extra keys of the body are data, not mistakes: no warning about unrecognized parameters. */
  readonly takesAnyField?: boolean
  /** Any verb but those of `operations`, listing included, is a 405 with an empty list of errors. */
  readonly isOldest?: boolean
}

/** Keeps the field types of one row while rows of a table differ. */
export const definePath = <T extends FieldTable>(spec: PathSpec<T>): PathSpec => spec as unknown as PathSpec

/** Who may not log in for now after too many failures on this cluster: what sys/locked-users shows and ends. */
export interface LockedUsers {
  /** Names of aliases, sorted. */
  list(): string[]
  /** Unlocks somebody; nothing happens to one who is not locked. */
  unlock(alias: string): void
}

export interface Backend {
  /** `kv`, `approle`, `token`, `userpass`, `system`, `cubbyhole`, `identity`. */
  readonly type: string
  readonly paths: readonly PathSpec[]
  /** Rules of paths below the mount; without them all paths are for tokens with the rights. */
  readonly rules?: PathRuleTable
  /** Answers requests that no path of the table matches, in place of `unsupported path`. */
  readonly fallback?: (request: Request, path: string) => Response | undefined
  readonly lockedUsers?: LockedUsers
  /** The times that what issued a token grants now. Throws LogicalError when it may not be renewed. */
  renew?(origin: TokenOrigin): Promise<RenewalTimes> | RenewalTimes
  /** A key below this mount has changed, by a write of its own or otherwise: what is remembered of it does not count any more. */
  invalidate?(key: string): void
  /** Starts background work; it ends with the signal. */
  start?(signal: AbortSignal): void
  /** Waits for background work to end. */
  stop?(): Promise<void>
}

/** Makes a backend for one mount. */
type BackendFactory = (context: BackendContext) => Backend

/** A type that can be mounted. */
export interface BackendType {
  readonly name: string
  readonly kind: 'secret' | 'auth'
  readonly factory: BackendFactory
  /** Key prefixes below the mount whose data stays on this performance cluster. */
  readonly localPrefixes: readonly string[]
}
