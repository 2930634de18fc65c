import type { Request } from '../../logical/request.js'
import type { Router } from '../mounts/router.js'
import { renderMountConfig } from '../mounts/mount-config.js'
import type { MountEntry } from '../mounts/mount-entry.js'

/** The plugin version of all mounts, since every type is built in. */
const BUILT_IN_VERSION = '+builtin.vault'

/** Types that Vault reports as supported plugins. Types that are parts of the API itself have no such status. */
const PLUGIN_TYPES: ReadonlySet<string> = new Set(['kv', 'generic', 'transit', 'approle', 'userpass'])

/** Returns a mount in the form of sys/mounts, sys/auth and sys/internal/ui/mounts. */
export const renderMount = (entry: MountEntry, reportedVersion: string): Record<string, unknown> => ({
  accessor: entry.accessor,
  config: renderMountConfig(entry.config),
  ...(PLUGIN_TYPES.has(entry.type) ? { deprecation_status: 'supported' } : {}),
  description: entry.description,
  external_entropy_access: entry.externalEntropyAccess,
  local: entry.isLocal,
  options: entry.options,
  plugin_version: '',
  running_plugin_version: `v${reportedVersion.split('+')[0]}${BUILT_IN_VERSION}`,
  running_sha256: '',
  seal_wrap: entry.sealWrap,
  type: entry.type,
  uuid: entry.uuid,
})

/** Returns the mounts of a table without those hidden from the caller by a paths filter. */
export const visibleMounts = (entries: readonly MountEntry[], router: Router, request: Request): MountEntry[] =>
  entries.filter((entry) => !router.isFiltered(entry, request))

/** Ensures exactly one trailing slash. */
export const withSlash = (path: string): string => `${path.replace(/^\/+|\/+$/g, '')}/`
