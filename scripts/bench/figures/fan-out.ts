import { attach, becomePrimary, mountEngines, SECRET, waitForReplication } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { residentMb } from '../machine.js'
import { measureShipping, restingShare, type Fleet } from '../shipping.js'
import { median } from '../stats.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const STEPS = [0, 1, 4, 16]
const QUICK_STEPS = [0, 1, 2]

/** At the low rate, the primary sends each write alone. The full load is the maximum rate of the server. */
const LOADS = [
  { name: '100 writes/s', connections: 4, ratePerSecond: 100 },
  { name: 'full load', connections: 64, ratePerSecond: undefined },
] as const

/**
 * Measures the cost of each additional performance secondary for the primary, as processor time per entry. Rates would
 * depend on the number of processors that all these processes share.
 */
export const measureFanOut = async (bench: Bench): Promise<undefined> => {
  const primary = await bench.server('primary')
  await mountEngines(primary)
  await becomePrimary(primary)
  const secondaries: BenchServer[] = []
  const alone = new Map<string, number>()
  for (const count of bench.isQuick ? QUICK_STEPS : STEPS) {
    while (secondaries.length < count) {
      const secondary = await bench.server(`follower-${secondaries.length + 1}`)
      secondaries.push(secondary)
      await attach(primary, secondary, 'performance')
      await waitForReplication(primary, secondary)
    }
    await measureStep(bench, { primary, secondaries }, alone)
  }
  return undefined
}

const measureStep = async (bench: Bench, fleet: Fleet, alone: Map<string, number>): Promise<void> => {
  const { primary, secondaries } = fleet
  const title = secondaries.length === 1 ? '1 secondary' : `${secondaries.length} secondaries`
  const seconds = bench.seconds * 2
  const fully = workOf(primary)
  await warmUp(bench.generator, fully, bench.isQuick ? 2000 : secondaries.length === 0 ? 40_000 : 5000)
  const resting = await restingShare(fleet, seconds)
  bench.note(`${title}: processor of the primary at rest`, resting * 100, '%')
  for (const { name, connections, ratePerSecond } of LOADS) {
    const work = { ...fully, ratePerSecond }
    const costs: number[] = []
    for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
      const { rate, entries, cpuMicros } = await measureShipping(bench.generator, fleet, work, { connections, seconds })
      // Heartbeats need processor time even without writes. This time is measured before, and subtracted.
      const micros = cpuMicros - (resting * seconds * 1_000_000) / entries
      costs.push(micros)
      bench.note(`${title}, ${name}: processor time of the primary for an entry`, micros, 'us')
      bench.note(`${title}, ${name}: writes`, rate, '/s')
    }
    const cost = median(costs)
    if (secondaries.length === 0) alone.set(name, cost)
    else {
      const each = (cost - (alone.get(name) ?? 0)) / secondaries.length
      bench.note(`${title}, ${name}: additional processor time for each secondary`, each, 'us')
    }
    bench.say(`fan-out: ${title}, ${name}: ${Math.round(cost)} us an entry`)
  }
  bench.note(`${title}: memory of the primary after the load`, residentMb(primary.pid), 'MB')
}

const workOf = (primary: BenchServer): Work => ({
  port: primary.apiPort,
  headers: { 'X-Vault-Token': primary.rootToken },
  method: 'PUT',
  path: '/v1/kv1/k{n}',
  body: JSON.stringify(SECRET),
  spread: 10_000,
})
