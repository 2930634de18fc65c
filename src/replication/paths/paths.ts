import { definePath, type PathSpec } from '../../logical/backend.js'
import { checkTrees, recover, reindex, requireEnabled } from './operate-upkeep.js'
import { ceremonyPaths } from './ceremony.js'
import { RECOVER_FIELDS, REINDEX_FIELDS } from './fields.js'
import { filterPaths } from './filters.js'
import { type Context, write } from './guard.js'
import { primaryPaths } from './primary.js'
import { drSecondaryPaths, performancePublicKeyPath, performanceSecondaryPaths } from './secondary.js'
import { renderStatus } from './status.js'
import type { Kind } from '../types.js'

/**
 * `sys/replication/*` as a path table, relative to `sys/`. The older paths without a kind mean performance replication.
 * A cluster whose role changes gets a new context; the table stays.
 */
export const replicationPaths = (context: Context): PathSpec[] => [
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
  ...upkeepPaths(context),
]

const statusPaths = (context: Context): PathSpec[] => {
  const of = (kind: Kind) => renderStatus(context().managers[kind].status())
  const status = (pattern: string, data: () => Record<string, unknown>): PathSpec =>
    definePath({
      pattern,
      fields: {},
      summary: 'The state of replication.',
      operations: { read: () => ({ data: data() }) },
    })
  return [
    status('replication/status', () => ({ dr: of('dr'), performance: of('performance') })),
    status('replication/dr/status', () => of('dr')),
    status('replication/performance/status', () => of('performance')),
  ]
}

const upkeepPaths = (context: Context): PathSpec[] => {
  const reindexPath = (pattern: string, kind: Kind | undefined): PathSpec =>
    write(
      pattern,
      kind ?? 'performance',
      context,
      REINDEX_FIELDS,
      'Rebuild the merkle trees.',
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
      'replication/recover',
      'performance',
      context,
      RECOVER_FIELDS,
      'Restart replication from its stored state.',
      (current, { values }) => {
        requireEnabled(current, undefined)
        return recover(current, { force: values.force })
      },
    ),
    write(
      'replication/merkle-check',
      'performance',
      context,
      {},
      'Compare the merkle trees with the data.',
      (current) => {
        requireEnabled(current, undefined)
        return checkTrees(current)
      },
    ),
  ]
}

const WITH_OPERATION_TOKEN = [
  'replication/dr/secondary/promote',
  'replication/dr/secondary/disable',
  'replication/dr/secondary/recover',
  'replication/dr/secondary/update-primary',
  'replication/dr/secondary/reindex',
  'replication/dr/secondary/merkle-check',
  'replication/dr/secondary/operation-token/delete',
  'replication/dr/secondary/config/reload/*',
] as const

const CEREMONY = [
  'replication/dr/secondary/generate-operation-token/attempt',
  'replication/dr/secondary/generate-operation-token/update',
] as const

const STATUS = ['replication/status', 'replication/dr/status', 'replication/performance/status'] as const

/** Need no client token, or look at it themselves. Below `sys/`. */
export const REPLICATION_UNAUTHENTICATED: readonly string[] = [
  ...STATUS,
  ...WITH_OPERATION_TOKEN,
  ...CEREMONY,
  'replication/dr/secondary/license/status',
]

/** Need the sudo capability. Below `sys/`. */
export const REPLICATION_SUDO: readonly string[] = [
  'replication/primary/secondary-token',
  'replication/performance/primary/secondary-token',
  'replication/dr/primary/secondary-token',
  'replication/reindex',
  'replication/dr/reindex',
  'replication/performance/reindex',
]

/** All that a DR secondary serves, below `sys/`. Everything else is refused before anything is looked at. */
export const DR_ALLOWED_PATHS: readonly string[] = [
  'health',
  'seal-status',
  'leader',
  'init',
  'unseal',
  ...STATUS,
  ...WITH_OPERATION_TOKEN,
  ...CEREMONY,
  // For an operation token or, there alone, a client token that it looks at itself.
  'replication/dr/secondary/generate-public-key',
  'replication/dr/secondary/license/status',
]
