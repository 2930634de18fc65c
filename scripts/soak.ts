import { parseArgs } from 'node:util'
import { run } from './support/run.js'

/**
 * Repeats a drill many times over: the same test that a tier runs for a few rounds. What it saw is in its runbook; the last
 * line says how it went, with the seed that repeats it.
 *
 *   npm run soak -- planned --rounds 200 [--in-process]
 */

/** By name: the drill, and how many rounds are worth the name of a soak. */
const SOAKS: Readonly<Record<string, { readonly file: string; readonly rounds: number }>> = {
  forced: { file: 'test/scenarios/forced-failovers.test.ts', rounds: 100 },
  helper: { file: 'test/scenarios/helper.test.ts', rounds: 20 },
  planned: { file: 'test/scenarios/planned-failovers.test.ts', rounds: 200 },
}

const ROUNDS_MAX = 10_000

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seed: { type: 'string' },
      'in-process': { type: 'boolean', default: false },
    },
  })
  const [name = ''] = positionals
  const soak = Object.hasOwn(SOAKS, name) ? SOAKS[name] : undefined
  const rounds = Number(values.rounds ?? soak?.rounds)
  if (!soak || positionals.length !== 1 || !(Number.isInteger(rounds) && rounds >= 1 && rounds <= ROUNDS_MAX)) {
    const names = Object.keys(SOAKS).join('|')
    console.error(`npm run soak -- ${names} [--rounds 1..${ROUNDS_MAX}] [--seed TEXT] [--in-process]`)
    return 1
  }
  const seed = values.seed ?? String(Date.now())
  const project = values['in-process'] ? 'scenarios-in-process' : 'scenarios'
  const startedMs = performance.now()
  const status = await run('npx', ['vitest', 'run', '--project', project, soak.file], {
    SOAK_ROUNDS: String(rounds),
    SOAK_SEED: seed,
  })
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  console.log(`\n${name}: ${status === 0 ? 'passed' : 'FAILED'}, ${rounds} rounds, seed ${seed}, ${seconds} s`)
  return status
}

process.exitCode = await main()
