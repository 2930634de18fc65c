import type { Request } from '../../logical/request.js'
import type { Router } from '../mounts/router.js'
import { renderMountConfig } from '../mounts/mount-config.js'
import type { MountEntry } from '../mounts/mount-entry.js'

/** The version that the API shows for a mount's plugin: everything here is built in. */
const BUILT_IN_VERSION = '+builtin.vault'

/** Types that other products mark as supported plugins; the parts of the API itself have no such status. */
const PLUGIN_TYPES: ReadonlySet<string> = new Set(['kv', 'generic', 'transit', 'approle', 'userpass'])

/** A mount as sys/mounts, sys/auth and sys/internal/ui/mounts show it. */
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

/** The mounts of a table that whoever asks is shown: those that a path filter takes away are hidden. */
export const visibleMounts = (entries: readonly MountEntry[], router: Router, request: Request): MountEntry[] =>
  entries.filter((entry) => !router.isFiltered(entry, request))

/** Adds the one slash that ends a mount path. */
export const withSlash = (path: string): string => `${path.replace(/^\/+|\/+$/g, '')}/`
