import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { statusOf } from '../../../src/lab/requests/replication.js'
import { becomePrimary, follow, mountEngines, setUpAppRole, waitForReplication, requestsOf } from '../clusters.js'
import { Generator, type Work } from '../load/generator.js'
import type { ProbePlan } from '../load/plan.js'
import { bytesSentFrom, residentMb } from '../machine.js'
import { lastIndex, waitUntil } from '../position.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
const PAUSE_SECONDS = 10
const MEMORY_SAMPLE_MS = 100
/** Goal 13b applies to these keepalive settings. */
const SETTINGS = { keepalive_time: '1s', keepalive_timeout: '1s' }

interface Pair {
  readonly primary: BenchServer
  readonly secondary: BenchServer
  readonly write: Work
}

/** Figures 7 to 9, 12 and 13: one performance secondary under load, paused, disconnected and reconnected. */
export const measureReplication = async (bench: Bench): Promise<undefined> => {
  const primary = await bench.server('primary', { settings: SETTINGS })
  const secondary = await bench.server('secondary', { settings: SETTINGS })
  await mountEngines(primary)
  const works = requestsOf(primary, await setUpAppRole(primary))
  await becomePrimary(primary)
  await follow(primary, secondary)
  const pair = { primary, secondary, write: works['KV v1 write'] }
  for (let round = 1; round <= Math.min(bench.rounds, 3); round++) {
    const topRate = await measureSaturation(bench, pair)
    await measureHalfLoad(bench, pair, topRate)
    await measurePause(bench, pair)
    await measureFrozenPrimary(bench, pair)
    await measureReturn(bench, pair)
    bench.say(`replication: round ${round}, top rate ${Math.round(topRate)}/s`)
  }
  await measureWire(bench, pair, 'KV v1 write', works['KV v1 write'])
  await measureWire(bench, pair, 'AppRole login', works['AppRole login, service'])
  return undefined
}

const probeOf = ({ primary, secondary }: Pair, seconds: number): ProbePlan => ({
  writePort: primary.apiPort,
  readPort: secondary.apiPort,
  writeToken: primary.rootToken,
  readToken: secondary.rootToken,
  path: '/v1/kv1/probe',
  seconds,
})

/** Returns a function that reads the last index of the primary (`above`) and of the secondary (`below`). */
const positions = ({ primary, secondary }: Pair) => {
  const [above, below] = [primary.client(), secondary.client()]
  return async () => ({ above: await lastIndex(above), below: await lastIndex(below) })
}

const measureSaturation = async (bench: Bench, pair: Pair): Promise<number> => {
  const read = positions(pair)
  const before = await read()
  const prober = new Generator()
  try {
    const seconds = bench.seconds * 2
    const probing = prober.probe(probeOf(pair, seconds))
    const { rate } = await bench.generator.load(pair.write, CONNECTIONS, seconds)
    const loaded = performance.now()
    const atEnd = await read()
    await waitUntil('the secondary to drain', async () => {
      const now = await read()
      return now.below - before.below >= now.above - before.above
    })
    const drainedMs = performance.now() - loaded
    const lag = await probing
    bench.add('7a', Math.min(1, (atEnd.below - before.below) / (atEnd.above - before.above)))
    bench.add('7b', drainedMs)
    bench.add('8a', lag.p50Ms)
    bench.add('8b', lag.p99Ms)
    bench.note('lag probes at saturation', lag.samples, '')
    return rate
  } finally {
    prober.close()
  }
}

const measureHalfLoad = async (bench: Bench, pair: Pair, topRate: number): Promise<void> => {
  const prober = new Generator()
  try {
    const seconds = bench.seconds * 2
    const probing = prober.probe(probeOf(pair, seconds))
    await bench.generator.load({ ...pair.write, ratePerSecond: topRate / 2 }, CONNECTIONS, seconds)
    bench.add('8c', (await probing).p99Ms)
  } finally {
    prober.close()
  }
}

/** Pauses the secondary at full load, and measures how it catches up. */
const measurePause = async (bench: Bench, pair: Pair): Promise<void> => {
  const { primary, secondary, write } = pair
  const seconds = bench.isQuick ? 2 : PAUSE_SECONDS
  const read = positions(pair)
  const before = await read()
  const restingMb = residentMb(primary.pid)
  let highestMb = restingMb
  const sampler = systemClock.setRepeating(MEMORY_SAMPLE_MS, () => {
    highestMb = Math.max(highestMb, residentMb(primary.pid))
  })
  secondary.signal('SIGSTOP')
  let rate = 0
  try {
    rate = (await bench.generator.load(write, CONNECTIONS, seconds)).rate
  } finally {
    sampler.cancel()
    secondary.signal('SIGCONT')
  }
  const target = (await lastIndex(primary.client())) - before.above
  const below = secondary.client()
  const applied = async () => (await lastIndex(below)) - before.below
  await waitUntil('the secondary to apply entries', async () => (await applied()) > 0)
  const first = await applied()
  const startMs = performance.now()
  await waitUntil('the backlog to be caught up', async () => (await applied()) >= target)
  const caughtUpPerSecond = ((target - first) * 1000) / (performance.now() - startMs)
  bench.add('9', caughtUpPerSecond / rate)
  bench.add('12', Math.max(0, highestMb - restingMb))
  bench.note('backlog entries', target, '')
  bench.note('entries caught up', caughtUpPerSecond, '/s')
}

const isConnected = async (secondary: BenchServer): Promise<boolean> => {
  const { state, connection_state } = await statusOf(secondary.client(), 'performance')
  return connection_state === 'ready' && state === 'stream-wals'
}

const measureFrozenPrimary = async (bench: Bench, { primary, secondary }: Pair): Promise<void> => {
  await waitForReplication(primary, secondary)
  primary.signal('SIGSTOP')
  try {
    const noticedMs = await waitUntil('the secondary to disconnect', async () => !(await isConnected(secondary)), 10)
    bench.add('13b', noticedMs / 1000)
  } finally {
    primary.signal('SIGCONT')
  }
  await waitForReplication(primary, secondary)
}

const measureReturn = async (bench: Bench, { primary, secondary }: Pair): Promise<void> => {
  await primary.stop('SIGKILL')
  await waitUntil('the secondary to disconnect', async () => !(await isConnected(secondary)), 5)
  await primary.start()
  await primary.unseal()
  bench.add('13a', (await waitUntil('the secondary to reconnect', () => isConnected(secondary), 5)) / 1000)
  await waitForReplication(primary, secondary)
}

const REQUESTS = 2000

const measureWire = async (bench: Bench, { primary }: Pair, name: string, work: Work): Promise<void> => {
  const before = bytesSentFrom(primary.clusterPort)
  const { answers } = await bench.generator.load({ ...work, answersMax: REQUESTS, warmupSeconds: 0 }, 16, 60)
  const after = bytesSentFrom(primary.clusterPort)
  if (before === undefined || after === undefined) return
  bench.note(`bytes to a performance secondary for a ${name}`, (after - before) / answers, 'B')
}
