import type { Random } from '../../base/random.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, notFound } from '../../logical/errors.js'
import { pairs, string } from '../../logical/fields.js'
import { isNamespacePath, normalizeNamespacePath } from '../../logical/namespace-path.js'
import type { NamespaceRef, Request } from '../../logical/request.js'
import { newNamespaceId, requireCleanPath } from '../mounts/mounts.js'
import type { NamespaceEntry, NamespaceStore } from '../namespaces/namespaces.js'

interface NamespacePathDeps {
  readonly namespaces: NamespaceStore
  readonly random: Random
  /**
   * Returns true if a paths filter hides the namespace from this cluster, or from the cluster that forwarded the
   * request.
   */
  readonly isHidden: (path: string, request: Request) => boolean
  /** Throws LogicalError if the namespace contains a mount that the caller may not see, or whose data is incomplete. */
  readonly requireAllPresent: (namespace: NamespaceRef, request: Request) => void
  /**
   * Throws LogicalError 400 if a mount conflicts with the namespace. Called inside the transaction that creates the
   * namespace.
   */
  readonly refuseTaken: (entry: NamespaceEntry) => void
  /** Creates the mounts and policies of a new namespace. */
  readonly createDefaults: (namespace: NamespaceRef) => Promise<void>
  readonly clear: (namespace: NamespaceRef) => Promise<void>
}

/** Creates the paths of sys/namespaces, which manage the child namespaces of the request's namespace. */
export const namespacePaths = (deps: NamespacePathDeps): PathSpec[] => {
  const { namespaces } = deps
  const child = (request: Request, name: string): NamespaceEntry | undefined => {
    const path = normalizeNamespacePath(name)
    const found = path === '' ? undefined : namespaces.find(request.namespace.path + path)
    return found && !deps.isHidden(found.path, request) ? found : undefined
  }
  const render = (entry: NamespaceEntry) => ({ id: entry.id, path: entry.path, custom_metadata: entry.customMetadata })
  return [
    definePath('namespaces/?', {}, 'List the child namespaces.', {
      list: ({ request }) => {
        const children = namespaces
          .childrenOf(request.namespace.path)
          .filter(({ path }) => !deps.isHidden(path, request))
        if (children.length === 0) return undefined
        const names = children.map((entry) => entry.path.slice(request.namespace.path.length))
        const info = children.map((entry, index) => [names[index] ?? '', render(entry)] as const)
        return { data: { keys: names, key_info: Object.fromEntries(info) } }
      },
    }),
    definePath(
      'namespaces/*path',
      { path: string('Name of the namespace.'), custom_metadata: pairs('Custom metadata: keys and values.') },
      'Create, read, change or delete a child namespace.',
      {
        read: ({ request, values }) => {
          const entry = child(request, values.path)
          if (!entry) throw notFound()
          return { data: render(entry) }
        },
        update: async ({ request, values, supplied }) => {
          const known = child(request, values.path)
          const customMetadata = values.custom_metadata ?? {}
          if (known) {
            if (supplied('custom_metadata')) await namespaces.put({ ...known, customMetadata })
            return {
              data: render({
                ...known,
                customMetadata: supplied('custom_metadata') ? customMetadata : known.customMetadata,
              }),
            }
          }
          return { data: render(await create(deps, request, values.path, customMetadata)) }
        },
        patch: async ({ request, values }) => {
          const entry = child(request, values.path)
          if (!entry) throw notFound()
          const changed = { ...entry, customMetadata: { ...entry.customMetadata, ...values.custom_metadata } }
          await namespaces.put(changed)
          return { data: render(changed) }
        },
        delete: async ({ request, values }) => {
          const entry = child(request, values.path)
          if (!entry) return undefined
          if (namespaces.childrenOf(entry.path).length > 0) {
            throw invalid(`cannot delete namespace "${entry.path}": it has child namespaces`)
          }
          deps.requireAllPresent(entry, request)
          await deps.clear(entry)
          await namespaces.remove(entry)
          return undefined
        },
      },
    ),
  ]
}

const create = async (
  { namespaces, random, isHidden, refuseTaken, createDefaults }: NamespacePathDeps,
  request: Request,
  name: string,
  customMetadata: Readonly<Record<string, string>>,
): Promise<NamespaceEntry> => {
  const parent = request.namespace
  const path = normalizeNamespacePath(name)
  const leaf = path.slice(0, -1).split('/')
  if (!isNamespacePath(path)) throw invalid(`"${name}" is not a valid name of a namespace`)
  requireCleanPath(path)
  if (leaf[0] === 'api-lock' && leaf.length > 1) throw invalid('locking the API of a namespace is not supported')
  const above = leaf.length > 1 ? `${parent.path}${leaf.slice(0, -1).join('/')}/` : parent.path
  if (!namespaces.find(above)) throw invalid(`parent namespace "${above}" does not exist`)
  const entry: NamespaceEntry = { id: newNamespaceId(random), path: parent.path + path, customMetadata }
  // A paths filter hides this path from the caller, so the response must not reveal whether the namespace exists.
  if (isHidden(entry.path, request)) throw notFound()
  const added = await namespaces.add(entry, refuseTaken)
  if (added === entry) await createDefaults(entry)
  return added
}
