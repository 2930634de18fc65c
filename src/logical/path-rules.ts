import type { Withheld } from './request.js'

/** States in which only some paths are available. Several states may apply at the same time. */
export type Condition =
  /** The server is starting or stopping, and has no runtime. */
  | 'stopping'
  /** The server is sealed or not initialized. */
  | 'sealed'
  /** The node is unsealed, but another node of the cluster is active and handles all other requests. */
  | 'standby'
  /** A role change is replacing the runtime. */
  | 'restarting'
  /** The cluster is a performance secondary before its first full sync. */
  | 'bootstrapping'
  /**
   * The cluster is a performance secondary before its first full sync, and has no primary. No token is valid there, but
   * key shares can generate a root token.
   */
  | 'stranded'
  /** The cluster is a DR secondary before its first full sync. */
  | 'dr-bootstrapping'
  /** The cluster is a DR secondary. */
  | 'dr'
  /** The node was removed from its cluster. */
  | 'removed'
  /**
   * The cluster is a primary whose replication set has a newer primary, and it is configured to reject writes, because
   * they would be lost. Applies to writes only.
   */
  | 'fenced'
  /** A role change is about to begin, so new writes wait. */
  | 'writes-paused'

/**
 * Properties of a path, independent of the operation. By default, a path requires an authorized token and has none of
 * these properties.
 */
export interface PathRules {
  /**
   * `open`: the path requires no token, or checks the token itself. `sudo`: the path requires the capability `sudo` in
   * addition to that of the operation.
   */
  readonly access?: 'open' | 'sudo'
  readonly servedWhile?: { readonly [C in Condition]?: 'all' | 'reads' }
  /**
   * True if the path can change the role of the cluster. Concurrent writes then run one after the other, and each sees
   * the role that the previous write has left.
   */
  readonly takesTurns?: true
  /** True if a request waits for the other nodes of the cluster when this node needs them for the data. */
  readonly awaitsNodes?: true
  /** True if requests are not audited, because machines poll the path constantly. */
  readonly isUnaudited?: true
  /** True if the path exists only in the root namespace, because it concerns the whole cluster. */
  readonly isRootOnly?: true
  /**
   * Set if the path accepts a wrapping token: in the body or as the token of the request (`any`), or only in the body
   * (`named`).
   */
  readonly wrappingToken?: 'any' | 'named'
  /**
   * True if the path concerns the token of the request. Such a request does not have to name the namespace of the
   * token.
   */
  readonly isForSelf?: true
  /** True for requests that create a lease: of a token or of a secret. Lease count quotas apply to them. */
  readonly createsLease?: true
  /** The information that the path returns. On a listener that withholds this information, the path does not exist. */
  readonly withheldAs?: Withheld
  /** The allowed verbs, checked before all other rules. Any other verb returns an empty list of errors. */
  readonly verbs?: readonly string[]
  /**
   * `bare`: the body is decoded like that of an endpoint without an envelope, where names are case-insensitive. `file`:
   * the body of the request or of the response is a file or a stream, which is not decoded.
   */
  readonly body?: 'bare' | 'file'
}

export const NO_RULES: PathRules = {}

/**
 * Rules for the paths of one backend. A row is a full path, a path with variable segments (`issuer/+/json`), or a
 * folder with everything below it (`raw/*`). An exact row takes precedence, then a row with variable segments, then the
 * closest folder. Every request looks up its rules here.
 */
export class PathRuleTable {
  readonly rows: Readonly<Record<string, PathRules>>
  readonly #exact = new Map<string, PathRules>()
  readonly #variable: { readonly matcher: RegExp; readonly rules: PathRules }[] = []
  /** Folder rules by prefix, including the trailing slash. */
  readonly #folders = new Map<string, PathRules>()
  readonly #longestFolder: number

  constructor(rows: Readonly<Record<string, PathRules>>) {
    this.rows = rows
    for (const [pattern, rules] of Object.entries(rows)) {
      if (pattern.includes('/+')) this.#variable.push({ matcher: matcherOf(pattern), rules })
      else if (pattern.endsWith('/*')) this.#folders.set(pattern.slice(0, -1), rules)
      else this.#exact.set(pattern, rules)
    }
    this.#longestFolder = Math.max(0, ...[...this.#folders.keys()].map((folder) => folder.length))
  }

  find(path: string): PathRules {
    const exact = this.#exact.get(path)
    if (exact) return exact
    for (const { matcher, rules } of this.#variable) if (matcher.test(path)) return rules
    // Starts at the longest folder, so that a path with thousands of segments does not cause thousands of lookups.
    let slash = path.lastIndexOf('/', this.#longestFolder - 1)
    for (; slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const folder = this.#folders.get(path.slice(0, slash + 1))
      if (folder) return folder
    }
    return NO_RULES
  }
}

/** Each `+` stands for one segment. All other segments are literal words. */
const matcherOf = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll('/+', '/[^/]+')}$`)

/** Returns the rules of a backend's path. Returns `NO_RULES` if the backend has no rules. */
export const rulesOf = (table: PathRuleTable | undefined, path: string): PathRules => table?.find(path) ?? NO_RULES
