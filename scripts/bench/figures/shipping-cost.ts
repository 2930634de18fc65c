import { becomePrimary, follow, mountEngines, setUpAppRole, requestsOf } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { measureShipping } from '../shipping.js'
import { median, ratiosOf } from '../stats.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
const WARM_UP = 20_000

/** Goals for the cost of one write on each side, in microseconds of the reference machine. */
const GOALS = { primary: [60, 40], secondary: [60, 45] } as const

interface Writer {
  readonly server: BenchServer
  readonly write: Work
}

/**
 * Measures the cost of one performance secondary for a durable write. On the primary, the cost is the difference to a
 * primary without secondaries. Both primaries are measured alternately. On the secondary, the cost is all processor time
 * until it has applied the write.
 */
export const measureShippingCost = async (bench: Bench, askBare: () => Promise<number>): Promise<void> => {
  const alone = await prepare(bench, 'alone')
  const followed = await prepare(bench, 'followed')
  const secondary = await bench.server('secondary')
  await follow(followed.server, secondary)
  for (const { write } of [alone, followed]) {
    await warmUp(bench.generator, write, bench.isQuick ? WARM_UP / 10 : WARM_UP)
  }
  const load = { connections: CONNECTIONS, seconds: bench.seconds }
  const shares = { primary: [] as number[], secondary: [] as number[], bare: [] as number[] }
  for (let round = 0; round < bench.rounds; round++) {
    shares.bare.push(await askBare())
    const first = await measureShipping(bench.generator, { primary: alone.server, secondaries: [] }, alone.write, load)
    const fleet = { primary: followed.server, secondaries: [secondary] }
    const shipped = await measureShipping(bench.generator, fleet, followed.write, load)
    shares.primary.push(shipped.cpuMicros - first.cpuMicros)
    shares.secondary.push(shipped.secondaryMicros)
  }
  for (const side of ['primary', 'secondary'] as const) {
    const micros = median(shares[side])
    const [must, aim] = GOALS[side]
    bench.addCpu({
      work: `KV v1 write, share of the ${side} in shipping`,
      micros,
      besideMicros: undefined,
      ofBare: median(ratiosOf(shares[side], shares.bare)),
      must,
      aim,
    })
  }
}

const prepare = async (bench: Bench, name: string): Promise<Writer> => {
  const server = await bench.server(name)
  await mountEngines(server)
  const { 'KV v1 write': write } = requestsOf(server, await setUpAppRole(server))
  await becomePrimary(server)
  return { server, write }
}
