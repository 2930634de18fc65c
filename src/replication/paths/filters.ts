import { definePath, type PathSpec } from '../../logical/backend.js'
import { deleteFilter, putFilter, readDynamicOnPrimary, readDynamicOnSecondary, readFilter } from './operate-filter.js'
import { FILTER_FIELDS, FILTER_ID_FIELDS } from './fields.js'
import { pathsBelow, requireLicense } from './guard.js'
import type { PathContext } from '../roles/context.js'

const PREFIX = 'replication/performance'

export const filterPaths = (context: PathContext): PathSpec[] => {
  const { read } = pathsBelow(PREFIX, 'performance', context)
  const licensed = (): PathContext => {
    requireLicense(context.host.license, 'performance')
    return context
  }
  const summary = 'Read, set or remove the path filter of a secondary.'
  return [
    definePath(`${PREFIX}/primary/paths-filter/:id`, FILTER_FIELDS, summary, {
      update: ({ values }) => putFilter(licensed(), values.id, { mode: values.mode, paths: values.paths }),
      read: ({ values }) => readFilter(licensed(), values.id),
      delete: ({ values }) => deleteFilter(licensed(), values.id),
    }),
    read('primary/dynamic-filter/:id', FILTER_ID_FIELDS, 'Read the mounts that a filter affects.', ({ values }) =>
      readDynamicOnPrimary(context, values.id),
    ),
    read(
      'secondary/dynamic-filter/:id',
      FILTER_ID_FIELDS,
      'Read the mounts that the filter of this secondary affects.',
      ({ values }) => readDynamicOnSecondary(context, values.id),
    ),
  ]
}
