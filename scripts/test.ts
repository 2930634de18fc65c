import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { formatTable } from '../src/cli/terminal/output.js'
import { setup as build } from '../test/support/build-once.js'
import { type FileResult, readResults } from './support/results.js'
import { ROOT, run } from './support/run.js'
import { runScript } from './support/run-script.js'
import { filesAt, LEVELS, type Level, type Tier, TIERS } from './support/tiers.js'

/**
 * Compiles the program and runs one level of tests. Prints a table of tiers, the slowest files, the levels that did not
 * run, and as its last line `N passed, M failed`. Writes the time of each file to `out/test-times.json`.
 *
 *   npm test                     what every change needs, with Node and npm alone
 *   npm run test:full            containers, etcd, browser, servers as processes, the package
 *   npm run test:nightly         everything
 *   npm test -- unit golden      all files of some tiers
 */

const TIMES = path.join(ROOT, 'out', 'test-times.json')
const SLOWEST = 10
/** Started directly, since `npx` does not forward signals. */
const VITEST = path.join(ROOT, 'node_modules', '.bin', 'vitest')

interface Row {
  readonly tier: string
  readonly outcome: string
  readonly results: readonly FileResult[]
}

interface Selected {
  readonly level: Level
  readonly tiers: readonly Tier[]
}

const HELP = `npm test [-- [tier ...] [--level ${Object.keys(LEVELS).join('|')}]]
Tiers: ${TIERS.map(({ name }) => name).join(', ')}`

const readArguments = (): Selected | undefined => {
  const options = { level: { type: 'string' }, help: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  if (values.help) return undefined
  const names = TIERS.map(({ name }) => name)
  const unknown = positionals.filter((name) => !names.includes(name))
  if (unknown.length > 0) throw new Error(`unknown tier: ${unknown.join(', ')}. Tiers: ${names.join(', ')}`)
  const { level = positionals.length > 0 ? 'nightly' : 'test' } = values
  if (!Object.hasOwn(LEVELS, level))
    throw new Error(`unknown level: ${level}. Levels: ${Object.keys(LEVELS).join(', ')}`)
  const tiers = positionals.length > 0 ? TIERS.filter(({ name }) => positionals.includes(name)) : TIERS
  return { level: level as Level, tiers: tiers.filter((tier) => filesAt(tier, level as Level).length > 0) }
}

const failedRow = (tier: string, outcome: string): Row => {
  const failure = { tier, file: '-', seconds: 0, passed: 0, failed: 1, skipped: 0, failures: [`${tier}: ${outcome}`] }
  return { tier, outcome: 'FAILED', results: [failure] }
}

/** Prepares a tier. Resolves to a row with the reason if the tier cannot run, or to undefined. */
const prepareTier = async (tier: Tier): Promise<Row | undefined> => {
  const obstacle = tier.findObstacle?.()
  if (obstacle) return { tier: tier.name, outcome: `not run: ${obstacle}`, results: [] }
  if (tier.prepare && (await tier.prepare()) !== 0) return failedRow(tier.name, 'the preparation failed')
  return undefined
}

const runVitest = async (level: Level, tiers: readonly Tier[]): Promise<readonly Row[]> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-results-'))
  const file = path.join(directory, 'results.json')
  const env = { UNDERSTUDY_TEST_LEVEL: level, UNDERSTUDY_TEST_RESULTS: file }
  try {
    const status = await run(VITEST, ['run', ...tiers.map(({ name }) => `--project=${name}`)], env)
    const results = readResults(file) ?? []
    const rows = [...new Set(results.map(({ tier }) => tier))].map((tier) => {
      const own = results.filter((one) => one.tier === tier)
      return { tier, outcome: own.some(({ failed }) => failed > 0) ? 'FAILED' : 'passed', results: own }
    })
    const isExplained =
      status === 0 ? results.length > 0 : status === 1 && rows.some(({ outcome }) => outcome === 'FAILED')
    return isExplained ? rows : [...rows, failedRow('vitest', `exited with status ${status}`)]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const runLevel = async (level: Level, tiers: readonly Tier[]): Promise<readonly Row[]> => {
  try {
    build()
  } catch (error) {
    return [failedRow('build', (error as Error).message)]
  }
  const rows: Row[] = []
  const ready: Tier[] = []
  for (const tier of tiers) {
    const row = await prepareTier(tier)
    if (row) rows.push(row)
    else ready.push(tier)
  }
  return ready.length > 0 ? [...rows, ...(await runVitest(level, ready))] : rows
}

const sum = (results: readonly FileResult[], what: 'passed' | 'failed' | 'skipped' | 'seconds'): number =>
  results.reduce((total, one) => total + one[what], 0)

const printTable = (rows: readonly Row[]): void => {
  const cells = rows.map(({ tier, outcome, results }) => [
    tier,
    ...(['passed', 'failed', 'skipped', 'seconds'] as const).map((what) => String(Math.round(sum(results, what)))),
    outcome,
  ])
  console.log(`\n${formatTable([['tier', 'passed', 'failed', 'skipped', 'seconds', ''], ...cells])}`)
}

/** Writes the time of each file, slowest first, and prints the slowest. */
const reportTimes = (results: readonly FileResult[]): void => {
  const times = [...results]
    .sort((one, other) => other.seconds - one.seconds)
    .map(({ tier, file, seconds }) => ({ tier, file, seconds }))
  mkdirSync(path.dirname(TIMES), { recursive: true })
  writeFileSync(TIMES, `${JSON.stringify(times, undefined, 1)}\n`)
  const cells = times.slice(0, SLOWEST).map(({ tier, file, seconds }) => [file, tier, seconds.toFixed(1)])
  console.log(`\n${formatTable([['slowest files', 'tier', 'seconds'], ...cells])}`)
}

const printOtherLevels = (level: Level): void => {
  const others = (Object.keys(LEVELS) as Level[]).filter((other) => other !== level && level !== 'nightly')
  const cells = others.map((other) => {
    const tiers = TIERS.filter((tier) => filesAt(tier, other).length > 0).map(({ name }) => name)
    return [other, LEVELS[other], tiers.join(', ')]
  })
  if (cells.length > 0) console.log(`\n${formatTable([['not run', 'command', 'tiers'], ...cells])}`)
}

const runSelected = async ({ level, tiers }: Selected): Promise<number> => {
  const startedMs = performance.now()
  const rows = await runLevel(level, tiers)
  const results = rows.flatMap((row) => row.results)
  for (const { failures } of results) for (const failure of failures) console.log(`\nFAILED ${failure}`)
  if (results.length > 0) reportTimes(results)
  printTable(rows)
  printOtherLevels(level)
  console.log(`\n${Math.round((performance.now() - startedMs) / 1000)} seconds in all`)
  console.log(`${sum(results, 'passed')} passed, ${sum(results, 'failed')} failed`)
  return sum(results, 'failed') > 0 || sum(results, 'passed') === 0 ? 1 : 0
}

process.exitCode = await runScript(HELP, readArguments, runSelected)
