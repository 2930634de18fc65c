/** sys/internal/counters, for dashboards. Totals are counted on request; usage over time is not recorded. */
import { ZERO_TIME } from '../../base/rfc3339.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Request, Response } from '../../logical/request.js'
import { type DescribedMount, openApiDocument } from '../../logical/openapi.js'
import { type MetricReading, renderMetricsJson, renderPrometheus } from '../status/metrics.js'

interface CounterPathDeps {
  /** Returns the number of service tokens in all namespaces. */
  readonly countTokens: () => Promise<number>
  /** Returns the number of entities in all namespaces. */
  readonly countEntities: () => Promise<number>
}

const PERIOD_FIELDS = {
  start_time: string('Start of the period.'),
  end_time: string('End of the period.'),
} as const

/** The response of a server without usage data for the period. */
const NO_DATA: Response = { status: 204 }

const ACTIVITY_CONFIG = {
  billing_start_timestamp: ZERO_TIME,
  default_report_months: 12,
  enabled: 'default-disabled',
  minimum_retention_months: 48,
  queries_available: false,
  reporting_enabled: false,
  retention_months: 48,
}

export const counterPaths = ({ countTokens, countEntities }: CounterPathDeps): PathSpec[] => [
  ...['activity', 'activity/monthly', 'activity/export'].map((name) =>
    definePath(`internal/counters/${name}`, PERIOD_FIELDS, 'Read usage over time; none is recorded.', {
      read: () => ({ ...NO_DATA }),
      takesAnyField: true,
    }),
  ),
  definePath('internal/counters/config', {}, 'Read the configuration of usage records: disabled.', {
    read: () => ({ data: { ...ACTIVITY_CONFIG } }),
  }),
  definePath('internal/counters/requests', {}, 'Was removed from Vault.', {
    read: () => {
      throw new LogicalError('not-found', 'The functionality has been removed on this path')
    },
  }),
  definePath('internal/counters/tokens', {}, 'Count the service tokens.', {
    read: async () => ({ data: { counters: { service_tokens: { total: await countTokens() } } } }),
  }),
  definePath('internal/counters/entities', {}, 'Count the entities.', {
    read: async () => ({ data: { counters: { entities: { total: await countEntities() } } } }),
  }),
]

/** Creates the path of sys/internal/specs/openapi, generated from the tables that dispatch requests. */
export const openApiPaths = (deps: {
  readonly version: string
  readonly mounts: (namespaceId: string) => readonly DescribedMount[]
}): PathSpec[] => [
  definePath('internal/specs/openapi', {}, 'Read the OpenAPI document of this server.', {
    read: ({ request: { namespace, withheld } }) => {
      const version = withheld?.includes('version') ? '' : deps.version
      return { data: openApiDocument(version, deps.mounts(namespace.id)), bare: true }
    },
  }),
]

interface MetricsPathDeps {
  readonly read: () => Promise<MetricReading>
  readonly now: () => number
}

export const metricsPaths = ({ read, now }: MetricsPathDeps): PathSpec[] => [
  definePath('metrics', { format: string('Format: prometheus. Default: JSON.') }, 'Read the metrics of this server.', {
    read: async ({ request, values }): Promise<Response> => {
      const format = values.format || formatOf(request)
      if (format === 'prometheus') {
        return { raw: { contentType: 'text/plain; version=0.0.4', body: await renderPrometheus(await read()) } }
      }
      if (format !== '') return { status: 400, raw: { contentType: 'text/plain', body: unknownFormat(format) } }
      return { data: renderMetricsJson(await read(), now()), bare: true }
    },
  }),
]

const unknownFormat = (format: string): string => `metric response format ${JSON.stringify(format)} unknown`

/** Returns the format that the Accept header requests. Some scrapers do not send the parameter `format`. */
const formatOf = ({ headers }: Request): string =>
  /openmetrics|prometheus/.test(String(headers.accept ?? '')) ? 'prometheus' : ''
