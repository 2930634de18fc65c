import type { Withheld } from './request.js'

/** States in which a server serves only the paths that allow it. Several may apply at once. */
export type Condition =
  /** No runtime: during startup and shutdown. */
  | 'stopping'
  /** Not initialized, or sealed. */
  | 'sealed'
  /** An unsealed node of a multi-node cluster that is not active: the active node answers all other requests. */
  | 'standby'
  /** A role change is replacing the runtime. */
  | 'restarting'
  /** A performance secondary before its first full sync. */
  | 'bootstrapping'
  /**
   * A performance secondary before its first full sync, without a primary. Clients have no valid tokens there; key shares
   * can generate one.
   */
  | 'stranded'
  /** A DR secondary before its first full sync. */
  | 'dr-bootstrapping'
  | 'dr'
  /** A node that was removed from its cluster. */
  | 'removed'
  /**
   * A primary with a newer primary in its set, configured to reject writes, since it would only lose them. Applies to
   * writes.
   */
  | 'fenced'
  /** A role change is about to begin: new writes wait. */
  | 'writes-paused'

/**
 * Properties of a path, independent of the operation. Each is an exception: by default a path requires an authorized token.
 */
export interface PathRules {
  /** `open`: needs no token, or checks it itself. `sudo`: needs the sudo capability in addition to that of the operation. */
  readonly access?: 'open' | 'sudo'
  readonly servedWhile?: { readonly [C in Condition]?: 'all' | 'reads' }
  /**
   * May change a role. Concurrent writes run one after the other, each checked against the role left by the previous one.
   */
  readonly takesTurns?: true
  /** Waits for the other nodes of the cluster, if the data is available only through them. */
  readonly awaitsNodes?: true
  /** Not audited: machines poll the path constantly, and its entries have no value in an audit log. */
  readonly isUnaudited?: true
  /** Exists only in the root namespace, since it concerns the whole cluster. */
  readonly isRootOnly?: true
  /**
   * Accepts a wrapping token in place of a client token: as the request's token (`any`), or only if the body names it
   * (`named`).
   */
  readonly wrappingToken?: 'any' | 'named'
  /** The path concerns the request's own token. The request need not name the namespace of the token. */
  readonly isForSelf?: true
  /** Does not exist on a listener that withholds this information. */
  readonly withheldAs?: Withheld
  /** Checked before anything else. Any other verb returns an empty list of errors. */
  readonly verbs?: readonly string[]
  /** `bare`: read by the decoder for endpoints without an envelope, which ignores the case of names. `file`: not decoded. */
  readonly body?: 'bare' | 'file'
}

export const NO_RULES: PathRules = {}

/**
 * Rules for the paths of one backend. A row is a full path, or a folder with everything below it (`raw/*`). An exact row
 * takes precedence; otherwise the closest folder applies. Looked up for every request.
 */
export class PathRuleTable {
  readonly rows: Readonly<Record<string, PathRules>>
  readonly #exact = new Map<string, PathRules>()
  /** Folder rules by prefix, including the trailing slash. */
  readonly #folders = new Map<string, PathRules>()
  readonly #longestFolder: number

  constructor(rows: Readonly<Record<string, PathRules>>) {
    this.rows = rows
    for (const [pattern, rules] of Object.entries(rows)) {
      if (pattern.endsWith('/*')) this.#folders.set(pattern.slice(0, -1), rules)
      else this.#exact.set(pattern, rules)
    }
    this.#longestFolder = Math.max(0, ...[...this.#folders.keys()].map((folder) => folder.length))
  }

  find(path: string): PathRules {
    const exact = this.#exact.get(path)
    if (exact) return exact
    // Starts at the longest folder, so that a path with thousands of segments does not cause as many lookups.
    let slash = path.lastIndexOf('/', this.#longestFolder - 1)
    for (; slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const folder = this.#folders.get(path.slice(0, slash + 1))
      if (folder) return folder
    }
    return NO_RULES
  }
}

/** Returns the rules of a backend's path. The backend may have no table of rules. */
export const rulesOf = (table: PathRuleTable | undefined, path: string): PathRules => table?.find(path) ?? NO_RULES
