import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid, notFound } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { type MountEntry, routePath, SINGLETON_TYPES } from '../mounts/mount-entry.js'
import { locate, type MountPathDeps, withSlash } from './mount-paths.js'

interface Migration {
  readonly mount: MountEntry
  readonly info: { readonly source_mount: string; readonly target_mount: string; readonly status: 'success' }
}

interface RemountPathDeps extends MountPathDeps {
  readonly random: Random
  /** Returns true on a performance secondary, whose primary moves replicated mounts and records the moves. */
  readonly isReadOnly: () => boolean
}

const QUEUED =
  "Mount move has been queued. Progress will be reported in Vault's server log, tagged with the returned migration_id"

/** The maximum number of completed moves whose status is available. */
const MIGRATIONS_KEPT = 256

/**
 * Creates the paths of sys/remount and its status. A move is complete when the response is sent, so its status is
 * always `success`.
 */
export const remountPaths = (deps: RemountPathDeps): PathSpec[] => {
  const migrations = new Map<string, Migration>()
  const keep = (migration: Migration): string => {
    const id = uuid(deps.random)
    migrations.set(id, migration)
    for (const oldest of migrations.keys()) {
      if (migrations.size <= MIGRATIONS_KEPT) break
      migrations.delete(oldest)
    }
    return id
  }
  return [
    definePath(
      'remount',
      { from: string('The mount to move.'), to: string('New path of the mount.') },
      'Move a mount to another path.',
      {
        update: async ({ request, values }) => {
          if (values.from === '' || values.to === '')
            throw invalid("both 'from' and 'to' path must be specified as a string")
          const from = locate('secret', withSlash(values.from))
          const to = locate('secret', withSlash(values.to))
          if (to.kind !== from.kind && from.kind === 'auth') {
            throw invalid(`cannot remount auth mount to non-auth mount "${to.path}"`)
          }
          if (to.kind !== from.kind || /^(?:auth|sys)\//.test(to.path)) {
            throw invalid(`cannot remount to destination ${withSlash(values.to)}`)
          }
          const entry = deps.table.find(from.kind, request.namespace.id, from.path)
          if (!entry) throw invalid(`no matching mount at "${withSlash(values.from)}"`)
          deps.router.requirePresent(entry, request, routePath(entry))
          if (SINGLETON_TYPES.has(entry.type)) throw invalid(`cannot remount "${withSlash(values.from)}"`)
          await deps.mounts.remount(entry, to.path)
          const [source_mount, target_mount] = [withSlash(values.from), withSlash(values.to)]
          return {
            data: { migration_id: keep({ mount: entry, info: { source_mount, target_mount, status: 'success' } }) },
            warnings: [QUEUED],
          }
        },
        mirror: true,
      },
    ),
    definePath(
      'remount/status/:migration_id',
      { migration_id: string('The migration ID that remount returned.') },
      'Read the status of a move.',
      {
        read: ({ request, values }) => {
          const migration = migrations.get(values.migration_id)
          if (!migration) requirePrimary(deps)
          if (!migration || deps.router.isFiltered(migration.mount, request)) throw notFound()
          return { data: { migration_id: values.migration_id, migration_info: migration.info } }
        },
      },
    ),
  ]
}
