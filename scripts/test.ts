import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { formatTable } from '../src/cli/output.js'
import { type Counts, NOTHING, readCounts, readFailures } from './support/report.js'
import { run } from './support/run.js'
import { hasTests, type Tier, TIERS } from './support/tiers.js'

/**
 * Compiles the program and runs every tier of tests that can run here, each to its end. Says for every tier what became of
 * it; the last line is `N passed, M failed` over all of them.
 *
 *   npm test                     everything
 *   npm test -- unit golden      some tiers
 */

interface Row {
  readonly tier: string
  readonly outcome: string
  readonly counts: Counts
  readonly seconds: string
  readonly failures?: readonly string[]
}

const reports = mkdtempSync(path.join(tmpdir(), 'understudy-reports-'))

const runTier = async (tier: Tier): Promise<Row> => {
  const notRun = (reason: string, counts = NOTHING): Row => ({ tier: tier.name, outcome: reason, counts, seconds: '-' })
  if (!hasTests(tier)) return notRun('not run: it has no tests yet')
  const obstacle = tier.findObstacle()
  if (obstacle) return notRun(`not run: ${obstacle}`)
  console.log(`\n=== ${tier.name}`)
  const started = performance.now()
  if (tier.prepare && (await tier.prepare()) !== 0)
    return notRun('FAILED: it could not be prepared', { ...NOTHING, failed: 1 })
  const file = path.join(reports, `${tier.name}.json`)
  const status = await run('npx', [
    ...['vitest', 'run', '--project', tier.name],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
  ])
  const counts = readCounts(file, status)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  return {
    tier: tier.name,
    outcome: counts.failed > 0 ? 'FAILED' : 'passed',
    counts,
    seconds,
    failures: readFailures(file),
  }
}

const chooseTiers = (names: readonly string[]): readonly Tier[] => {
  const unknown = names.filter((name) => !TIERS.some((tier) => tier.name === name))
  if (unknown.length > 0)
    throw new Error(`no tier ${unknown.join(', ')}; there are ${TIERS.map(({ name }) => name).join(', ')}`)
  return names.length === 0 ? TIERS : TIERS.filter(({ name }) => names.includes(name))
}

const printTable = (rows: readonly Row[]): void => {
  const cells = rows.map(({ tier, outcome, counts, seconds }) => [
    tier,
    ...[counts.passed, counts.failed, counts.skipped].map(String),
    seconds,
    outcome,
  ])
  console.log(`\n${formatTable([['tier', 'passed', 'failed', 'skipped', 'seconds', ''], ...cells])}`)
}

/** Once more at the end, where they are looked for: what was printed of them lies thousands of lines above. */
const printFailures = (rows: readonly Row[]): void => {
  for (const { tier, failures = [] } of rows)
    for (const failure of failures) console.log(`\nFAILED |${tier}| ${failure}`)
}

const main = async (): Promise<number> => {
  const tiers = chooseTiers(process.argv.slice(2))
  const rows: Row[] = []
  if ((await run('npm', ['run', 'build'])) !== 0) {
    rows.push({ tier: 'build', outcome: 'FAILED: nothing was run', counts: { ...NOTHING, failed: 1 }, seconds: '-' })
  } else {
    for (const tier of tiers) rows.push(await runTier(tier))
  }
  printFailures(rows)
  printTable(rows)
  const sum = (what: keyof Counts) => rows.reduce((total, { counts }) => total + counts[what], 0)
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`)
  return sum('failed') > 0 || sum('passed') === 0 ? 1 : 0
}

try {
  process.exitCode = await main()
} finally {
  rmSync(reports, { recursive: true, force: true })
}
