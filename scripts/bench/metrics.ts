import type { BenchServer } from './servers.js'

/** Returns the metrics of a server by name. Omits metrics with labels. */
export const readMetrics = async (server: BenchServer): Promise<ReadonlyMap<string, number>> => {
  const { bytes } = await server.client().send('GET', '/_understudy/v1/metrics')
  const rows = [...bytes.toString('utf8').matchAll(/^([a-z]\w*) (\S+)$/gm)]
  return new Map(rows.map(([, name = '', value]) => [name, Number(value)]))
}
