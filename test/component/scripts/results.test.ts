import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readResults } from '../../../scripts/support/results.js'

const ROOT = path.join(import.meta.dirname, '..', '..', '..')
const REPORTER = path.join(ROOT, 'scripts', 'support', 'results.ts')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-results-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Runs vitest on files with these texts, with the reporter of this repository. */
const report = (files: Readonly<Record<string, string>>) => {
  const results = path.join(directory, 'results.json')
  const config = `import { ResultsReporter } from ${JSON.stringify(REPORTER)}
    export default { test: { globals: true, name: 'sample', reporters: [new ResultsReporter(${JSON.stringify(results)})] } }`
  for (const [name, text] of Object.entries({ 'vitest.config.mjs': config, ...files }))
    writeFileSync(path.join(directory, name), text)
  const { status } = spawnSync(process.execPath, [path.join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: directory,
    env: { PATH: process.env.PATH },
  })
  return { status, results: readResults(results) }
}

it('the results of a test run count passed, failed and skipped tests and name every failure', () => {
  const { status, results } = report({
    'mixed.test.js': `it('holds', () => {}); it.skip('waits', () => {}); it('breaks', () => expect(1).toBe(2))`,
    'unloadable.test.js': `throw new Error('no such module')`,
    'hook.test.js': `describe('suite', () => { beforeAll(() => { throw new Error('no server') }); it('holds', () => {}) })`,
  })
  expect(status).toBe(1)
  const found = (results ?? []).map(({ file, ...rest }) => ({ ...rest, file: path.basename(file) }))
  expect(found).toHaveLength(3)
  const failureOf = (text: string) => [expect.stringContaining(text)]
  expect(found).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ file: 'mixed.test.js', tier: 'sample', passed: 1, failed: 1, skipped: 1 }),
      expect.objectContaining({ file: 'unloadable.test.js', failed: 1, failures: failureOf('no such module') }),
      expect.objectContaining({ file: 'hook.test.js', failed: 1, failures: failureOf('no server') }),
    ]),
  )
})

it('the results of a test run count an error outside of tests as a failure', () => {
  const { results } = report({
    'late.test.js': `it('holds', async () => { setImmediate(() => { throw new Error('late') }); await new Promise((r) => setTimeout(r, 50)) })`,
  })
  expect(results?.flatMap(({ failures }) => failures)).toEqual([expect.stringContaining('late')])
})

it('an interrupted test run keeps the results of the files that ended before', () => {
  const { status, results } = report({
    // Larger files run first.
    'breaks.test.js': `it('breaks', () => expect(1).toBe(2)) // ${' '.repeat(1000)}`,
    'interrupt.test.js': `it('interrupts', () => { process.kill(process.ppid, 'SIGINT'); return new Promise(() => undefined) })`,
  })
  expect(status).not.toBe(0)
  expect(results?.flatMap(({ failures }) => failures)[0]).toContain('breaks.test.js > breaks')
})

it('a test run whose program cannot be compiled ends with a failed row and the counts', () => {
  for (const name of ['src', 'node_modules']) symlinkSync(path.join(ROOT, name), path.join(directory, name))
  for (const name of ['scripts', 'test']) cpSync(path.join(ROOT, name), path.join(directory, name), { recursive: true })
  const scripts = { build: 'echo no such type; exit 1' }
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ type: 'module', scripts }))
  const { status, stdout } = spawnSync('npx', ['tsx', 'scripts/test.ts'], { cwd: directory, encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, expect.stringMatching(/FAILED build: .*\n *no such type/)])
  expect(stdout).toMatch(/^build +0 +1 +0 +0 +FAILED *$/m)
  expect(stdout).toMatch(/\n0 passed, 1 failed\n$/)
})

it('the results of a test run are undefined if the run ended before it wrote them', () => {
  expect(readResults(path.join(directory, 'missing.json'))).toBeUndefined()
})
