import { availableParallelism } from 'node:os'
import { inspect, parseArgs } from 'node:util'
import { KeptSeeds } from '../test/simulation/kept-seeds.js'
import { planOf } from '../test/simulation/plan.js'
import { type Played, playedOf } from '../test/simulation/played.js'
import { Players } from '../test/simulation/players.js'
import { shrink, TRIES_MAX } from '../test/simulation/shrink.js'
import { type Outcome, simulate } from '../test/simulation/simulate.js'
import { runAsked } from './support/asked.js'

/**
 * Plays whole clusters on a simulated clock, network and disk. The same seed has the same history each time, which its hash
 * tells. Of a seed that fails the shortest story that still does is looked for, and printed; of many seeds, of the first one.
 */
const PROGRESS_MS = 10_000
const KEPT = 'failing-seeds.txt'
const HELP = `Plays whole clusters on a simulated clock, network and disk; test/simulation/README.md says what is played and judged.

  npm run simulate -- --seeds N [--from N]   one seed after the other, from 1
  npm run simulate -- --seed N               one of them
  npm run simulate -- --soak                 until it is stopped (Ctrl-C)

  --trace       of one seed: its plan, and all that happened, line by line, but for the credits of the transport; most lines
                are of messages and disks: grep -vE ' gets | disk: ' leaves what was asked, answered, logged and went wrong
  --hashes      of many seeds: the hash of each history, to be compared
  --whole       of a seed that fails, no shorter story that fails as well is looked for: that plays it up to ${TRIES_MAX} times,
                and Ctrl-C ends it with the shortest until then
  --jobs N      processes that play many seeds; one for each core without it
  --keep FILE   of a soak: the seeds that fail are kept there, and played first next time (${KEPT})

Ends with 1 when a seed fails; a second Ctrl-C ends at once.`

interface Settings {
  readonly seed: number | undefined
  /** Infinite in a soak. */
  readonly seeds: number
  readonly from: number
  /** Processes. */
  readonly jobs: number
  readonly kept: string | undefined
  readonly isTold: boolean
  readonly isWhole: boolean
  /** Of each seed the hash is told. */
  readonly areHashesTold: boolean
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

/** Undefined where help is asked for. Throws an Error that says what cannot be. */
const readSettings = (): Settings | undefined => {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return undefined
  const { seed, soak, keep, trace: isTold, whole: isWhole, hashes: areHashesTold } = values
  const [seeds, from] = [Number(values.seeds ?? 1), Number(values.from ?? 1)]
  const [one, jobs] = [Number(seed ?? 0), Number(values.jobs ?? availableParallelism())]
  const kinds = [seed !== undefined, values.seeds !== undefined, soak].filter(Boolean).length
  const rules: readonly [boolean, string][] = [
    [[seeds, from, one, jobs].every(Number.isSafeInteger), 'seeds and numbers of them are whole numbers'],
    [Math.min(seeds, jobs) > 0, '--seeds and --jobs are at least 1'],
    [kinds > 0, 'one of --seed, --seeds and --soak is needed'],
    [kinds < 2, '--seed, --seeds and --soak exclude one another'],
    [soak || keep === undefined, '--keep is for --soak'],
    [seed !== undefined || !isTold, '--trace is for --seed'],
    [seed === undefined || !areHashesTold, '--hashes is for many seeds: of one it is told anyway'],
    [seed === undefined || (values.from ?? values.jobs) === undefined, '--from and --jobs are for many seeds'],
  ]
  const broken = rules.find(([isKept]) => !isKept)
  if (broken) throw new Error(broken[1])
  return {
    seed: seed === undefined ? undefined : one,
    seeds: soak ? Number.POSITIVE_INFINITY : seeds,
    from,
    jobs,
    kept: soak ? (keep ?? KEPT) : undefined,
    isTold,
    isWhole,
    areHashesTold,
  }
}

const factsOf = ({ seed, hash, events, virtualMs, failure }: Played): string =>
  `seed ${seed}: ${hash}  ${failure ? '' : 'all promises held: '}${events} events in ${(virtualMs / 1000).toFixed(1)} virtual seconds`

/** The signals of one Ctrl-C, which a terminal and each program above this one may send, are within so much. */
const ONE_STOP_MS = 1_000

/** Whether the user wants no more. */
class Stop {
  #askedMs: number | undefined

