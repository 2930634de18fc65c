import { definePath, type PathSpec } from '../../logical/backend.js'
import { checkTrees, recover, reindex, requireEnabled } from './operate-maintenance.js'
import { ceremonyPaths } from './ceremony.js'
import { RECOVER_FIELDS, REINDEX_FIELDS } from './fields.js'
import { filterPaths } from './filters.js'
import { write } from './guard.js'
import type { PathContext } from '../roles/context.js'
import { primaryPaths } from './primary.js'
import { drSecondaryPaths, performancePublicKeyPath, performanceSecondaryPaths } from './secondary.js'
import { renderStatus } from './status.js'
import type { Kind } from '../model/types.js'

/**
 * Returns `sys/replication/*` as a path table, relative to `sys/`. The older paths without a kind mean performance
 * replication.
 */
export const replicationPaths = (context: PathContext): PathSpec[] => [
  ...statusPaths(context),
  ...primaryPaths('replication/dr', 'dr', context),
  ...primaryPaths('replication/performance', 'performance', context),
  ...primaryPaths('replication', 'performance', context),
  ...drSecondaryPaths(context),
  ...performanceSecondaryPaths('replication/performance', context),
  ...performanceSecondaryPaths('replication', context),
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
  const reindexPath = (pattern: string, kind: Kind | undefined): PathSpec =>
    write(
      context,
      { pattern, kind: kind ?? 'performance', fields: REINDEX_FIELDS, summary: 'Rebuild the Merkle trees.' },
      (current, { values }) => {
        requireEnabled(current, kind)
        return reindex(current, { diff: values.diff, force: values.force, skipFlush: values.skip_flush })
      },
    )
  return [
    reindexPath('replication/reindex', undefined),
    reindexPath('replication/dr/reindex', 'dr'),
    reindexPath('replication/performance/reindex', 'performance'),
    write(
      context,
      {
        pattern: 'replication/recover',
        kind: 'performance',
        fields: RECOVER_FIELDS,
        summary: 'Restart replication from its stored state.',
      },
      (current, { values }) => {
        requireEnabled(current, undefined)
        return recover(current, { force: values.force })
      },
    ),
    write(
      context,
      {
        pattern: 'replication/merkle-check',
        kind: 'performance',
        fields: {},
        summary: 'Compare the Merkle trees with the data.',
      },
      (current) => {
        requireEnabled(current, undefined)
        return checkTrees(current)
      },
    ),
  ]
}
