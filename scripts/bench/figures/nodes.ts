import { requestsOf, mountEngines } from '../clusters.js'
import { Generator } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { NodeCluster } from '../node-cluster.js'
import type { BenchServer } from '../servers.js'
import { median, quantile } from '../stats.js'
import type { Bench } from './context.js'

const LEASE = '2s'
const WRITERS = 32
const CHANGES = 50
const WARM_UP = 5000

/**
 * Measures clusters of several nodes: the time without writes when the active node changes, and the cost of the nodes.
 */
export const measureNodes = async (bench: Bench): Promise<undefined> => {
  const one = await openAlone(bench, bench.program)
  if (bench.beside !== undefined) await measureBeside(bench, one, await openAlone(bench, bench.beside))
  const three = await NodeCluster.open(bench, LEASE)
  await measureWrites(bench, one, three)
  await measureReads(bench, three)
  const count = bench.isQuick ? 3 : CHANGES
  for (const [name, change] of [
    ['kill of the active node', () => three.killActive()],
    ['step-down', () => three.stepDown()],
  ] as const) {
    const times: number[] = []
    for (let turn = 1; turn <= count; turn++) {
      times.push(await change())
      bench.say(`${name} ${turn}: ${times.at(-1)?.toFixed(0)} ms`)
    }
    bench.note(`${name} to the first write, p50 of ${count}`, quantile(times, 0.5), 'ms')
    bench.note(`${name} to the first write, p99 of ${count}`, quantile(times, 0.99), 'ms')
  }
  return undefined
}

const openAlone = async (bench: Bench, program: string): Promise<BenchServer> => {
  const server = await bench.server('alone', { program })
  await mountEngines(server)
  await warmUp(bench.generator, writeTo(server), bench.isQuick ? WARM_UP / 10 : WARM_UP)
  return server
}

const NO_LOGINS = { service: '', batch: '', limited: [] }

const writeTo = (server: BenchServer) => requestsOf(server, NO_LOGINS)['KV v1 write']

/** Measures one node without peers, alternately with another build. Processor time varies less than rates. */
const measureBeside = async (bench: Bench, own: BenchServer, beside: BenchServer): Promise<void> => {
  const ask = (server: BenchServer) => bench.generator.loadWithCpu(server.pid, writeTo(server), WRITERS, bench.seconds)
  const rates: number[] = []
  const micros: number[] = []
  for (let round = 0; round < bench.rounds; round++) {
    const [here, there] = [await ask(own), await ask(beside)]
    rates.push(here.rate / there.rate)
    micros.push(here.cpuMicros / there.cpuMicros)
  }
  bench.note('one node without peers: writes / writes of the other build', median(rates), '')
  bench.note('one node without peers: processor time of a write / in the other build', median(micros), '')
}

const measureWrites = async (bench: Bench, one: BenchServer, three: NodeCluster): Promise<void> => {
  const active = await three.active()
  await warmUp(bench.generator, writeTo(active), bench.isQuick ? WARM_UP / 10 : WARM_UP)
  for (let round = 0; round < bench.rounds; round++) {
    const alone = await bench.generator.load(writeTo(one), WRITERS, bench.seconds)
    const shared = await bench.generator.load(writeTo(active), WRITERS, bench.seconds)
    for (const [name, { rate, p50Ms, p99Ms }] of [
      ['one node', alone],
      ['three nodes', shared],
    ] as const) {
      bench.note(`${WRITERS} writers, ${name}`, rate, '/s')
      bench.note(`${WRITERS} writers, ${name}, p50`, p50Ms, 'ms')
      bench.note(`${WRITERS} writers, ${name}, p99`, p99Ms, 'ms')
    }
    bench.note(`${WRITERS} writers, three nodes / one node`, shared.rate / alone.rate, '')
  }
}

/**
 * Measures the same number of readers at the active node alone, and spread over all nodes, which read their own copies.
 */
const measureReads = async (bench: Bench, three: NodeCluster): Promise<void> => {
  const active = await three.active()
  const client = active.client()
  for (let n = 0; n < 100; n++) await client.write(`kv1/read/${n}`, { word: 'read' })
  await three.level()
  const generators = three.all.map(() => new Generator())
  const readers = Math.floor(WRITERS / three.all.length)
  const readFrom = async (servers: readonly BenchServer[]): Promise<number> => {
    const connections = readers * (three.all.length / servers.length)
    const loads = servers.map((server, at) =>
      generators[at]?.load(requestsOf(server, NO_LOGINS)['KV v1 read'], connections, bench.seconds),
    )
    return (await Promise.all(loads)).reduce((sum, load) => sum + (load?.rate ?? 0), 0)
  }
  try {
    await readFrom(three.all)
    for (let round = 0; round < bench.rounds; round++) {
      const [alone, spread] = [await readFrom([active]), await readFrom(three.all)]
      const name = `${readers * three.all.length} readers`
      bench.note(`${name}, the active node alone`, alone, '/s')
      bench.note(`${name}, spread over three nodes`, spread, '/s')
      bench.note(`${name}, spread / alone`, spread / alone, '')
    }
  } finally {
    for (const generator of generators) generator.close()
  }
}
