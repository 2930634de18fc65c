import { definePath, type PathSpec } from '../../logical/backend.js'
import { LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'
import type { Acl } from '../acl/acl.js'
import { type MountEntry, type MountKind, routePath } from '../mounts/mount-entry.js'
import { withhold } from '../status/cluster-status.js'
import { bare } from './backend.js'
import { locate, type MountPathDeps, renderMount, visibleMounts, withSlash } from './mount-paths.js'

interface UiPathDeps extends MountPathDeps {
  /** Returns the paths of all namespaces that the request may see. */
  readonly namespacesOf: (request: Request) => readonly string[]
  /**
   * Returns the access rules of the request's token, for paths of the request's namespace; undefined without a valid
   * token.
   */
  readonly aclOf: (request: Request) => { acl: Acl; prefix: string } | undefined
}

/**
 * Creates the paths below sys/internal/ui, which the UI and the CLI of Vault use.
 *
 * Mounts: without a token, the response contains the mounts that are visible
 * before a client signs in. If the request has a token, the response also contains the mounts that the token can
 * access.
 */
export const uiPaths = (deps: UiPathDeps): PathSpec[] => {
  const { table, router, reportedVersion, aclOf, namespacesOf } = deps
  const requireRights = (request: Request) => {
    const rights = aclOf(request)
    if (!rights) throw new LogicalError('permission-denied', 'permission denied')
    return rights
  }
  const section = (kind: MountKind, request: Request): Record<string, unknown> => {
    const rights = aclOf(request)
    const out: Record<string, unknown> = {}
    for (const entry of visibleMounts(table.list(kind, request.namespace.id), router, request)) {
      if (rights?.acl.hasAccessBelow(rights.prefix + routePath(entry))) {
        out[entry.path] = renderMount(entry, reportedVersion)
      } else if (entry.config.listingVisibility === 'unauth') {
        out[entry.path] = { type: entry.type, description: entry.description, options: entry.options }
      }
    }
    return out
  }
  return [
    definePath('internal/ui/mounts', {}, 'List the mounts that the token can access.', {
      read: ({ request }) => ({ data: { secret: section('secret', request), auth: section('auth', request) } }),
    }),
    definePath(
      'internal/ui/mounts/*path',
      { path: string('Path of a mount, or a path below it.') },
      'Read the mount of a path.',
      {
        read: ({ request, values }) => {
          const rights = requireRights(request)
          const entry = mountOf(request, values.path, deps)
          if (!entry || !rights.acl.hasAccessBelow(rights.prefix + routePath(entry))) {
            throw new LogicalError(
              'permission-denied',
              `preflight capability check returned 403, please ensure client's policies grant access to path "${withSlash(values.path)}"`,
            )
          }
          return { data: { ...renderMount(entry, reportedVersion), path: entry.path } }
        },
      },
    ),
    definePath('internal/ui/namespaces', {}, 'List the namespaces that the token can access.', {
      read: ({ request }) => {
        const { acl, prefix } = requireRights(request)
        const { path: own } = request.namespace
        const below = namespacesOf(request).filter((path) => path !== own && path.startsWith(own))
        const keys = below.map((path) => path.slice(own.length)).filter((path) => acl.hasAccessBelow(prefix + path))
        return { data: { keys: keys.sort() } }
      },
    }),
    definePath('internal/ui/resultant-acl', {}, 'Read the access rules of the token.', {
      read: ({ request }) => {
        const rules = requireRights(request).acl.describe()
        if (!rules) return { data: { root: true, chroot_namespace: '' } }
        const shown = (paths: Record<string, readonly string[]>) =>
          Object.fromEntries(Object.entries(paths).map(([path, capabilities]) => [path, { capabilities }]))
        return {
          data: { exact_paths: shown(rules.exact), glob_paths: shown(rules.wildcard), chroot_namespace: '' },
        }
      },
    }),
    definePath('internal/ui/version', {}, 'Read the version of the server.', {
      read: ({ request }) => ({ data: withhold({ version: reportedVersion }, request) }),
    }),
    definePath('internal/ui/feature-flags', {}, 'List the enabled feature flags. This server has none.', {
      read: () => bare({ feature_flags: null }),
    }),
  ]
}

const mountOf = (request: Request, path: string, { table, router }: UiPathDeps): MountEntry | undefined => {
  const wanted = locate('secret', withSlash(path))
  return visibleMounts(table.list(wanted.kind, request.namespace.id), router, request).find((entry) =>
    wanted.path.startsWith(entry.path),
  )
}
