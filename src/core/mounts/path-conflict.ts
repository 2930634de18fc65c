import type { NamespaceRef } from '../../logical/request.js'
import { type MountEntry, routePath } from './mount-entry.js'

/** Where a mount is, seen from the root namespace. */
export interface PlacedMount {
  readonly entry: Pick<MountEntry, 'kind' | 'path'>
  readonly namespacePath: string
}

/**
 * A request belongs to the namespace that its path begins with, whatever is mounted there. So a mount at the path of a
 * namespace, below it, or above it makes one of the two unreachable, unless it lies inside of that very namespace.
 */
const isInTheWay = ({ entry, namespacePath }: PlacedMount, path: string): boolean => {
  if (path === '' || namespacePath.startsWith(path)) return false
  const full = namespacePath + routePath(entry)
  return full.startsWith(path) || path.startsWith(full)
}

/** The namespace that makes it impossible to mount there. */
export const findNamespaceInTheWay = <T extends NamespaceRef>(
  mount: PlacedMount,
  namespaces: readonly T[],
): T | undefined => namespaces.find(({ path }) => isInTheWay(mount, path))

/** The mount that makes it impossible to have a namespace at `path`. */
export const findMountInTheWay = <T extends PlacedMount>(path: string, mounts: readonly T[]): T | undefined =>
  mounts.find((mount) => isInTheWay(mount, path))
