import { sha256Hex } from '../../crypto/digest.js'
import { findMountOf } from '../../storage/keys/key-families.js'

/**
 * The rule of a path filter. The pure functions of this file compute which mounts and namespaces a rule withholds from
 * a performance secondary, and which storage keys that covers. Two types of mounts are never filtered: local mounts,
 * which are not replicated, and mounts that every namespace needs.
 */
export interface FilterRule {
  readonly mode: 'allow' | 'deny'
  /** Full paths of mounts and namespaces in the given order, without duplicates. Each ends with a slash. */
  readonly paths: readonly string[]
}

/** One entry of the mount tables. */
export interface MountFact {
  readonly uuid: string
  /** Full path, including the namespace: `secret/`, `auth/approle/`, `ns1/auth/approle/`. */
  readonly path: string
  /** Path of the mount's namespace: empty for the root namespace, otherwise for example `ns1/`. */
  readonly namespacePath: string
  readonly type: string
  readonly isLocal: boolean
}

export interface NamespaceFact {
  readonly id: string
  /** Empty for the root namespace, otherwise for example `ns1/child/`. */
  readonly path: string
}

export interface CompiledFilter {
  /** Returns true if the storage key must not be sent to this secondary. Neither the key nor the value is then sent. */
  isFiltered(key: string): boolean
  /** A hash that is equal on all clusters that compile the same rule against the same mounts. */
  readonly fingerprint: string
  readonly filteredMounts: ReadonlySet<string>
  readonly hiddenNamespaces: ReadonlySet<string>
  /** Sorted paths of mounts and namespaces that the rule covers without naming them. */
  readonly dynamicMounts: readonly string[]
  readonly dynamicNamespaces: readonly string[]
}

/** Types of mounts that exist exactly once in every namespace. */
const SINGLETON_TYPES: ReadonlySet<string> = new Set(['system', 'identity', 'token', 'cubbyhole'])

const canBeFiltered = (mount: MountFact): boolean => !mount.isLocal && !SINGLETON_TYPES.has(mount.type)

/** Normalizes a path to the form `secret/`. Returns undefined for a path without a name. */
export const normalizePath = (path: string): string | undefined => {
  const trimmed = path.trim().replace(/^\/+/, '').replace(/\/+$/, '')
  return trimmed === '' ? undefined : `${trimmed}/`
}

export const normalizePaths = (paths: readonly string[]): string[] => [
  ...new Set(paths.map(normalizePath).filter((path) => path !== undefined)),
]

/** Returns the first path that names a singleton mount of any namespace, or undefined if none does. */
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

/** Returns the paths that match no mount or namespace. They are stored, but have no effect yet. */
export const findUnknown = (
  paths: readonly string[],
  mounts: readonly MountFact[],
  namespaces: readonly NamespaceFact[],
): string[] => {
  const known = new Set([...mounts.map((mount) => mount.path), ...namespaces.map((namespace) => namespace.path)])
  return paths.filter((path) => !known.has(path))
}

/** Returns true if the rule names the mount or a namespace that contains it. */
const coversMount = (rule: FilterRule, mount: MountFact, namespacePaths: ReadonlySet<string>): boolean =>
  rule.paths.some((path) => path === mount.path || (namespacePaths.has(path) && mount.namespacePath.startsWith(path)))

const coversNamespace = (rule: FilterRule, namespace: NamespaceFact, namespacePaths: ReadonlySet<string>): boolean =>
  rule.paths.some((path) => namespacePaths.has(path) && namespace.path.startsWith(path))

const isHidden = (rule: FilterRule, namespace: NamespaceFact, namespacePaths: ReadonlySet<string>): boolean => {
  if (namespace.path === '') return false
  const isCovered = coversNamespace(rule, namespace, namespacePaths)
  if (rule.mode === 'deny') return isCovered
  // A namespace stays visible if the rule allows a mount inside it, because clients reach this mount through the
  // namespace.
  return !isCovered && !rule.paths.some((path) => path.startsWith(namespace.path))
}

/**
 * Compiles a rule. `anyway` has the IDs of mounts that are filtered regardless of the rule:
 * - unmounted mounts, because the log entries that delete their data contain keys
 * - moved mounts that were filtered before the move
 */
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
      const mount = findMountOf(key)
      return mount?.category === 'replicated' && filtered.has(mount.uuid)
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
