import { inspect, parseArgs } from 'node:util'
import { shrink } from '../test/simulation/shrink.js'
import { type Outcome, simulate } from '../test/simulation/simulate.js'

/**
 * Plays whole clusters on a simulated clock, network and disk. The same seed has the same history each time, which its hash
 * tells.
 *
 *   npm run simulate -- --seeds 200 [--from 1]   one seed after the other
 *   npm run simulate -- --seed 17 [--trace]      one of them, as a story
 *   npm run simulate -- --seed 17 --shrink       the shortest story of it that still fails; with --trace whole
 */
const USAGE = 'npm run simulate -- (--seeds N [--from SEED] | --seed SEED [--shrink] [--trace])'

interface Settings {
  readonly seed: number | undefined
  readonly seeds: number
  readonly from: number
  readonly isTold: boolean
  readonly isShrunk: boolean
}

const readSettings = (): Settings | undefined => {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      trace: { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: false },
    },
  })
  const [seeds, from, seed] = [Number(values.seeds ?? 1), Number(values.from), Number(values.seed ?? 0)]
  const isOne = values.seed !== undefined
  const isSound =
    [seeds, from, seed].every(Number.isSafeInteger) &&
    seeds > 0 &&
    isOne === (values.seeds === undefined) &&
    (isOne || !values.shrink)
  return isSound
    ? { seed: isOne ? seed : undefined, seeds, from, isTold: values.trace, isShrunk: values.shrink }
    : undefined
}

const tell = ({ seed, hash, events, virtualMs, failure, story }: Outcome): void => {
  for (const line of story) console.log(line)
  const facts = `${hash}  ${events} events in ${(virtualMs / 1000).toFixed(1)} virtual seconds`
  console.log(`seed ${seed}: ${facts}${failure ? `\n  FAILED: ${inspect(failure)}` : ''}`)
}

const playOne = async (seed: number, { isTold, isShrunk }: Settings): Promise<number> => {
  if (isShrunk) return playShrunk(seed, isTold)
  const outcome = await simulate(seed, { isTold })
  tell(outcome)
  return outcome.failure ? 1 : 0
}

const playShrunk = async (seed: number, isTold: boolean): Promise<number> => {
  const shrunk = await shrink(seed)
  if (!shrunk) {
    console.log(`seed ${seed} does not fail`)
    return 0
  }
  const { outcome, tries } = shrunk
  tell(isTold ? outcome : { ...outcome, story: [] })
  console.log(`  ${outcome.acts.length} acts are left after ${tries} tries:`)
  for (const { name, atMs } of outcome.acts) console.log(`  ${(atMs / 1000).toFixed(3).padStart(9)} ${name}`)
  return 1
}

const playMany = async ({ seeds, from }: Settings): Promise<number> => {
  const startedMs = performance.now()
  const failed: number[] = []
  let virtualMs = 0
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await simulate(seed)
    virtualMs += outcome.virtualMs
    if (!outcome.failure) continue
    failed.push(seed)
    tell(outcome)
  }
  const seconds = (performance.now() - startedMs) / 1000
  const rates = `${(seeds / seconds).toFixed(1)} runs and ${(virtualMs / 1000 / seconds).toFixed(0)} virtual seconds a second`
  console.log(
    `${seeds} seeds from ${from}: ${failed.length} failed${failed.length > 0 ? ` (${failed.join(', ')})` : ''}; ${rates}`,
  )
  return failed.length > 0 ? 1 : 0
}

const main = (): Promise<number> | number => {
  const settings = readSettings()
  if (settings) return settings.seed === undefined ? playMany(settings) : playOne(settings.seed, settings)
  console.error(USAGE)
  return 1
}

process.exitCode = await main()
