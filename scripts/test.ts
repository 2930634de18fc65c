import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { formatTable } from '../src/cli/output.js'
import { type Counts, NOTHING, readCounts, readFailures } from './support/report.js'
import { run } from './support/run.js'
import { hasTests, type Tier, TIERS } from './support/tiers.js'

/**
 * Compiles the program and runs every tier of tests that can run here, each to its end. Says for every tier what became of
 * it; the last line is `N passed, M failed` over all of them. Tiers whose files run one by one are run two at a time where
 * there are two cores: of each of them the output comes when it has ended.
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

const runTier = async (tier: Tier, env = {}, output: number | 'inherit' = 'inherit'): Promise<Row> => {
  const notRun = (reason: string, counts = NOTHING): Row => ({ tier: tier.name, outcome: reason, counts, seconds: '-' })
  if (!hasTests(tier)) return notRun('not run: it has no tests yet')
  const obstacle = tier.findObstacle()
  if (obstacle) return notRun(`not run: ${obstacle}`)
  console.log(`\n=== ${tier.name}`)
  const started = performance.now()
  if (tier.prepare && (await tier.prepare()) !== 0)
    return notRun('FAILED: it could not be prepared', { ...NOTHING, failed: 1 })
  const file = path.join(reports, `${tier.name}.json`)
  // Two at a time would write one cache, which holds nothing but how long files took.
  const args = ['--no-cache', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const status = await run('npx', ['vitest', 'run', '--project', tier.name, ...args], env, output)
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

/** A tier beside another one has random ports of its own. The output is printed at once, when it has ended. */
const runApart = async (tier: Tier, place: number): Promise<Row> => {
  const first = PORTS_FIRST + place * PORTS_COUNT
  const env = { UNDERSTUDY_RANDOM_PORTS: `${first}-${first + PORTS_COUNT - 1}` }
  const file = path.join(reports, `${tier.name}.txt`)
  const output = openSync(file, 'w')
  const row = await runTier(tier, env, output)
  closeSync(output)
  console.log(`\n=== ${tier.name} has ended\n${readFileSync(file, 'utf8')}`)
  return row
}

const SIDE_BY_SIDE = Math.min(2, availableParallelism())
const PORTS_FIRST = 12_000
const PORTS_COUNT = 10_000

const runTiers = async (tiers: readonly Tier[]): Promise<readonly Row[]> => {
  const rows: Row[] = []
  const queue = tiers.filter(({ isOneByOne }) => isOneByOne === true)
  const isApart = queue.length > 1 && SIDE_BY_SIDE > 1
  for (const tier of tiers) if (!isApart || !queue.includes(tier)) rows.push(await runTier(tier))
  if (!isApart) return rows
  const running = new Set<Tier>()
  /** The next that does not need what another one has; what is left then is for the one beside it. */
  const take = (): Tier | undefined => {
    const isFree = (tier: Tier) => !tier.hasFixedPorts || ![...running].some(({ hasFixedPorts }) => hasFixedPorts)
    const index = queue.findIndex(isFree)
    return index < 0 ? undefined : queue.splice(index, 1)[0]
  }
  const work = async (place: number) => {
    for (let tier = take(); tier; tier = take()) {
      running.add(tier)
      rows.push(await runApart(tier, place))
      running.delete(tier)
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, (_, place) => work(place)))
  return rows
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
  let rows: readonly Row[]
  if ((await run('npm', ['run', 'build'])) !== 0) {
    rows = [{ tier: 'build', outcome: 'FAILED: nothing was run', counts: { ...NOTHING, failed: 1 }, seconds: '-' }]
  } else {
    rows = await runTiers(tiers)
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
