import { availableParallelism } from 'node:os'
import { inspect, parseArgs } from 'node:util'
import { FailingSeeds } from '../test/simulation/failing-seeds.js'
import { planOf } from '../test/simulation/plan.js'
import { type SeedResult, resultOf } from '../test/simulation/seed-result.js'
import { SeedWorkers } from '../test/simulation/seed-workers.js'
import { shrink, TRIES_MAX } from '../test/simulation/shrink.js'
import { type Outcome, simulate } from '../test/simulation/simulate.js'
import { runScript } from './support/run-script.js'

/**
 * Plays whole clusters with a simulated clock, network and disk. A seed always has the same history, with the same
 * hash. For the first failing seed, it searches for the shortest history that still fails, and prints that history.
 */
const PROGRESS_MS = 10_000
const KEEP_FILE = 'failing-seeds.txt'
const HELP = `Play whole clusters with a simulated clock, network and disk. test/simulation/README.md describes the tests.

  npm run simulate -- --seeds N [--from N]   play N seeds (default: from 1)
  npm run simulate -- --seed N               play one seed
  npm run simulate -- --soak                 play seeds until Ctrl-C

  --trace       print the plan and the whole history of one seed, without flow control of the transport. To omit messages
                and disks: grep -vE ' gets | disk: '
  --hashes      print the hash of each history, to compare them
  --whole       do not search for the shortest history that fails. The search plays the seed up to ${TRIES_MAX} times
                until Ctrl-C
  --jobs N      number of processes (default: one per core)
  --keep FILE   store the failing seeds of a soak in FILE, and play them first in the next soak (default ${KEEP_FILE})

Exits with 1 if a seed fails. A second Ctrl-C exits at once.`

interface Settings {
  readonly seed: number | undefined
  /** Number of seeds; infinite in a soak. */
  readonly seeds: number
  readonly from: number
  /** Number of processes. */
  readonly jobs: number
  readonly keepFile: string | undefined
  readonly isTraced: boolean
  readonly isWhole: boolean
  /** Prints the hash of each seed. */
  readonly printsHashes: boolean
}

