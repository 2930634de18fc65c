import { definePath, type PathSpec } from '../../logical/backend.js'
import { recover, reindex, requireEnabled } from './operate-maintenance.js'
import { ceremonyPaths } from './ceremony.js'
import { RECOVER_FIELDS, REINDEX_FIELDS } from './fields.js'
import { filterPaths } from './filters.js'
import { pathsBelow } from './guard.js'
import type { PathContext } from '../roles/context.js'
import { primaryPaths } from './primary.js'
import { drSecondaryPaths, performancePublicKeyPath, secondaryPaths } from './secondary.js'
import { renderStatus } from './status.js'
import type { Kind } from '../model/types.js'

/**
 * Returns the path table of `sys/replication/*`, relative to `sys/`. The older paths without a kind are for performance
 * replication.
 */
export const replicationPaths = (context: PathContext): PathSpec[] => [
  ...statusPaths(context),
  ...primaryPaths('replication/dr', 'dr', context),
  ...primaryPaths('replication/performance', 'performance', context),
  ...primaryPaths('replication', 'performance', context),
  ...drSecondaryPaths(context),
  ...secondaryPaths('replication/performance', 'performance', context),
  ...secondaryPaths('replication', 'performance', context),
  performancePublicKeyPath(context),
  ...ceremonyPaths(context),
  ...filterPaths(context),
  ...maintenancePaths(context),
]

const statusPaths = (context: PathContext): PathSpec[] => {
  const of = (kind: Kind) => renderStatus(context.running[kind].status())
  const status = (pattern: string, data: () => Record<string, unknown>): PathSpec =>
    definePath(pattern, {}, 'Read the replication status.', { read: () => ({ data: data() }) })
  return [
    status('replication/status', () => ({ dr: of('dr'), performance: of('performance') })),
    status('replication/dr/status', () => of('dr')),
    status('replication/performance/status', () => of('performance')),
  ]
}

const maintenancePaths = (context: PathContext): PathSpec[] => {
  const { write } = pathsBelow('replication', 'performance', context)
  const reindexPath = (prefix: string, kind: Kind | undefined): PathSpec =>
    pathsBelow(prefix, kind ?? 'performance', context).write(
      'reindex',
      REINDEX_FIELDS,
      'Rebuild the Merkle trees.',
      ({ values }) => {
        requireEnabled(context, kind)
        return reindex(context, { diff: values.diff, force: values.force, skipFlush: values.skip_flush })
      },
    )
  return [
    reindexPath('replication', undefined),
    reindexPath('replication/dr', 'dr'),
    reindexPath('replication/performance', 'performance'),
    write('recover', RECOVER_FIELDS, 'Restart replication from its stored state.', ({ values }) => {
      requireEnabled(context, undefined)
      return recover(context, { force: values.force })
    }),
    write('merkle-check', {}, 'Compare the Merkle trees with the data.', () => {
      requireEnabled(context, undefined)
      return context.maintenance.check()
    }),
  ]
}
