import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readCounts, readFailures } from '../../../scripts/support/report.js'

describe('the counts of a run', () => {
  let directory = ''
  const write = (report: unknown): string => {
    const file = path.join(directory, 'report.json')
    writeFileSync(file, JSON.stringify(report))
    return file
  }
  const report = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1, testResults: [] }

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'understudy-report-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('are those of the report', () => {
    expect(readCounts(write(report), 0)).toEqual({ passed: 5, failed: 0, skipped: 2 })
  })

  it('count a file that could not be loaded as a failure', () => {
    const testResults = [{ status: 'failed', assertionResults: [] }]
    expect(readCounts(write({ ...report, testResults }), 1)).toEqual({ passed: 5, failed: 1, skipped: 2 })
  })

  it('never hide a run that failed', () => {
    expect(readCounts(write(report), 1).failed).toBe(1)
    expect(readCounts(path.join(directory, 'missing.json'), 0).failed).toBe(1)
  })

  it('come with the failures by name', () => {
    const failed = { status: 'failed', fullName: 'a lab comes up', failureMessages: ['expected 1 to be 2'] }
    const name = path.resolve('test/api/lab.test.ts')
    const testResults = [
      { name, status: 'failed', message: '', assertionResults: [failed, { status: 'passed', fullName: 'goes down' }] },
      { name, status: 'failed', message: 'no such module', assertionResults: [] },
    ]
    expect(readFailures(write({ ...report, testResults }))).toEqual([
      'test/api/lab.test.ts > a lab comes up\n    expected 1 to be 2',
      'test/api/lab.test.ts > could not be loaded\n    no such module',
    ])
    expect(readFailures(path.join(directory, 'missing.json'))).toEqual([])
  })
})
