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
    definePath({
      pattern: 'replication/performance/primary/paths-filter/:id',
      fields: FILTER_FIELDS,
      summary: 'Which mounts and namespaces a secondary gets.',
      operations: {
        update: ({ values }) => putFilter(licensed(), values.id, { mode: values.mode, paths: values.paths }),
        read: ({ values }) => readFilter(licensed(), values.id),
        delete: ({ values }) => deleteFilter(licensed(), values.id),
      },
    }),
    read(
      context,
      {
        pattern: 'replication/performance/primary/dynamic-filter/:id',
        kind: 'performance',
        fields: FILTER_ID_FIELDS,
        summary: 'What falls under a filter without being named in it.',
      },
      (current, { values }) => readDynamicOnPrimary(current, values.id),
    ),
    read(
      context,
      {
        pattern: 'replication/performance/secondary/dynamic-filter/:id',
        kind: 'performance',
        fields: FILTER_ID_FIELDS,
        summary: 'What falls under the filter of this secondary without being named in it.',
      },
      (current, { values }) => readDynamicOnSecondary(current, values.id),
    ),
  ]
}
