import { performance } from 'node:perf_hooks'
import { quantile } from '../stats.js'
import { Connection, printRequest } from './connection.js'
import type { ProbePlan, ProbeResult } from './plan.js'

const INDEX = /^x-vault-index: (.*)$/im

/**
 * Measures the time from the response of a write until a read on another cluster finds the write. A sample ends with the
 * response of that read, so it includes one round trip to the secondary.
 */
export const runProbe = async (plan: ProbePlan): Promise<ProbeResult> => {
  const writer = await Connection.open(plan.writePort)
  const reader = await Connection.open(plan.readPort)
  const lags: number[] = []
  const endMs = performance.now() + plan.seconds * 1000
  try {
    while (performance.now() < endMs) {
      const headers = { 'X-Vault-Token': plan.writeToken }
      const body = `{"value":"${lags.length}"}`
      const written = await writer.ask(printRequest('PUT', plan.path, headers, body))
      const writtenMs = performance.now()
      const index = INDEX.exec(written.head)?.[1]
      if (written.status >= 400 || index === undefined)
        throw new Error(`the write of a probe got status ${written.status}`)
      const read = printRequest('GET', plan.path, { 'X-Vault-Token': plan.readToken, 'X-Vault-Index': index }, '')
      while ((await reader.ask(read)).status !== 200) {
        if (performance.now() - writtenMs > 10_000) throw new Error('a write did not arrive within 10 s')
      }
      lags.push(performance.now() - writtenMs)
    }
  } finally {
    writer.close()
    reader.close()
  }
  return { samples: lags.length, p50Ms: quantile(lags, 0.5), p99Ms: quantile(lags, 0.99) }
}
