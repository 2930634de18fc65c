import { definePath, type PathSpec } from '../../logical/backend.js'
import { type DescribedMount, openApiDocument } from '../../logical/openapi.js'

/** sys/internal/specs/openapi, drawn from the tables that requests are dispatched by; and sys/config/cors. */
export const openApiPaths = (deps: {
  readonly version: string
  /** The mounts of a namespace. */
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
