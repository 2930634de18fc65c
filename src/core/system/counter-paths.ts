/** sys/internal/counters, for dashboards. Totals are counted on request; usage over time is not recorded. */
import { ZERO_TIME } from '../../base/rfc3339.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'

interface CounterPathDeps {
  /** Counts service tokens and entities of this cluster in all namespaces. */
  readonly countTokens: () => Promise<number>
  readonly countEntities: () => Promise<number>
}

const PERIOD_FIELDS = {
  start_time: string('Begin of the period.'),
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
    definePath({
      pattern: `internal/counters/${name}`,
      fields: PERIOD_FIELDS,
      takesAnyField: true,
      summary: 'Usage over time, of which none is kept.',
      operations: { read: () => ({ ...NO_DATA }) },
    }),
  ),
  definePath({
    pattern: 'internal/counters/config',
    fields: {},
    summary: 'How usage over time is kept: not at all.',
    operations: { read: () => ({ data: { ...ACTIVITY_CONFIG } }) },
  }),
  definePath({
    pattern: 'internal/counters/requests',
    fields: {},
    summary: 'Requests by month, of which none are kept.',
    operations: { read: () => ({ data: { counters: [] } }) },
  }),
  definePath({
    pattern: 'internal/counters/tokens',
    fields: {},
    summary: 'How many service tokens there are.',
    operations: { read: async () => ({ data: { counters: { service_tokens: { total: await countTokens() } } } }) },
  }),
  definePath({
    pattern: 'internal/counters/entities',
    fields: {},
    summary: 'How many entities there are.',
    operations: { read: async () => ({ data: { counters: { entities: { total: await countEntities() } } } }) },
  }),
]
