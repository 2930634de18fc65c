import { definePath, type PathSpec } from '../../logical/backend.js'
import { string } from '../../logical/fields.js'
import type { Request, Response } from '../../logical/request.js'
import { type MetricReading, renderMetricsJson, renderPrometheus } from '../status/metrics.js'

interface MetricsPathDeps {
  readonly read: () => Promise<MetricReading>
  readonly now: () => number
}

/** Creates sys/metrics: the server's metrics in Prometheus format or as JSON. */
export const metricsPaths = ({ read, now }: MetricsPathDeps): PathSpec[] => [
  definePath({
    pattern: 'metrics',
    fields: { format: string('prometheus, or nothing for JSON.') },
    summary: 'Metrics of this server.',
    operations: {
      read: async ({ request, values }): Promise<Response> => {
        const format = values.format || formatOf(request)
        if (format === 'prometheus') {
          return { raw: { contentType: 'text/plain; version=0.0.4', body: await renderPrometheus(await read()) } }
        }
        if (format !== '') return { status: 400, raw: { contentType: 'text/plain', body: unknownFormat(format) } }
        return { data: renderMetricsJson(await read(), now()), bare: true }
      },
    },
  }),
]

const unknownFormat = (format: string): string => `metric response format ${JSON.stringify(format)} unknown`

/** Returns the requested format. A scraper may select it by Accept header only. */
const formatOf = ({ headers }: Request): string =>
  /openmetrics|prometheus/.test(String(headers.accept ?? '')) ? 'prometheus' : ''
