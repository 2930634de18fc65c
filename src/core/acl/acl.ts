/**
 * The access rules of one token. At most one rule decides about a request: the rule with exactly this path, otherwise
 * the matching rule of highest priority. The rules are built once per set of policies and used for every request, so
 * each lookup uses a map or a short sorted list.
 */
import type { JsonObject } from '../../logical/json.js'
import { type NamespaceRef, type Operation, ROOT_NAMESPACE, type WrapRequest } from '../../logical/request.js'
import { type Capability, CAPABILITY_BITS, namesOf, NEEDED_BIT } from './acl-capabilities.js'
import { meetsConditions } from './acl-conditions.js'
import { matchesSegments, type PathPattern, reachesBelow } from './acl-pattern.js'
import type { AclRule, GrantingPolicy } from './acl-rules.js'

interface AclQuery {
  /** Relative to the token's namespace, without a leading slash. The path of a list ends with a slash. */
  readonly path: string
  readonly operation: Operation
  readonly data: JsonObject
  readonly wrap: WrapRequest | undefined
  readonly needsSudo: boolean
}

export interface AclVerdict {
  readonly isAllowed: boolean
  readonly isRoot: boolean
  readonly grantingPolicies: readonly GrantingPolicy[]
}

const REFUSED: AclVerdict = { isAllowed: false, isRoot: false, grantingPolicies: [] }
const HELP: AclVerdict = { isAllowed: true, isRoot: false, grantingPolicies: [] }
const ROOT: AclVerdict = {
  isAllowed: true,
  isRoot: true,
  grantingPolicies: [{ name: 'root', namespaceId: ROOT_NAMESPACE.id, type: 'acl' }],
}

export class Acl {
  readonly #isRoot: boolean
  readonly #exact = new Map<string, AclRule>()
  readonly #prefixes = new Map<string, AclRule>()
  /** The distinct lengths of the prefixes, longest first. */
  readonly #prefixLengths: readonly number[]
  /** Rules with `+`, highest priority first. */
  readonly #segments: readonly AclRule[]

  constructor(rules: readonly AclRule[], isRoot = false) {
    this.#isRoot = isRoot
    for (const rule of rules) {
      if (rule.pattern.kind === 'exact') this.#exact.set(rule.pattern.literal, rule)
      if (rule.pattern.kind === 'prefix') this.#prefixes.set(rule.pattern.literal, rule)
    }
    this.#prefixLengths = [...new Set([...this.#prefixes.keys()].map((prefix) => prefix.length))].sort((a, b) => b - a)
    this.#segments = rules
      .filter((rule) => rule.pattern.kind === 'segments')
      .sort((a, b) => comparePriority(a.pattern, b.pattern))
  }

  check(query: AclQuery): AclVerdict {
    if (this.#isRoot) return ROOT
    if (query.operation === 'help') return HELP
    const rule = this.#findRule(query.path, query.operation === 'list')
    if (!rule) return REFUSED
    const needed = NEEDED_BIT[query.operation]
    const all = query.needsSudo ? needed | CAPABILITY_BITS.sudo : needed
    if ((rule.capabilities & all) !== all) return REFUSED
    if (!meetsConditions(rule, query.operation, query.data, query.wrap)) return REFUSED
    return { isAllowed: true, isRoot: false, grantingPolicies: grantingPolicies(rule, needed) }
  }

  /**
   * Returns the capabilities on a path in alphabetical order: `['root']` for the root policy, `['deny']` for no access.
   */
  capabilities(path: string): string[] {
    return this.#isRoot ? ['root'] : namesOf(this.#findRule(path, true)?.capabilities ?? 0)
  }

  /**
   * Returns all rules by their path: exact ones, and ones with wildcards, without the final `*`. Returns undefined for
   * the root policy.
   */
  describe(): Record<'exact' | 'wildcard', Record<string, readonly Capability[]>> | undefined {
    if (this.#isRoot) return undefined
    const shown = (rules: Iterable<AclRule>) =>
      Object.fromEntries([...rules].map(({ pattern, capabilities }) => [pattern.literal, namesOf(capabilities)]))
    return { exact: shown(this.#exact.values()), wildcard: shown([...this.#prefixes.values(), ...this.#segments]) }
  }

  /** Returns whether anything at or below the folder `prefix` (which ends with `/`) is granted. */
  hasAccessBelow(prefix: string): boolean {
    if (this.#isRoot || !this.capabilities(prefix).includes('deny')) return true
    // An exact rule for the folder itself does not apply to its contents.
    const around = this.#findWildcard(prefix)
    if (around && isGranting(around)) return true
    for (const [path, rule] of [...this.#exact, ...this.#prefixes]) {
      if (path.startsWith(prefix) && isGranting(rule)) return true
    }
    const parts = prefix.replace(/\/$/, '').split('/')
    return this.#segments.some((rule) => isGranting(rule) && reachesBelow(rule.pattern, parts))
  }

  #findRule(path: string, isList: boolean): AclRule | undefined {
    const bare = isList && path.endsWith('/') ? path.slice(0, -1) : undefined
    return (
      this.#exact.get(path) ??
      (bare === undefined ? undefined : this.#exact.get(bare)) ??
      (bare === undefined ? undefined : this.#findWildcard(bare)) ??
      this.#findWildcard(path)
    )
  }

  #findWildcard(path: string): AclRule | undefined {
    const prefix = this.#findPrefix(path)
    if (this.#segments.length === 0) return prefix
    let parts: string[] | undefined
    for (const rule of this.#segments) {
      if (prefix && comparePriority(prefix.pattern, rule.pattern) < 0) return prefix
      if (!path.startsWith(rule.pattern.literalHead)) continue
      parts ??= path.split('/')
      if (matchesSegments(rule.pattern, parts)) return rule
    }
    return prefix
  }

  #findPrefix(path: string): AclRule | undefined {
    for (const length of this.#prefixLengths) {
      const rule = length > path.length ? undefined : this.#prefixes.get(path.slice(0, length))
      if (rule) return rule
    }
    return undefined
  }
}

const isGranting = (rule: AclRule): boolean =>
  rule.capabilities !== 0 && (rule.capabilities & CAPABILITY_BITS.deny) === 0

const grantingPolicies = (rule: AclRule, needed: number): GrantingPolicy[] =>
  rule.contributions.filter(({ capabilities }) => (capabilities & needed) !== 0).map(({ policy }) => policy)

/**
 * Returns the path relative to `tokenNamespace`, as the policies of the token refer to it, for a request for `path` in
 * `requestNamespace`. Returns undefined if `requestNamespace` is neither the token's namespace nor below it.
 */
export const aclPath = (
  tokenNamespace: NamespaceRef,
  requestNamespace: NamespaceRef,
  path: string,
): string | undefined =>
  requestNamespace.path.startsWith(tokenNamespace.path)
    ? requestNamespace.path.slice(tokenNamespace.path.length) + path
    : undefined

/**
 * Compares two patterns that match the same path. Returns a negative number if `a` takes precedence. The first
 * difference in this list decides which pattern takes precedence:
 *
 * - the pattern whose first wildcard is later
 * - the pattern without a glob
 * - the pattern with fewer `+`
 * - the longer pattern
 * - the alphabetically later pattern
 */
const comparePriority = (a: PathPattern, b: PathPattern): number =>
  b.literalHead.length - a.literalHead.length ||
  Number(a.isGlob) - Number(b.isGlob) ||
  a.anySegments - b.anySegments ||
  b.text.length - a.text.length ||
  (a.text < b.text ? 1 : a.text > b.text ? -1 : 0)
