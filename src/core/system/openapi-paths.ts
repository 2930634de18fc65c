import { definePath, type PathSpec } from '../../logical/backend.js'
import { type DescribedMount, openApiDocument } from '../../logical/openapi.js'

/**
 * Creates the paths of sys/internal/specs/openapi, generated from the tables that dispatch requests; and of sys/config/cors.
 */
export const openApiPaths = (deps: {
  readonly version: string
  readonly mounts: (namespaceId: string) => readonly DescribedMount[]
}): PathSpec[] => [
  definePath({
    pattern: 'internal/specs/openapi',
    fields: {},
    summary: 'Describes every path that this server serves.',
    operations: {
      read: ({ request: { namespace, withheld } }) => {
        const version = withheld?.includes('version') ? '' : deps.version
        return { data: openApiDocument(version, deps.mounts(namespace.id)), bare: true }
      },
    },
  }),
  definePath({
    pattern: 'config/cors',
    fields: {},
    summary: 'Cross-origin access, which is off.',
    mirror: true,
    operations: { read: () => ({ data: { enabled: false } }) },
  }),
]
