import { wholeSeconds } from '../../base/duration.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { any, type FieldTable, pairs, string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import { renderMountConfig } from '../mounts/mount-config.js'
import { type MountEntry, type MountKind, routePath } from '../mounts/mount-entry.js'
import { locate, type MountPathDeps, withSlash } from './mount-paths.js'

const TUNE_FIELDS = {
  path: string('The mount.'),
  default_lease_ttl: any('Seconds or a duration; "system" for the system\'s value.'),
  max_lease_ttl: any('Seconds or a duration; "system" for the system\'s value.'),
  force_no_cache: any('Stored and shown; has no effect.'),
  description: string('Description of the mount.'),
  options: pairs('Settings of the backend, such as version.'),
  listing_visibility: any('unauth, hidden or empty.'),
  audit_non_hmac_request_keys: any('Request fields that audit devices log in plain text.'),
  audit_non_hmac_response_keys: any('Response fields that audit devices log in plain text.'),
  passthrough_request_headers: any('Stored and shown; has no effect.'),
  allowed_response_headers: any('Stored and shown; has no effect.'),
  token_type: any('Type of the tokens of an auth method.'),
  user_lockout_config: any('lockout_threshold, lockout_duration, lockout_counter_reset_duration, lockout_disable.'),
  plugin_version: string('Accepted; has no effect.'),
}

interface TunePathDeps extends MountPathDeps {
  /** Upgrades a version 1 key-value mount. Resolves when its data is readable as version 2. */
  readonly upgradeKv: (entry: MountEntry) => Promise<void>
}

export const tunePaths = (deps: TunePathDeps): PathSpec[] =>
  (['secret', 'auth'] as const).map((kind) =>
    definePath(
      `${kind === 'auth' ? 'auth' : 'mounts'}/*path/tune`,
      TUNE_FIELDS,
      'Read or change the settings of a mount.',
      {
        read: ({ request, values }) => {
          const entry = find(deps, kind, request, values.path)
          if (!entry) throw invalid(`cannot fetch sysview for path "${shownPath(kind, values.path)}"`)
          return { data: renderTune(entry, deps) }
        },
        update: async (call) => {
          const entry = find(deps, kind, call.request, call.values.path)
          if (!entry) throw invalid(`tune of path "${shownPath(kind, call.values.path)}" failed: no mount entry found`)
          return tune(entry, call, deps)
        },
        mirror: true,
      },
    ),
  )

const find = (deps: TunePathDeps, kind: MountKind, request: Request, path: string): MountEntry | undefined => {
  const found = locate(kind, withSlash(path))
  const entry = deps.table.find(found.kind, request.namespace.id, found.path)
  if (entry) deps.router.requirePresent(entry, request, routePath(entry))
  return entry
}

const shownPath = (kind: MountKind, path: string): string => {
  const found = locate(kind, withSlash(path))
  return routePath(found)
}

const renderTune = (entry: MountEntry, deps: TunePathDeps): Record<string, unknown> => {
  const ttls = deps.mounts.effectiveTtls(entry)
  const { user_lockout_config: lockout, ...config } = renderMountConfig(entry.config)
  return {
    ...config,
    ...(lockout as Record<string, unknown> | undefined),
    default_lease_ttl: wholeSeconds(ttls.defaultLeaseTtlSeconds),
    max_lease_ttl: wholeSeconds(ttls.maxLeaseTtlSeconds),
    description: entry.description,
    ...(entry.options ? { options: entry.options } : {}),
  }
}

const tune = async <T extends typeof TUNE_FIELDS & FieldTable>(
  entry: MountEntry,
  { request, values, supplied }: Call<T>,
  deps: TunePathDeps,
): Promise<Response | undefined> => {
  const options = values.options as Readonly<Record<string, string>> | null
  const version = options?.version
  const current = entry.options?.version ?? '1'
  if (entry.type === 'kv' && version !== undefined && version !== current && version !== '2') {
    throw invalid(current === '2' ? 'cannot downgrade mount from version 2' : `unknown version "${version}"`)
  }
  const { description: _description, options: _options, path: _path, ...config } = request.data
  const tuned = await deps.mounts.tune(
    entry,
    config as JsonObject,
    supplied('description') ? (values.description as string) : undefined,
  )
  if (!options || Object.keys(options).length === 0) return undefined
  if (entry.type === 'kv' && version === '2' && current !== '2') {
    await deps.upgradeKv(tuned)
    await deps.mounts.setOptions(tuned, options)
    return {
      warnings: [
        'Upgrading mount from version 1 to version 2. This mount will be unavailable for a brief period and will resume service shortly.',
      ],
    }
  }
  await deps.mounts.setOptions(tuned, options)
  return undefined
}
