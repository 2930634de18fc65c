import { readFileSync } from 'node:fs'

/** What became of a tier. `failed` counts files that could not be loaded as well. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 }

interface JsonReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[]
}

/** Reads vitest's JSON report. `status` is its exit status: a run that failed counts at least one failure. */
export const readCounts = (file: string, status: number): Counts => {
  const report = findReport(file)
  if (!report) return { ...NOTHING, failed: 1 }
  const unloaded = report.testResults.filter(
    (result) => result.status === 'failed' && result.assertionResults.length === 0,
  )
  const failed = report.numFailedTests + unloaded.length
  return {
    passed: report.numPassedTests,
    failed: status === 0 ? failed : Math.max(failed, 1),
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

const findReport = (file: string): JsonReport | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JsonReport
  } catch {
    return undefined
  }
}
