import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'
import { ROOT } from './run.js'

/** The outcome of one test file. `failed` counts a file that cannot be loaded as one. */
export interface FileResult {
  readonly tier: string
  /** Relative to the package. */
  readonly file: string
  /** Worker time, including imports and hooks. */
  readonly seconds: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** One text for each failure: file, test and message. */
  readonly failures: readonly string[]
}

/** Maximum numbers of printed lines. A long message ends with the output of the command that failed. */
const [FIRST_LINES, LAST_LINES, STACK_LINES] = [10, 30, 5]

const linesOf = ({ message, stack = '', diff }: SerializedError & { readonly diff?: string }): readonly string[] => {
  const lines = [message, ...(diff ? [diff] : [])].join('\n').split('\n')
  const omitted = lines.length - FIRST_LINES - LAST_LINES
  if (omitted > 0) lines.splice(FIRST_LINES, omitted, `... ${omitted} lines ...`)
  return [
    ...lines,
    ...stack
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, STACK_LINES),
  ]
}

const describeFailure = (name: string, errors: readonly SerializedError[] | undefined): string =>
  [name, ...(errors ?? []).flatMap(linesOf)].join('\n    ')

const resultOf = (module: TestModule): FileResult => {
  const file = path.relative(ROOT, module.moduleId)
  const tests = [...module.children.allTests()]
  const count = (state: string) => tests.filter((test) => test.result().state === state).length
  const failures = tests
    .filter((test) => test.result().state === 'failed')
    .map((test) => describeFailure(`${file} > ${test.fullName}`, test.result().errors))
  // Errors of the file itself and of its suites: imports and hooks.
  const around = [module, ...module.children.allSuites()].filter((one) => one.errors().length > 0)
  failures.push(...around.map((one) => describeFailure(`${file}: an import or a hook failed`, one.errors())))
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic()
  const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration
  return {
    tier: module.project.name,
    file,
    seconds: Math.round(ms / 10) / 100,
    passed: count('passed'),
    failed: failures.length,
    skipped: count('skipped'),
    failures,
  }
}

/**
 * A vitest reporter. After each test file, it prints the failures, and writes the `FileResult` of all ended files to a
 * JSON file, so that an interrupted run leaves its results.
 */
export class ResultsReporter implements Reporter {
  readonly #file: string
  readonly #results: FileResult[] = []

  constructor(file: string) {
    this.#file = file
  }

  onTestModuleEnd(module: TestModule): void {
    const result = resultOf(module)
    for (const failure of result.failures) console.log(`\nFAILED ${failure}`)
    this.#add(result)
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const failures = errors.map((error) => describeFailure('an error outside of tests', [error]))
    const failed = failures.length
    if (failed > 0) this.#add({ tier: 'vitest', file: '-', seconds: 0, passed: 0, skipped: 0, failed, failures })
  }

  #add(result: FileResult): void {
    this.#results.push(result)
    writeFileSync(this.#file, JSON.stringify(this.#results))
  }
}

/** Returns the results that `ResultsReporter` wrote, or undefined if no test file has ended. */
export const readResults = (file: string): readonly FileResult[] | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as readonly FileResult[]
  } catch {
    return undefined
  }
}
