import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, map, pairs, string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { type MountEntry, type MountKind, routePath } from '../mounts/mount-entry.js'
import type { MountTable } from '../mounts/mount-table.js'
import type { MountService } from '../mounts/mounts.js'
import type { Router } from '../mounts/router.js'
import type { Request } from '../../logical/request.js'
import { renderMountConfig } from '../mounts/mount-config.js'

export interface MountPathDeps {
  readonly table: MountTable
  readonly mounts: MountService
  readonly router: Router
  readonly reportedVersion: string
}

/** The differences between the endpoints of the two mount tables. */
const TABLES: readonly { readonly kind: MountKind; readonly root: string; readonly absent: string }[] = [
  { kind: 'secret', root: 'mounts', absent: 'No secret engine mount at' },
  { kind: 'auth', root: 'auth', absent: 'No auth engine at' },
]

const ENABLE_FIELDS = {
  path: string('Path of the mount.'),
  type: string('The type of the backend.'),
  description: string('Description of the mount.'),
  config: map('Lease times, visibility, headers, token type.'),
  options: pairs('Settings of the backend, such as version.'),
  local: bool('Does not replicate the mount to performance secondaries.'),
  seal_wrap: bool('Stored and shown; has no effect.'),
  external_entropy_access: bool('Stored and shown; has no effect.'),
  plugin_name: string('Deprecated name of type.', '', { isDeprecated: true }),
  plugin_version: string('Accepted; has no effect.'),
}

export const mountPaths = (deps: MountPathDeps): PathSpec[] => TABLES.flatMap((table) => tablePaths(table, deps))

const tablePaths = ({ kind, root, absent }: (typeof TABLES)[number], deps: MountPathDeps): PathSpec[] => {
  const { table, mounts, router, reportedVersion } = deps
  return [
    definePath(root, {}, `List the ${kind === 'auth' ? 'auth methods' : 'secrets engines'}.`, {
      read: ({ request }) => {
        const entries = visibleMounts(table.list(kind, request.namespace.id), router, request)
        return { data: Object.fromEntries(entries.map((entry) => [entry.path, renderMount(entry, reportedVersion)])) }
      },
      mirror: true,
    }),
    definePath(`${root}/*path`, ENABLE_FIELDS, 'Read, enable or disable a mount.', {
      read: ({ request, values }) => {
        const found = locate(kind, withSlash(values.path))
        const entry = table.find(found.kind, request.namespace.id, found.path)
        if (!entry || router.isFiltered(entry, request)) {
          throw invalid(`${absent} ${withSlash(values.path)}`)
        }
        return { data: renderMount(entry, reportedVersion) }
      },
      update: async ({ request, values }) => {
        await mounts.enable(kind, request.namespace, withSlash(values.path), {
          type: values.type || values.plugin_name,
          description: values.description,
          config: (values.config ?? {}) as JsonObject,
          options: values.options,
          isLocal: values.local,
          sealWrap: values.seal_wrap,
          externalEntropyAccess: values.external_entropy_access,
        })
        return undefined
      },
      delete: async ({ request, values }) => {
        const entry = table.find(kind, request.namespace.id, withSlash(values.path))
        if (entry) router.requirePresent(entry, request, routePath(entry))
        await mounts.disable(kind, request.namespace, withSlash(values.path))
        return undefined
      },
      mirror: true,
    }),
  ]
}

/**
 * Returns the mount table and the mount path for a path. The path sys/mounts/auth/ refers to the table of auth methods.
 */
export const locate = (kind: MountKind, path: string): { kind: MountKind; path: string } =>
  kind === 'secret' && path.startsWith('auth/') ? { kind: 'auth', path: path.slice('auth/'.length) } : { kind, path }

/** The suffix of the plugin version of all mounts, since every type is built in. */
const BUILT_IN_VERSION = '+builtin.vault'

export const builtInVersion = (reportedVersion: string): string =>
  `v${reportedVersion.split('+')[0]}${BUILT_IN_VERSION}`

/** Types that are parts of the API itself. Vault reports all other types as supported plugins. */
const API_TYPES: ReadonlySet<string> = new Set(['system', 'identity', 'cubbyhole', 'token'])

/** Returns a mount as sys/mounts, sys/auth and sys/internal/ui/mounts show it. */
export const renderMount = (entry: MountEntry, reportedVersion: string): Record<string, unknown> => ({
  accessor: entry.accessor,
  config: renderMountConfig(entry.config),
  ...(API_TYPES.has(entry.type) ? {} : { deprecation_status: 'supported' }),
  description: entry.description,
  external_entropy_access: entry.externalEntropyAccess,
  local: entry.isLocal,
  options: entry.options,
  plugin_version: '',
  running_plugin_version: builtInVersion(reportedVersion),
  running_sha256: '',
  seal_wrap: entry.sealWrap,
  type: entry.type,
  uuid: entry.uuid,
})

/** Returns the mounts of a table that no paths filter hides from the caller. */
export const visibleMounts = (entries: readonly MountEntry[], router: Router, request: Request): MountEntry[] =>
  entries.filter((entry) => !router.isFiltered(entry, request))

/** Returns the path without leading slashes and with exactly one trailing slash. */
export const withSlash = (path: string): string => `${path.replace(/^\/+|\/+$/g, '')}/`
