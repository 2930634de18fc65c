import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { runNode } from '../child.js'
import { processorTicks, residentMb } from '../machine.js'
import type { Bench } from './context.js'

interface RunningLab {
  readonly keeper: { readonly process: { readonly pid: number } }
  readonly clusters: readonly {
    readonly name: string
    readonly apiAddress: string
    readonly rootToken: string
    readonly process: { readonly pid: number }
  }[]
}

const WRITERS = 16
const REST_MS = 1000
const REPETITIONS = 3

/** Measures the cost of the lab daemon while all writes pass through its links. */
const measureLabDaemon = async (bench: Bench, { keeper, clusters }: RunningLab): Promise<void> => {
  const [primary] = clusters
  if (!primary) return
  const client = new ApiClient({ address: primary.apiAddress, token: primary.rootToken })
  await client.write('sys/mounts/bench', { type: 'kv' })
  const pids = clusters.map(({ process }) => process.pid)
  const ticks = () => [keeper.process.pid, ...pids].map(processorTicks)
  const before = ticks()
  const endMs = performance.now() + bench.seconds * 1000
  const write = async (writer: number) => {
    for (let count = 0; performance.now() < endMs; count++)
      await client.write(`bench/${writer}-${count % 100}`, { value: 'x'.repeat(256) })
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  const used = ticks().map((after, index) => after - (before[index] ?? 0))
  client.close()
  bench.add('16b', residentMb(keeper.process.pid))
  bench.add('16c', (100 * (used[0] ?? 0)) / used.reduce((sum, one) => sum + one, 0))
}

/** Starts a lab with the command line, and stops it after `use`. `startMs` is the start time of `up`. */
const withLab = async (
  { program }: Bench,
  topology: string,
  name: string,
  use: (lab: RunningLab, startMs: number) => Promise<void>,
): Promise<void> => {
  const startMs = performance.now()
  const up = await runNode([program, 'up', topology, '--ports', 'random', '--json', '--name', name])
  try {
    await use(JSON.parse(up) as RunningLab, startMs)
  } finally {
    await runNode([program, 'down', '--name', name])
  }
}

/**
 * Measures commands for labs, from the start of the process to the end of the output, and the cost of the lab daemon.
 */
export const measureLab = async (bench: Bench): Promise<undefined> => {
  const { program, add, note } = bench
  const timeOf = async (...args: string[]): Promise<number> => {
    const startMs = performance.now()
    await runNode([program, ...args])
    return performance.now() - startMs
  }
  for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
    const name = `bench-${process.pid}-${round}`
    await withLab(bench, 'pr-dr', name, async (lab, startMs) => {
      add('15a', (performance.now() - startMs) / 1000)
      for (let count = 0; count < REPETITIONS; count++) add('15c', await timeOf('status', '--name', name))
      await systemClock.sleep(REST_MS)
      add('16a', residentMb(lab.keeper.process.pid))
      await measureLabDaemon(bench, lab)
      for (const cluster of lab.clusters)
        note(`memory of lab cluster ${cluster.name}`, residentMb(cluster.process.pid), 'MB')
      add('15d', (await timeOf('reset', '--name', name)) / 1000)
    })
    await withLab(bench, 'six', name, async (_, startMs) => add('15b', (performance.now() - startMs) / 1000))
    note('node alone: from its start to its end', await nodeMs(), 'ms')
  }
  return undefined
}

/** Returns the time of an empty Node program, which is part of the time of each command. */
const nodeMs = async (): Promise<number> => {
  const startMs = performance.now()
  await runNode(['-e', ''])
  return performance.now() - startMs
}
