import { attach, becomePrimary, mountEngines, SECRET, waitForReplication } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { type Filter, type Pair, setFilter } from '../paths-filter.js'
import { type Fleet, measureShipping } from '../shipping.js'
import { median, ratiosOf } from '../stats.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64

interface FilterMode {
  readonly name: string
  readonly filter: Filter | undefined
}

/** Both modes replicate `kv1/` and filter `held/`. */
const MODES: readonly FilterMode[] = [
  { name: 'no filter', filter: undefined },
  { name: 'filter allow', filter: { mode: 'allow', paths: ['kv1/', 'kv2/'] } },
  { name: 'filter deny', filter: { mode: 'deny', paths: ['held/'] } },
]

const MOUNTS = ['kv1', 'held'] as const

/**
 * Measures the cost of a path filter for the primary. Each round writes the same keys with and without a filter. The
 * secondary gets filtered keys as hashes only.
 */
export const measureFilters = async (bench: Bench): Promise<undefined> => {
  const pair = await prepare(bench)
  const found = new Map<string, number[]>()
  const load = { connections: CONNECTIONS, seconds: bench.seconds }
  const fleet: Fleet = { primary: pair.primary, secondaries: [pair.secondary] }
  const writes = bench.isQuick ? 2000 : 20_000
  let current: FilterMode | undefined = MODES[0]
  for (let round = 0; round <= bench.rounds; round++) {
    for (const mode of MODES) {
      if (mode !== current) await setFilter(pair, mode.filter)
      current = mode
      for (const mount of MOUNTS) {
        const work = workOf(pair.primary, mount)
        // Each filter starts a new copy, so a few keys are written before every measurement.
        await warmUp(bench.generator, work, round === 0 ? writes : writes / 10)
        if (round > 0)
          add(found, titleOf(mode, mount), (await measureShipping(bench.generator, fleet, work, load)).cpuMicros)
      }
    }
    bench.say(`filters: round ${round}`)
  }
  report(bench, found)
  return undefined
}

const add = (found: Map<string, number[]>, title: string, micros: number): void =>
  void found.set(title, [...(found.get(title) ?? []), micros])

const titleOf = ({ name, filter }: FilterMode, mount: (typeof MOUNTS)[number]): string => {
  const how = filter !== undefined && mount === 'held' ? 'filtered' : 'shipped'
  return `${name}, ${mount}/ ${how}`
}

/** Adds the costs of all rounds, and the ratio of an entry with a filter to an entry without one. */
const report = (bench: Bench, found: ReadonlyMap<string, readonly number[]>): void => {
  for (const [title, costs] of found) {
    for (const micros of costs) bench.note(`${title}: processor time of the primary for an entry`, micros, 'us')
  }
  const costOf = (mode: FilterMode, mount: (typeof MOUNTS)[number]): readonly number[] =>
    found.get(titleOf(mode, mount)) ?? []
  const [bare, ...filtered] = MODES
  if (!bare) return
  for (const mode of filtered) {
    for (const mount of MOUNTS) {
      const without = costOf(bare, mount)
      bench.note(
        `${titleOf(mode, mount)}: ratio to the cost without a filter`,
        median(ratiosOf(costOf(mode, mount), without)),
        '',
      )
    }
  }
}

const prepare = async (bench: Bench): Promise<Pair> => {
  const primary = await bench.server('primary')
  await mountEngines(primary)
  await primary.client().write('sys/mounts/held', { type: 'kv', options: { version: '1' } })
  await becomePrimary(primary)
  const secondary = await bench.server('filtered')
  await attach(primary, secondary, 'performance')
  await waitForReplication(primary, secondary)
  return { primary, secondary }
}

const workOf = (primary: BenchServer, mount: string): Work => ({
  port: primary.apiPort,
  headers: { 'X-Vault-Token': primary.rootToken },
  method: 'PUT',
  path: `/v1/${mount}/k{n}`,
  body: JSON.stringify(SECRET),
  spread: 1000,
})
