import { sha256Hex } from '../../crypto/digest.js'
import { findMountOf } from '../../storage/keys/key-families.js'

/**
 * Path filters, as pure functions: which mounts and namespaces a rule keeps from a performance secondary, and which
 * storage keys that means. Never filtered: local mounts, which are not replicated anyway, and what every namespace
 * needs to work at all.
 */
export interface FilterRule {
  readonly mode: 'allow' | 'deny'
  /** Full paths of mounts and namespaces, each with a trailing slash, none twice, in the order they were given. */
  readonly paths: readonly string[]
}

/** One row of the mount tables. */
export interface MountFact {
  readonly uuid: string
  /** With the namespace in front: `secret/`, `auth/approle/`, `ns1/auth/approle/`. */
  readonly path: string
  /** Of its namespace: empty for the root namespace, else `ns1/`. */
  readonly namespacePath: string
  readonly type: string
  readonly isLocal: boolean
}

export interface NamespaceFact {
  readonly id: string
  /** Empty for the root namespace, else `ns1/child/`. */
  readonly path: string
}

export interface CompiledFilter {
  /** True for a storage key that must not leave for this secondary, not even its name. */
  isFiltered(key: string): boolean
  /** Equal wherever the same rule meets the same mounts. */
  readonly fingerprint: string
  /** Ids of the mounts that are filtered. */
  readonly filteredMounts: ReadonlySet<string>
  /** Paths of the namespaces that vanish. */
  readonly hiddenNamespaces: ReadonlySet<string>
  /** The mounts and namespaces that fall under the rule without being named in it, sorted. */
  readonly dynamicMounts: readonly string[]
  readonly dynamicNamespaces: readonly string[]
}

/** There is one of each per namespace, and nothing works without them. */
const SINGLETON_TYPES: ReadonlySet<string> = new Set(['system', 'identity', 'token', 'cubbyhole'])

const canBeFiltered = (mount: MountFact): boolean => !mount.isLocal && !SINGLETON_TYPES.has(mount.type)

/** `secret`, `/secret/` and `secret/` are one path; undefined for what names nothing. */
export const normalizePath = (path: string): string | undefined => {
  const trimmed = path.trim().replace(/^\/+/, '').replace(/\/+$/, '')
  return trimmed === '' ? undefined : `${trimmed}/`
}

export const normalizePaths = (paths: readonly string[]): string[] => [
  ...new Set(paths.map(normalizePath).filter((path) => path !== undefined)),
]

/** The first path that names a singleton mount, of whatever namespace. */
export const findSingleton = (
  paths: readonly string[],
  mounts: readonly MountFact[],
  namespaces: readonly NamespaceFact[],
): string | undefined => {
  const reserved = new Set(mounts.filter((mount) => SINGLETON_TYPES.has(mount.type)).map((mount) => mount.path))
  for (const { path } of namespaces) {
    for (const name of ['sys/', 'identity/', 'auth/token/', 'cubbyhole/']) reserved.add(path + name)
  }
  return paths.find((path) => reserved.has(path))
}

/** The paths that name neither a mount nor a namespace: they are kept, and mean nothing yet. */
export const findUnknown = (
  paths: readonly string[],
  mounts: readonly MountFact[],
  namespaces: readonly NamespaceFact[],
): string[] => {
  const known = new Set([...mounts.map((mount) => mount.path), ...namespaces.map((namespace) => namespace.path)])
  return paths.filter((path) => !known.has(path))
}

/** True when the rule names the mount or a namespace that it lies in. */
const coversMount = (rule: FilterRule, mount: MountFact, namespacePaths: ReadonlySet<string>): boolean =>
  rule.paths.some((path) => path === mount.path || (namespacePaths.has(path) && mount.namespacePath.startsWith(path)))

const coversNamespace = (rule: FilterRule, namespace: NamespaceFact, namespacePaths: ReadonlySet<string>): boolean =>
  rule.paths.some((path) => namespacePaths.has(path) && namespace.path.startsWith(path))

const isHidden = (rule: FilterRule, namespace: NamespaceFact, namespacePaths: ReadonlySet<string>): boolean => {
  if (namespace.path === '') return false
  const isCovered = coversNamespace(rule, namespace, namespacePaths)
  if (rule.mode === 'deny') return isCovered
  // A namespace stays when something below it is allowed, since it is the way there.
  return !isCovered && !rule.paths.some((path) => path.startsWith(namespace.path))
}

/** `anyway`: mounts that are filtered whatever the rule says: unmounted ones, whose last deletions name keys, too, and moved ones. */
export const compileFilter = (
  rule: FilterRule,
  mounts: readonly MountFact[],
  namespaces: readonly NamespaceFact[],
  anyway: readonly string[] = [],
): CompiledFilter => {
  const namespacePaths = new Set(namespaces.map((namespace) => namespace.path).filter((path) => path !== ''))
  const named = new Set(rule.paths)
  const filtered = new Set(anyway)
  const dynamicMounts: string[] = []
  for (const mount of mounts) {
    if (!canBeFiltered(mount)) continue
    const isCovered = coversMount(rule, mount, namespacePaths)
    if (isCovered === (rule.mode === 'deny')) filtered.add(mount.uuid)
    if (isCovered && !named.has(mount.path) && filtered.has(mount.uuid) === (rule.mode === 'deny'))
      dynamicMounts.push(mount.path)
  }
  const isDynamic = (namespace: NamespaceFact) =>
    namespace.path !== '' && !named.has(namespace.path) && coversNamespace(rule, namespace, namespacePaths)
  return {
    isFiltered(key) {
      const place = findMountOf(key)
      return place?.category === 'replicated' && filtered.has(place.uuid)
    },
    fingerprint: sha256Hex([rule.mode, ...rule.paths, '', ...[...filtered].sort()].join('\n')),
    filteredMounts: filtered,
    hiddenNamespaces: new Set(namespaces.filter((row) => isHidden(rule, row, namespacePaths)).map((row) => row.path)),
    dynamicMounts: dynamicMounts.sort(),
    dynamicNamespaces: namespaces
      .filter(isDynamic)
      .map((row) => row.path)
      .sort(),
  }
}
