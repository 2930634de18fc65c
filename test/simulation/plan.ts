import type { LabSettings } from '../../src/lab/settings.js'
import { Chance } from './chance.js'
import type { Topology } from './servers.js'

/** What is different from one seed to the next before anything has happened: how fast everything is, and what goes wrong how often. */
export interface Plan {
  readonly seed: string
  readonly topology: Topology
  readonly networkDelayMsMax: number
  readonly diskDelayMsMax: number
  readonly settings: LabSettings
  readonly clients: number
  /** How long clients work and things go wrong. */
  readonly activeMs: number
  /** Pause between two steps of a client, and between two faults, at most. */
  readonly clientPauseMsMax: number
  readonly faultPauseMsMax: number
  readonly faults: Readonly<Record<FaultName, number>>
  /** The changes of primary, one after the other; none without a copy that could take over. */
  readonly failovers: readonly FailoverName[]
}

export type FailoverName = 'planned' | 'forced'

export type FaultName =
  | 'kill'
  | 'losePower'
  | 'stop'
  | 'start'
  | 'cut'
  | 'cutOneWay'
  | 'heal'
  | 'slowDisk'
  | 'fullDisk'
  | 'skew'
  | 'seal'

const WEIGHTS: Readonly<Record<FaultName, number>> = {
  kill: 3,
  losePower: 3,
  stop: 1,
  start: 8,
  cut: 2,
  cutOneWay: 2,
  heal: 4,
  slowDisk: 2,
  fullDisk: 1,
  skew: 1,
  seal: 1,
}

export const planOf = (seed: number): Plan => {
  const chance = new Chance(`${seed} plan`)
  const faults = Object.fromEntries(
    // Some seeds do without some faults: what else goes wrong is seen longer then.
    Object.entries(WEIGHTS).map(([name, weight]) => [name, chance.happens(0.3) ? 0 : weight * chance.between(0.5, 2)]),
  ) as Record<FaultName, number>
  const topology = chance.weighed({ dr: 3, performance: 4, both: 3 })
  return {
    seed: String(seed),
    topology,
    networkDelayMsMax: chance.pick([1, 5, 20, 80]),
    diskDelayMsMax: chance.pick([0.2, 2, 10, 40]),
    settings: {
      heartbeat_interval: chance.pick(['100ms', '1s']),
      // A short log makes it more likely that a secondary has to compare everything.
      wal_retention_bytes: chance.pick([1_000, 10_000, 1_000_000]),
      ship_window_bytes: chance.pick([100, 1_000_000]),
      reconnect_backoff_initial: '50ms',
      reconnect_backoff_max: chance.pick(['200ms', '2s']),
    },
    clients: 1 + chance.below(4),
    activeMs: chance.between(2_000, 15_000),
    clientPauseMsMax: chance.pick([20, 100, 400]),
    faultPauseMsMax: chance.pick([200, 800, 2_000]),
    // Whatever went wrong has to come to an end now and then.
    faults: { ...faults, start: WEIGHTS.start, heal: WEIGHTS.heal },
    failovers: topology === 'performance' ? [] : failoversOf(chance),
  }
}

const failoversOf = (chance: Chance): readonly FailoverName[] =>
  Array.from({ length: chance.pick([0, 1, 1, 1, 2, 2]) }, () => chance.pick(['planned', 'forced']))