  constructor() {
    process.on('SIGINT', () => {
      this.#askedMs ??= performance.now()
      if (performance.now() - this.#askedMs > ONE_STOP_MS) process.exit(130)
    })
  }

  get isAsked(): boolean {
    return this.#askedMs !== undefined
  }
}

/** Credits are four lines of ten, and nobody looks for them. */
const tellStory = ({ story }: Outcome): void => {
  for (const line of story) if (!line.includes(' gets credit of ')) console.log(line)
}

const playOne = async (seed: number, { isTold, isWhole }: Settings): Promise<number> => {
  if (isTold) console.log(inspect(planOf(seed), { compact: 3, breakLength: 160 }))
  const outcome = await simulate(seed, { isTold })
  const played = playedOf(outcome)
  const isShrunk = played.failure !== undefined && !isWhole
  if (!isShrunk) tellStory(outcome)
  console.log(factsOf(played))
  if (played.failure) console.log(`  FAILED: ${played.failure.text}`)
  if (isShrunk) await tellShrunk(seed, isTold, new Stop())
  return played.failure ? 1 : 0
}

const tellShrunk = async (seed: number, isTold: boolean, stop: Stop): Promise<void> => {
  console.error('  the shortest story that fails is looked for; Ctrl-C ends that')
  let toldMs = performance.now()
  const shrunk = await shrink(seed, simulate, (left, tries) => {
    if (performance.now() - toldMs > PROGRESS_MS) {
      console.error(`  ${left} acts left after ${tries} of at most ${TRIES_MAX} tries`)
      toldMs = performance.now()
    }
    return !stop.isAsked
  })
  if (!shrunk) throw new Error(`seed ${seed} has failed once and does not fail again`)
  const { outcome, tries } = shrunk
  if (isTold) tellStory(outcome)
  console.log(`  the shortest story that fails, found by ${tries} tries, number of acts: ${outcome.acts.length}`)
  for (const { name, atMs } of outcome.acts) console.log(`  ${(atMs / 1000).toFixed(3).padStart(9)} ${name}`)
}

/** Those that failed before come first. */
function* seedsOf({ seeds, from }: Settings, kept: KeptSeeds | undefined): Generator<number> {
  const before = kept?.all ?? []
  yield* before
  for (let seed = from; seed < from + seeds; seed++) if (!before.includes(seed)) yield seed
}

const playMany = async (settings: Settings): Promise<number> => {
  const kept = settings.kept === undefined ? undefined : new KeptSeeds(settings.kept)
  const startedMs = performance.now()
  const failed: number[] = []
  let [played, virtualMs, told] = [0, 0, 0]
  await using players = await Players.start(settings.jobs)
  const progress = setInterval(() => {
    if (played > told) console.error(`${played} played, ${failed.length} failed`)
    else console.error(`nothing has ended for a while; being played: ${players.underWay.join(', ')}`)
    told = played
  }, PROGRESS_MS).unref()
  const stop = new Stop()
  for await (const one of players.play(seedsOf(settings, kept))) {
    const { seed, hash, failure } = one
    played++
    virtualMs += one.virtualMs
    if (settings.areHashesTold) console.log(`seed ${seed}: ${hash}`)
    kept?.played(seed, failure?.message)
    if (failure) {
      failed.push(seed)
      console.log(
        `${factsOf(one)}\n  FAILED: ${failure.message}\n  played alone by: npm run simulate -- --seed ${seed}`,
      )
    }
    if (stop.isAsked) break
  }
  clearInterval(progress)
  const seconds = (performance.now() - startedMs) / 1000
  const rates = `${(played / seconds).toFixed(2)} runs and ${(virtualMs / 1000 / seconds).toFixed(0)} virtual seconds a second`
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : ''
  console.log(`${played} seeds from ${settings.from}: ${failed.length} failed${names}`)
  console.error(rates)
  const [first] = failed
  if (first === undefined) return 0
  if (settings.isWhole || stop.isAsked) return 1
  console.log(`the first, seed ${first}; of another one \`npm run simulate -- --seed N\` tells the same:`)
  await tellShrunk(first, false, stop)
  return 1
}

const playAsked = (settings: Settings): Promise<number> =>
  settings.seed === undefined ? playMany(settings) : playOne(settings.seed, settings)

// Whoever reads the story through `head` has seen enough of it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.exitCode = await runAsked(HELP, readSettings, playAsked)
