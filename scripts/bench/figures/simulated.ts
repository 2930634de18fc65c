import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { SeedWorkers } from '../../../test/simulation/seed-workers.js'
import { runNode } from '../child.js'
import type { Bench } from './context.js'

const SEEDS = 100
const QUICK_SEEDS = 6
const MANY = { alone: 1000, pairs: 100 }
const QUICK_MANY = { alone: 50, pairs: 5 }

/** Measures simulated clusters: played seeds, and a library lab with many idle clusters. */
export const measureSimulated = async (bench: Bench): Promise<undefined> => {
  const seeds = Array.from({ length: bench.isQuick ? QUICK_SEEDS : SEEDS }, (_, index) => index + 1)
  await playSeeds(bench, 1, seeds)
  await playSeeds(bench, undefined, seeds)
  await startMany(bench, bench.isQuick ? QUICK_MANY : MANY)
  return undefined
}

/** `processes` is the number of processes (default: one per core). */
const playSeeds = async (bench: Bench, processes: number | undefined, seeds: readonly number[]): Promise<void> => {
  await using workers = await SeedWorkers.start(processes)
  const begunMs = performance.now()
  let virtualSeconds = 0
  for await (const { virtualMs } of workers.play(seeds)) virtualSeconds += virtualMs / 1000
  const seconds = (performance.now() - begunMs) / 1000
  const by = processes === undefined ? 'one process per core' : `${processes} process`
  bench.note(`seeds per second, ${by}`, seeds.length / seconds, '')
  bench.note(`virtual seconds per second, ${by}`, virtualSeconds / seconds, '')
}

interface Cost {
  readonly startMs: number
  readonly minuteMs: number
  readonly residentMb: number
}

/** Runs in its own process, so that memory contains nothing else. */
const program = (index: string, { alone, pairs }: typeof MANY): string => `
  const { startLab } = await import(${JSON.stringify(index)})
  const clusters = Array.from({ length: ${alone + 2 * pairs} }, (_, at) => 'N' + at)
  const links = Array.from({ length: ${pairs} }, (_, at) => {
    return { kind: 'dr', primary: 'N' + 2 * at, secondary: 'N' + (2 * at + 1) }
  })
  const begunMs = performance.now()
  const lab = await startLab({ name: 'many', about: '', clusters, links }, { simulated: true })
  const startedMs = performance.now()
  await lab.clock.advance('1m')
  const minuteMs = performance.now() - startedMs
  const residentMb = process.memoryUsage.rss() / 1024 / 1024
  await lab.close()
  console.log(JSON.stringify({ startMs: startedMs - begunMs, minuteMs, residentMb }))
`

const startMany = async (bench: Bench, many: typeof MANY): Promise<void> => {
  const index = pathToFileURL(path.join(bench.dist, 'index.js')).href
  const printed = await runNode(['--input-type=module', '-e', program(index, many)])
  const { startMs, minuteMs, residentMb } = JSON.parse(printed) as Cost
  const who = `${many.alone} clusters and ${many.pairs} DR pairs`
  bench.note(`start of ${who}`, startMs / 1000, 's')
  bench.note(`a virtual minute of ${who}, at rest`, minuteMs / 1000, 's')
  bench.note(`memory of ${who}`, residentMb, 'MB')
}
