import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './run.js'

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
  readonly testResults: readonly FileResult[]
}

interface FileResult {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly assertionResults: readonly TestResult[]
}

interface TestResult {
  readonly status: string
  readonly fullName: string
  readonly failureMessages?: readonly string[]
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

/** Every failed test with its file and its message, and every file that could not be loaded, as texts for people. */
export const readFailures = (file: string): readonly string[] =>
  (findReport(file)?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (status === 'failed' && assertionResults.length === 0)
      return [describeFailure(name, 'could not be loaded', message)]
    return failed.map((test) => describeFailure(name, test.fullName, test.failureMessages?.join('\n') ?? ''))
  })

/** So many lines of a message say what happened; what follows is the stack of the test's runner. */
const MESSAGE_LINES = 40

const describeFailure = (file: string, what: string, message: string): string => {
  const lines = message.split('\n').slice(0, MESSAGE_LINES)
  return [`${path.relative(ROOT, file)} > ${what}`, ...lines.map((line) => `    ${line}`)].join('\n')
}

const findReport = (file: string): JsonReport | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JsonReport
  } catch {
    return undefined
  }
}
