import { becomePrimary, fillForReads, follow, mountEngines, setUpAppRole, requestsOf } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { canTrace, countSyncs } from '../machine.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'
import { Yardsticks } from './yardsticks.js'

const CONNECTIONS = 64

interface Subjects {
  readonly single: BenchServer
  readonly primary: BenchServer
  readonly works: ReturnType<typeof requestsOf>
  /** A write on the primary of the secondary. */
  readonly paired: Work
}

/** Figures 1 to 6: throughput relative to the platform. Each round measures every part. */
export const measureRatios = async (bench: Bench): Promise<undefined> => {
  const yardsticks = new Yardsticks(bench.generator, bench.dist)
  try {
    const subjects = await prepare(bench)
    const write = () => bench.generator.load(subjects.works['KV v1 write'], CONNECTIONS, 1)
    await assertDurable(bench, subjects.single, write)
    for (let round = 1; round <= bench.rounds; round++) await measureRound(bench, yardsticks, subjects, round)
  } finally {
    yardsticks.close()
  }
  return undefined
}

const prepare = async (bench: Bench): Promise<Subjects> => {
  const single = await bench.server('single')
  const primary = await bench.server('primary')
  const secondary = await bench.server('secondary')
  for (const server of [single, primary]) await mountEngines(server)
  await becomePrimary(primary)
  await follow(primary, secondary)
  await fillForReads(single)
  const works = requestsOf(single, await setUpAppRole(single))
  const paired = { ...works['KV v1 write'], port: primary.apiPort, headers: { 'X-Vault-Token': primary.rootToken } }
  return { single, primary, works, paired }
}

const measureRound = async (bench: Bench, yardsticks: Yardsticks, subjects: Subjects, round: number): Promise<void> => {
  const { generator, seconds } = bench
  const { single, primary, works, paired } = subjects
  const ask = (work: Work, { pid }: BenchServer = single, connections = CONNECTIONS) =>
    generator.loadWithCpu(pid, work, connections, seconds)
  const g = await yardsticks.rawCommits(CONNECTIONS, seconds)
  const bare = await yardsticks.bareHttp(CONNECTIONS, seconds)
  const front = await yardsticks.front(CONNECTIONS, seconds)
  const reads = await ask(works['KV v1 read'])
  const writes = await ask(works['KV v1 write'])
  const logins = await ask(works['AppRole login, service'])
  const replicated = await ask(paired, primary)
  const oneRaw = await yardsticks.rawCommits(1, seconds)
  const one = await ask(works['KV v1 write'], single, 1)
  const k = 1 / (1 / g + 1 / bare.rate)
  bench.add('1', replicated.rate / k)
  bench.add('2', writes.rate / k)
  bench.add('2b', writes.rate / g)
  bench.add('3', one.rate / oneRaw)
  bench.add('4', front.rate / bare.rate)
  bench.add('5', reads.rate / bare.rate)
  bench.add('6', logins.rate / writes.rate)
  const rates = { G: g, K: k, 'raw commit, one writer': oneRaw }
  for (const [name, rate] of Object.entries(rates)) bench.note(name, rate, '/s')
  const measured = { H: bare, front, reads, writes, logins, replicated, one }
  for (const [name, { rate, cpuMicros }] of Object.entries(measured)) {
    bench.note(name, rate, '/s')
    bench.note(`${name}, processor time of a request`, cpuMicros, 'us')
  }
  for (const [layer, micros] of layersOf(measured)) bench.note(layer, (100 * micros) / replicated.cpuMicros, '%')
  const shown = [...Object.entries(rates), ...Object.entries(measured).map(([name, { rate }]) => [name, rate] as const)]
  bench.say(`round ${round}: ${shown.map(([name, rate]) => `${name} ${Math.round(rate)}`).join(', ')}`)
}

type Measured = Record<'H' | 'front' | 'reads' | 'writes' | 'replicated', { readonly cpuMicros: number }>

/**
 * Splits the processor time of a replicated KV write into layers. Each layer is the difference between one kind of request
 * and the next simpler kind.
 */
const layersOf = ({ H, front, reads, writes, replicated }: Measured): [string, number][] => [
  ['share of a replicated write: node:http and kernel', H.cpuMicros],
  ['share of a replicated write: HTTP front', front.cpuMicros - H.cpuMicros],
  ['share of a replicated write: request pipeline of a read', reads.cpuMicros - front.cpuMicros],
  ['share of a replicated write: barrier, log, trees and disk', writes.cpuMicros - reads.cpuMicros],
  ['share of a replicated write: shipping', replicated.cpuMicros - writes.cpuMicros],
]

/**
 * Verifies that the server syncs its writes, and that no commit has more writes than connections. Throws an Error if
 * writes are not durable.
 */
const assertDurable = async (
  bench: Bench,
  server: BenchServer,
  load: () => Promise<{ answers: number; rate: number }>,
): Promise<void> => {
  if (server.log.includes('sync_writes is off')) throw new Error('the server does not sync its writes')
  if (!canTrace()) {
    bench.say('durability: sync_writes is on. Syncs are not counted, because strace is not available.')
    return
  }
  let answers = 0
  const syncs = await countSyncs(server.pid, async () => {
    answers = (await load()).answers
  })
  bench.note('durable responses per sync (with strace)', answers / syncs, '')
  if (syncs === 0 || answers / syncs > CONNECTIONS) {
    throw new Error(`the server sent ${answers} durable responses with only ${syncs} syncs`)
  }
  bench.say(`durability: ${answers} responses, ${syncs} syncs, ${(answers / syncs).toFixed(1)} responses per sync`)
}
