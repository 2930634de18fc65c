import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { nodeAloneMs, runNode } from '../child.js'
import { NODE_ALONE } from '../goals.js'
import { cpuMs, processorTicks, residentMb } from '../machine.js'
import { alternating, quantile } from '../stats.js'
import type { Bench, Build } from './context.js'

interface RunningLab {
  readonly keeper: { readonly process: { readonly pid: number } }
  readonly clusters: readonly {
    readonly name: string
    readonly apiAddress: string
    readonly rootToken: string
    readonly process: { readonly pid: number }
  }[]
}

const NAME = `bench-${process.pid}`
const WRITERS = 16
/** The JavaScript engine collects the garbage of a start after about eight seconds without work. */
const REST_MS = 12_000
const SOON_MS = 1000
const IDLE_MS = 10_000
const REPETITIONS = 3
const FAILOVERS = 50
const WRITE_MS = 1000
const POLL_MS = 5

/** Measures the cost of the lab daemon while all writes pass through its links. */
const measureLabDaemon = async (seconds: number, { add }: Build, { keeper, clusters }: RunningLab): Promise<void> => {
  const [primary] = clusters
  if (!primary) return
  const client = new ApiClient({ address: primary.apiAddress, token: primary.rootToken })
  await client.write('sys/mounts/bench', { type: 'kv' })
  const pids = clusters.map(({ process }) => process.pid)
  const ticks = () => [keeper.process.pid, ...pids].map(processorTicks)
  const before = ticks()
  const endMs = performance.now() + seconds * 1000
  const write = async (writer: number) => {
    for (let count = 0; performance.now() < endMs; count++)
      await client.write(`bench/${writer}-${count % 100}`, { value: 'x'.repeat(256) })
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  const used = ticks().map((after, index) => after - (before[index] ?? 0))
  client.close()
  add('16b', residentMb(keeper.process.pid))
  add('16c', (100 * (used[0] ?? 0)) / used.reduce((sum, one) => sum + one, 0))
}

/** Starts a lab with the command line, and stops it after `use`. `upMs` is the time of `up`. */
const withLab = async (
  { program }: Build,
  args: readonly string[],
  use: (lab: RunningLab, upMs: number) => Promise<void>,
): Promise<void> => {
  const startMs = performance.now()
  const up = await runNode([program, 'up', ...args, '--ports', 'random', '--json', '--name', NAME])
  const upMs = performance.now() - startMs
  try {
    await use(JSON.parse(up) as RunningLab, upMs)
  } finally {
    await runNode([program, 'down', '--name', NAME])
  }
}

const timeOf = async (...args: string[]): Promise<number> => {
  const startMs = performance.now()
  await runNode(args)
  return performance.now() - startMs
}

/**
 * Measures commands for labs, from the start of the process to the end of the output, and the cost of the servers and
 * of the lab daemon at rest.
 */
export const measureLab = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < bench.rounds; round++) {
    for (const build of alternating(bench.builds, round)) {
      await measurePair(bench, build)
      await measureSix(bench, build)
      for (const [figure, args] of [
        ['15e', ['six', '--in-process']],
        ['15f', ['pr-dr', '--nodes', '3']],
      ] as const)
        await withLab(build, args, async ({ keeper }, upMs) => {
          build.add(figure, upMs / 1000)
          if (figure !== '15e') return
          await systemClock.sleep(bench.isQuick ? SOON_MS : REST_MS)
          build.add('15m', residentMb(keeper.process.pid))
        })
    }
    bench.note(NODE_ALONE, await nodeAloneMs(), 'ms')
  }
  for (const build of bench.builds) await measureFailovers(build, bench.isQuick ? 2 : FAILOVERS)
  return undefined
}

const measurePair = (bench: Bench, build: Build): Promise<void> =>
  withLab(build, ['pr-dr'], async (lab, upMs) => {
    const { program, add } = build
    add('15a', upMs / 1000)
    for (let count = 0; count < REPETITIONS; count++) {
      add('15c', await timeOf(program, 'status', '--name', NAME))
      add('15i', await timeOf(program, '--help'))
      add('15j', await timeOf(program, 'version'))
    }
    await measureLabDaemon(bench.seconds, build, lab)
    add('15d', (await timeOf(program, 'reset', '--name', NAME, '--yes')) / 1000)
  })

/** Measures a lab of six clusters, whose processes rest before they are measured. */
const measureSix = (bench: Bench, { add, ...build }: Build): Promise<void> =>
  withLab({ add, ...build }, ['six'], async ({ keeper, clusters }, upMs) => {
    add('15b', upMs / 1000)
    const servers = clusters.map(({ process }) => process.pid)
    await systemClock.sleep(bench.isQuick ? SOON_MS : REST_MS)
    const busyMs = () => [keeper.process.pid, ...servers].reduce((sum, pid) => sum + cpuMs(pid), 0)
    const [beforeMs, startMs] = [busyMs(), performance.now()]
    await systemClock.sleep(bench.isQuick ? SOON_MS : IDLE_MS)
    add('15l', (100 * (busyMs() - beforeMs)) / (performance.now() - startMs))
    add(
      '15k',
      servers.reduce((sum, pid) => sum + residentMb(pid), 0),
    )
    add('16a', residentMb(keeper.process.pid))
  })

/**
 * Fails over between two clusters, and measures from the start of the command until the promoted cluster has served a
 * write.
 */
const measureFailovers = (build: Build, count: number): Promise<void> =>
  withLab(build, ['dr'], async ({ clusters }) => {
    const [first, second] = clusters
    if (!first || !second) throw new Error('the lab has no two clusters')
    const clients = [first, second].map(
      ({ apiAddress }) => new ApiClient({ address: apiAddress, token: first.rootToken, timeoutMs: WRITE_MS }),
    )
    await clients[0]?.write('sys/mounts/bench', { type: 'kv' })
    const times: number[] = []
    for (let turn = 0; turn < count; turn++) {
      const [lost = first, to = second] = turn % 2 === 0 ? [first, second] : [second, first]
      const client = clients[(turn + 1) % 2]
      const startMs = performance.now()
      const command = runNode([build.program, 'failover', lost.name, to.name, '--name', NAME])
      for (;;) {
        const isServed = await client?.write('bench/key', { value: String(turn) }).then(
          () => true,
          () => false,
        )
        if (isServed) break
        await systemClock.sleep(POLL_MS)
      }
      times.push((performance.now() - startMs) / 1000)
      await command
      await runNode([build.program, 'rejoin', lost.name, to.name, '--name', NAME, '--yes'])
    }
    for (const client of clients) client.close()
    build.add('15g', quantile(times, 0.5))
    build.add('15h', quantile(times, 0.99))
  })
