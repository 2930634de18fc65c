import type { NamespaceRef } from '../../logical/request.js'
import type { Quota } from './quota-record.js'

/** The properties of a request that select its quota. */
export interface QuotaQuery {
  readonly namespace: NamespaceRef
  readonly mountUuid: string
  /** The path below the mount. */
  readonly path: string
  /** Returns the role of a login; undefined for other requests. Called only if a quota of the mount has a role. */
  readonly role: () => string | undefined
}

const EXACT = Number.MAX_SAFE_INTEGER - 1
const OF_ROLE = Number.MAX_SAFE_INTEGER
const UNFIT = -1

/** Finds the most specific quota of a request. */
export class QuotaIndex<Q extends Quota> {
  /** By namespace ID and mount UUID. */
  readonly #groups = new Map<string, Set<Q>>()
  readonly #findNamespace: (path: string) => NamespaceRef | undefined

  constructor(findNamespace: (path: string) => NamespaceRef | undefined) {
    this.#findNamespace = findNamespace
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  add(quota: Q): void {
    const key = keyOf(quota.namespaceId, quota.mountUuid)
    const group = this.#groups.get(key)
    if (group) group.add(quota)
    else this.#groups.set(key, new Set([quota]))
  }

  remove(quota: Q): void {
    const key = keyOf(quota.namespaceId, quota.mountUuid)
    const group = this.#groups.get(key)
    group?.delete(quota)
    if (group?.size === 0) this.#groups.delete(key)
  }

  /**
   * A quota of the role of a login precedes a quota of the exact path, then of the longest prefix with `*`, the mount,
   * the namespace, and the nearest parent namespace whose quota is inheritable.
   */
  find({ namespace, mountUuid, path, role }: QuotaQuery): Q | undefined {
    const own = this.#groups.get(keyOf(namespace.id, mountUuid))
    return (own && bestOf(own, path.replace(/\/$/, ''), role)) ?? this.#ofNamespace(namespace)
  }

  #ofNamespace(namespace: NamespaceRef): Q | undefined {
    const [own] = this.#groups.get(keyOf(namespace.id, '')) ?? []
    if (own || namespace.path === '') return own
    for (let path = parentOf(namespace.path); ; path = parentOf(path)) {
      const [quota] = this.#groups.get(keyOf(this.#findNamespace(path)?.id ?? '', '')) ?? []
      if (quota?.inheritable) return quota
      if (path === '') return undefined
    }
  }
}

const keyOf = (namespaceId: string, mountUuid: string): string => `${namespaceId}\n${mountUuid}`

/** Returns the path of the parent of `a/b/`, which is `a/`. */
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)

const bestOf = <Q extends Quota>(
  group: ReadonlySet<Q>,
  path: string,
  role: () => string | undefined,
): Q | undefined => {
  let best: Q | undefined
  let bestRank = UNFIT
  let known: { readonly role: string | undefined } | undefined
  for (const quota of group) {
    if (quota.role !== '') known ??= { role: role() }
    const rank = rankOf(quota, path, known?.role)
    if (rank > bestRank) [best, bestRank] = [quota, rank]
  }
  return best
}

const rankOf = ({ suffix, role }: Quota, path: string, askedRole: string | undefined): number => {
  if (role !== '') return role === askedRole ? OF_ROLE : UNFIT
  if (suffix === '') return 0
  if (suffix === path) return EXACT
  return suffix.endsWith('*') && path.startsWith(suffix.slice(0, -1)) ? suffix.length : UNFIT
}
