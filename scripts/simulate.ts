import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { KeptSeeds } from '../test/simulation/kept-seeds.js'
import { type Played, playedOf } from '../test/simulation/played.js'
import { Players } from '../test/simulation/players.js'
import { shrink } from '../test/simulation/shrink.js'
import { type Outcome, simulate } from '../test/simulation/simulate.js'

/**
 * Plays whole clusters on a simulated clock, network and disk. The same seed has the same history each time, which its hash
 * tells. Of a seed that fails the shortest story that still does is looked for, and printed; of many seeds, of the first one.
 *
 *   npm run simulate -- --seeds 200 [--from 1]        one seed after the other; with --hashes the hash of each, to compare
 *   npm run simulate -- --seed 17 [--trace]           one of them, as a story
 *   npm run simulate -- --soak [--from 1] [--keep F]  until it is stopped; seeds that fail are kept in F, and tried first
 *
 * With --whole nothing is left out of what fails. Many seeds are played by a process for each core, or by --jobs of them.
 */
const USAGE =
  'npm run simulate -- (--seeds N [--from N] [--hashes] | --seed N [--trace] | --soak [--from N] [--keep FILE]) [--jobs N] [--whole]'
const KEPT = 'failing-seeds.txt'

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
  from: { type: 'string', default: '1' },
  jobs: { type: 'string', default: `${availableParallelism()}` },
  soak: { type: 'boolean', default: false },
  keep: { type: 'string' },
  trace: { type: 'boolean', default: false },
  whole: { type: 'boolean', default: false },
  hashes: { type: 'boolean', default: false },
} as const

/** Undefined where a flag is not known, or says nothing that can be. */
const readSettings = (): Settings | undefined => {
  const values = readFlags()
  if (!values) return undefined
  const { seed, soak, keep, trace: isTold, whole: isWhole, hashes: areHashesTold } = values
  const [seeds, from] = [Number(values.seeds ?? 1), Number(values.from)]
  const [one, jobs] = [Number(seed ?? 0), Number(values.jobs)]
  const isSound =
    [seeds, from, one, jobs].every(Number.isSafeInteger) &&
    Math.min(seeds, jobs) > 0 &&
    [seed !== undefined, values.seeds !== undefined, soak].filter(Boolean).length === 1 &&
    (soak || keep === undefined) &&
    (seed !== undefined || !isTold)
  if (!isSound) return undefined
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

const readFlags = () => {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch {
    return undefined
  }
}

const tell = ({ seed, hash, events, virtualMs, failure }: Played): void => {
  const facts = `${hash}  ${events} events in ${(virtualMs / 1000).toFixed(1)} virtual seconds`
  console.log(`seed ${seed}: ${facts}${failure ? `\n  FAILED: ${failure.text}` : ''}`)
}

const tellStory = (outcome: Outcome): void => {
  for (const line of outcome.story) console.log(line)
  tell(playedOf(outcome))
}

const playOne = async (seed: number, { isTold, isWhole }: Settings): Promise<number> => {
  const outcome = await simulate(seed, { isTold })
  if (!outcome.failure || isWhole) tellStory(outcome)
  else await tellShrunk(seed, isTold)
  return outcome.failure ? 1 : 0
}

const tellShrunk = async (seed: number, isTold: boolean): Promise<void> => {
  const shrunk = await shrink(seed)
  if (!shrunk) throw new Error(`seed ${seed} has failed once and does not fail again`)
  const { outcome, tries } = shrunk
  tellStory(isTold ? outcome : { ...outcome, story: [] })
  console.log(`  ${outcome.acts.length} acts are left after ${tries} tries:`)
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
  let [played, virtualMs, isStopped] = [0, 0, false]
  process.once('SIGINT', () => {
    isStopped = true
  })
  await using players = await Players.start(settings.jobs)
  for await (const one of players.play(seedsOf(settings, kept))) {
    const { seed, hash, failure } = one
    played++
    virtualMs += one.virtualMs
    if (settings.areHashesTold) console.log(`seed ${seed}: ${hash}`)
    kept?.played(seed, failure?.message)
    if (failure) {
      failed.push(seed)
      tell(one)
    }
    if (isStopped) break
  }
  const seconds = (performance.now() - startedMs) / 1000
  const rates = `${(played / seconds).toFixed(1)} runs and ${(virtualMs / 1000 / seconds).toFixed(0)} virtual seconds a second`
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : ''
  console.log(`${played} seeds from ${settings.from}: ${failed.length} failed${names}; ${rates}`)
  const [first] = failed
  if (first === undefined) return 0
  if (!settings.isWhole && !isStopped) await tellShrunk(first, false)
  return 1
}

const main = (): Promise<number> | number => {
  const settings = readSettings()
  if (settings) return settings.seed === undefined ? playMany(settings) : playOne(settings.seed, settings)
  console.error(USAGE)
  return 1
}

process.exitCode = await main()
