import { definePath, type PathSpec } from '../../logical/backend.js'
import { deleteFilter, putFilter, readDynamicOnPrimary, readDynamicOnSecondary, readFilter } from './operate-filter.js'
import { FILTER_FIELDS, FILTER_ID_FIELDS } from './fields.js'
import { read, requireLicense } from './guard.js'
import type { PathContext } from '../roles/context.js'

/** Path filters of performance secondaries. */
export const filterPaths = (context: PathContext): PathSpec[] => {
  const licensed = (): PathContext => {
    requireLicense(context.host.license, 'performance')
    return context
  }
  return [
    definePath(
      'replication/performance/primary/paths-filter/:id',
      FILTER_FIELDS,
      'Read, set or remove the path filter of a secondary.',
      {
        update: ({ values }) => putFilter(licensed(), values.id, { mode: values.mode, paths: values.paths }),
        read: ({ values }) => readFilter(licensed(), values.id),
        delete: ({ values }) => deleteFilter(licensed(), values.id),
      },
    ),
    read(
      context,
      {
        pattern: 'replication/performance/primary/dynamic-filter/:id',
        kind: 'performance',
        fields: FILTER_ID_FIELDS,
        summary: 'Read the mounts that a filter affects.',
      },
      (current, { values }) => readDynamicOnPrimary(current, values.id),
    ),
    read(
      context,
      {
        pattern: 'replication/performance/secondary/dynamic-filter/:id',
        kind: 'performance',
        fields: FILTER_ID_FIELDS,
        summary: 'Read the mounts that the filter of this secondary affects.',
      },
      (current, { values }) => readDynamicOnSecondary(current, values.id),
    ),
  ]
}
