import { parseArgs } from 'node:util'
import { run } from './support/run.js'

/**
 * Repeats a test for many rounds with new random choices. A tier runs the same test for a few rounds with a fixed seed.
 * The last line has the result and the seed that repeats it.
 *
 *   npm run soak -- planned --rounds 200 [--in-process]
 */

interface Soak {
  readonly file: string
  /** Default number of rounds. */
  readonly rounds: number
  /** The tier of the test (default: the scenarios). */
  readonly tier?: 'api' | 'etcd' | 'scenarios-in-process' | 'simulation'
  /** The test for `--in-process`: the same scenario with real servers in one process. */
  readonly inProcess?: string
}

const SOAKS: Readonly<Record<string, Soak>> = {
  double: {
    file: 'test/simulation/double.test.ts',
    rounds: 200,
    tier: 'simulation',
    inProcess: 'test/scenarios/in-process/double.test.ts',
  },
  flips: { file: 'test/scenarios/in-process/bit-flips.test.ts', rounds: 600, tier: 'scenarios-in-process' },
  forced: { file: 'test/scenarios/forced-failovers.test.ts', rounds: 100 },
  helper: { file: 'test/scenarios/helper.test.ts', rounds: 20 },
  model: { file: 'test/scenarios/in-process/model.test.ts', rounds: 240, tier: 'scenarios-in-process' },
  orders: { file: 'test/scenarios/in-process/orders.test.ts', rounds: 60, tier: 'scenarios-in-process' },
  // Of seven rounds, five kill the active node, one suspends it, and one makes it step down.
  nodes: { file: 'test/etcd/linearizable.test.ts', rounds: 140, tier: 'etcd' },
  planned: { file: 'test/scenarios/planned-failovers.test.ts', rounds: 200 },
  starts: { file: 'test/api/lab-starts.test.ts', rounds: 100, tier: 'api' },
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
  const seed = Number(values.seed ?? Date.now() % 2 ** 31)
  if (
    !soak ||
    !Number.isInteger(seed) ||
    positionals.length !== 1 ||
    !(Number.isInteger(rounds) && rounds >= 1 && rounds <= ROUNDS_MAX)
  ) {
    const names = Object.keys(SOAKS).join('|')
    console.error(`npm run soak -- ${names} [--rounds 1..${ROUNDS_MAX}] [--seed NUMBER] [--in-process]`)
    return 1
  }
  const isInProcess = values['in-process'] && (soak.inProcess !== undefined || soak.tier === undefined)
  const project = isInProcess ? 'scenarios-in-process' : (soak.tier ?? 'scenarios')
  const file = (isInProcess && soak.inProcess) || soak.file
  const startedMs = performance.now()
  const status = await run('npx', ['vitest', 'run', '--project', project, file], {
    SOAK_ROUNDS: String(rounds),
    SOAK_SEED: String(seed),
  })
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  console.log(`\n${name}: ${status === 0 ? 'passed' : 'FAILED'}, ${rounds} rounds, seed ${seed}, ${seconds} s`)
  return status
}

process.exitCode = await main()
