import type { Withheld } from './request.js'

/** States in which a server serves only what says so. Several may hold at once. */
export type Condition =
  /** Without a runtime, before and after everything. */
  | 'stopping'
  /** Not initialised, or sealed. */
  | 'sealed'
  /** A node of several that is open and not active: everything else is the active node's to answer. */
  | 'standby'
  /** A role change replaces the runtime. */
  | 'restarting'
  /** A performance secondary without its first copy. */
  | 'bootstrapping'
  /** A performance secondary without its first copy that no primary feeds. No client has a token there; key shares make one. */
  | 'stranded'
  /** A DR secondary without its first copy. */
  | 'dr-bootstrapping'
  | 'dr'
  /** A node that the others have removed. */
  | 'removed'
  /** An overtaken primary that is configured to refuse what it could only lose. Concerns writes. */
  | 'fenced'
  /** A role change is about to begin: new writes wait. */
  | 'writes-paused'

/** Facts about a path, whatever it does. Each is an exception: without any, a path is for tokens with the rights. */
export interface PathRules {
  /** Needs no token, or looks at it itself; or needs the sudo capability besides that of the operation. */
  readonly access?: 'open' | 'sudo'
  readonly servedWhile?: { readonly [C in Condition]?: 'all' | 'reads' }
  /** May change a role: of several writes at once one waits for the other, and is judged by the role that it leaves. */
  readonly takesTurns?: true
  /** Waits for the other nodes of the cluster, where the data is not here without them. */
  readonly awaitsNodes?: true
  /** Asked all the time by machines, and telling nothing that a log would be read for. */
  readonly isUnaudited?: true
  /** Exists in the root namespace alone, since it concerns the cluster as a whole. */
  readonly isRootOnly?: true
  /** A wrapping token may stand in for a client token: that of the request, or only one that the body names. */
  readonly wrappingToken?: 'any' | 'named'
  /** A token asks about itself there, and need not be told in which namespace it is at home. */
  readonly isForSelf?: true
  /** Does not exist on a listener that withholds this. */
  readonly withheldAs?: Withheld
  /** Judged before anything else; any other verb gets an empty list of errors. */
  readonly verbs?: readonly string[]
  /** Read by the decoder of endpoints without an envelope, which ignores the case of names; or not at all, being a file. */
  readonly body?: 'bare' | 'file'
}

export const NO_RULES: PathRules = {}

/**
 * Rules for the paths of one backend. A row is a path in full, or a folder with all that is below it (`raw/*`): the
 * row for the path itself decides, else the one of the closest folder. Looked up for every request.
 */
export class PathRuleTable {
  readonly rows: Readonly<Record<string, PathRules>>
  readonly #exact = new Map<string, PathRules>()
  /** By what they begin with, the slash included. */
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
    // A path of thousands of segments is not looked up once for each of them.
    let slash = path.lastIndexOf('/', this.#longestFolder - 1)
    for (; slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      const folder = this.#folders.get(path.slice(0, slash + 1))
      if (folder) return folder
    }
    return NO_RULES
  }
}

/** Rules of a path of a backend, which may have no table of rules. */
export const rulesOf = (table: PathRuleTable | undefined, path: string): PathRules => table?.find(path) ?? NO_RULES