const OPTIONS = {
  seed: { type: 'string' },
  seeds: { type: 'string' },
  from: { type: 'string' },
  jobs: { type: 'string' },
  soak: { type: 'boolean', default: false },
  keep: { type: 'string' },
  trace: { type: 'boolean', default: false },
  whole: { type: 'boolean', default: false },
  hashes: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Returns undefined for --help. Throws an Error for invalid arguments. */
const readSettings = (): Settings | undefined => {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return undefined
  const { seed, soak, keep, trace: isTraced, whole: isWhole, hashes: printsHashes } = values
  const [seeds, from] = [Number(values.seeds ?? 1), Number(values.from ?? 1)]
  const [one, jobs] = [Number(seed ?? 0), Number(values.jobs ?? availableParallelism())]
  const kinds = [seed !== undefined, values.seeds !== undefined, soak].filter(Boolean).length
  const rules: readonly [boolean, string][] = [
    [[seeds, from, one, jobs].every(Number.isSafeInteger), '--seed, --seeds, --from and --jobs must be integers'],
    [Math.min(seeds, jobs) > 0, '--seeds and --jobs must be at least 1'],
    [kinds > 0, 'pass --seed, --seeds or --soak'],
    [kinds < 2, 'pass only one of --seed, --seeds and --soak'],
    [soak || keep === undefined, '--keep requires --soak'],
    [seed !== undefined || !isTraced, '--trace requires --seed'],
    [seed === undefined || !printsHashes, '--hashes requires --seeds or --soak; --seed prints the hash anyway'],
    [seed === undefined || (values.from ?? values.jobs) === undefined, '--from and --jobs require --seeds or --soak'],
  ]
  const broken = rules.find(([isMet]) => !isMet)
  if (broken) throw new Error(broken[1])
  return {
    seed: seed === undefined ? undefined : one,
    seeds: soak ? Number.POSITIVE_INFINITY : seeds,
    from,
    jobs,
    keepFile: soak ? (keep ?? KEEP_FILE) : undefined,
    isTraced,
    isWhole,
    printsHashes,
  }
}

const factsOf = ({ seed, hash, events, virtualMs, failure }: SeedResult): string =>
  `seed ${seed}: ${hash}  ${failure ? '' : 'all promises held: '}${events} events in ${(virtualMs / 1000).toFixed(1)} virtual seconds`

/** One Ctrl-C may send several signals within this time: from the terminal and from each parent process. */
const ONE_STOP_MS = 1_000

/** Records whether the user has pressed Ctrl-C. */
class Stop {
  #requestedMs: number | undefined

  constructor() {
    process.on('SIGINT', () => {
      this.#requestedMs ??= performance.now()
      if (performance.now() - this.#requestedMs > ONE_STOP_MS) process.exit(130)
    })
  }

  get isRequested(): boolean {
    return this.#requestedMs !== undefined
  }
}

/** Prints the history without flow control, which is 40 % of its lines. */
const printTrace = ({ trace }: Outcome): void => {
  for (const line of trace) if (!line.includes(' gets credit of ')) console.log(line)
}

const playOne = async (seed: number, { isTraced, isWhole }: Settings): Promise<number> => {
  if (isTraced) console.log(inspect(planOf(seed), { compact: 3, breakLength: 160 }))
  const outcome = await simulate(seed, { isTraced })
  const played = resultOf(outcome)
  const isShrunk = played.failure !== undefined && !isWhole
  if (!isShrunk) printTrace(outcome)
  console.log(factsOf(played))
  if (played.failure) console.log(`  FAILED: ${played.failure.text}`)
  if (isShrunk) await printShrunk(seed, isTraced, new Stop())
  return played.failure ? 1 : 0
}

const printShrunk = async (seed: number, isTraced: boolean, stop: Stop): Promise<void> => {
  console.error('  searching for the shortest history that fails; Ctrl-C stops the search')
  let printedMs = performance.now()
  const shrunk = await shrink(seed, simulate, (left, tries) => {
    if (performance.now() - printedMs > PROGRESS_MS) {
      console.error(`  ${left} acts left after ${tries} of at most ${TRIES_MAX} attempts`)
      printedMs = performance.now()
    }
    return !stop.isRequested
  })
  if (!shrunk) throw new Error(`seed ${seed} failed once, and does not fail again`)
  const { outcome, tries } = shrunk
  if (isTraced) printTrace(outcome)
  console.log(`  shortest history that fails, after ${tries} attempts: ${outcome.acts.length} acts`)
  for (const { name, atMs } of outcome.acts) console.log(`  ${(atMs / 1000).toFixed(3).padStart(9)} ${name}`)
}

/** Yields the stored failing seeds first. */
function* seedsOf({ seeds, from }: Settings, failingSeeds: FailingSeeds | undefined): Generator<number> {
  const before = failingSeeds?.all ?? []
  yield* before
  for (let seed = from; seed < from + seeds; seed++) if (!before.includes(seed)) yield seed
}

const playMany = async (settings: Settings): Promise<number> => {
  const failingSeeds = settings.keepFile === undefined ? undefined : new FailingSeeds(settings.keepFile)
  const startedMs = performance.now()
  const failed: number[] = []
  let [played, virtualMs, printed] = [0, 0, 0]
  await using workers = await SeedWorkers.start(settings.jobs)
  const progress = setInterval(() => {
    if (played > printed) console.error(`${played} played, ${failed.length} failed`)
    else console.error(`no seed has ended for a while. Current seeds: ${workers.pending.join(', ')}`)
    printed = played
  }, PROGRESS_MS).unref()
  const stop = new Stop()
  for await (const one of workers.play(seedsOf(settings, failingSeeds))) {
    const { seed, hash, failure } = one
    played++
    virtualMs += one.virtualMs
    if (settings.printsHashes) console.log(`seed ${seed}: ${hash}`)
    failingSeeds?.record(seed, failure?.message)
    if (failure) {
      failed.push(seed)
      console.log(`${factsOf(one)}\n  FAILED: ${failure.message}\n  play it alone: npm run simulate -- --seed ${seed}`)
    }
    if (stop.isRequested) break
  }
  clearInterval(progress)
  const seconds = (performance.now() - startedMs) / 1000
  const rates = `${(played / seconds).toFixed(2)} runs and ${(virtualMs / 1000 / seconds).toFixed(0)} virtual seconds per second`
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : ''
  console.log(`${played} seeds from ${settings.from}: ${failed.length} failed${names}`)
  console.error(rates)
  const [first] = failed
  if (first === undefined) return 0
  if (settings.isWhole || stop.isRequested) return 1
  console.log(`history of the first failing seed, ${first}; for another seed, use \`npm run simulate -- --seed N\`:`)
  await printShrunk(first, false, stop)
  return 1
}

const playSelected = (settings: Settings): Promise<number> =>
  settings.seed === undefined ? playMany(settings) : playOne(settings.seed, settings)

// The reader of a pipe, such as `head`, may close it early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.exitCode = await runScript(HELP, readSettings, playSelected)
