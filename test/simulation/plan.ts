import type { LabSettings } from '../../src/lab/model/settings.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { hasCopy, namesOf, type Topology } from './servers.js'

/** The parameters of a seed, drawn before the run: latencies, and the probability of each fault. */
export interface Plan {
  readonly seed: string
  readonly topology: Topology
  readonly networkDelayMsMax: number
  readonly diskDelayMsMax: number
  readonly settings: LabSettings
  readonly clients: number
  /** How long clients work and faults are injected. */
  readonly activeMs: number
  /** Maximum pause between two steps of a client, and between two faults. */
  readonly clientPauseMsMax: number
  readonly faultPauseMsMax: number
  readonly faults: Readonly<Record<FaultName, number>>
  readonly nodes: NodesPlan
  /** The changes of the primary, in order; none without a copy that can be promoted. */
  readonly failovers: readonly FailoverName[]
  /** Filters change several times in a row, and connections break in the meantime. */
  readonly hasFilterStorms: boolean
  /** One more planned failover, after all faults have ended. */
  readonly hasCalmFailover: boolean
  /** Before that failover, the primary is demoted and promoted. */
  readonly hasRepromotion: boolean
  /** After all faults have ended, something happens while a resync writes to a secondary in many steps. */
  readonly hasResyncFaults: boolean
  /** After that, a secondary forwards a write to a primary that its copy has replaced. */
  readonly hasOvertakenWrite: boolean
  /** After that, an older copy of the primary's disk is put back before a forced failover. */
  readonly hasOlderDisk: boolean
  /** The status of every server is read all the time. */
  readonly hasStatusReads: boolean
  /** At the end, bits of the stored data are flipped. */
  readonly hasBitFlips: boolean
}

/** The parameters of clusters with several nodes. */
export interface NodesPlan {
  /** Number of nodes of each cluster, in the order of the cluster names. 1 means a standalone server. */
  readonly counts: readonly number[]
  readonly leaseMs: number
  /** Maximum number of entries of the shared log. Older entries are only in its image. */
  readonly entriesMax: number
  readonly logDelayMsMax: number
  readonly faults: Readonly<Record<NodeFaultName, number>>
  /** Returns the rate of the clock of a node. */
  readonly driftOf: (node: string) => number
}

export type NodeFaultName = 'stepDown' | 'freeze' | 'cutLog' | 'loseLogAnswers' | 'loseDisk'

export type FailoverName = 'planned' | 'forced' | 'lagging' | 'unforced' | 'double'

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
  | 'reset'
  | 'failDisk'

const WEIGHTS: Readonly<Record<Exclude<FaultName, keyof typeof MORE_WEIGHTS>, number>> = {
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

/** Drawn from a separate stream, so that they do not change the other draws. */
const MORE_WEIGHTS = { reset: 2, failDisk: 2 } as const

const NODE_WEIGHTS: Readonly<Record<NodeFaultName, number>> = {
  stepDown: 3,
  freeze: 3,
  cutLog: 2,
  loseLogAnswers: 2,
  loseDisk: 1,
}
const NODES_FRACTION = 0.35
/** A node relies on nine tenths of its lease, so clocks may differ by slightly less than one tenth. */
const DRIFT_MAX = 0.04

/** Drawn from a separate stream, so that it does not change the other draws. */
const nodesOf = (seed: number): NodesPlan => {
  const chance = new Chance(`${seed} nodes`)
  const isSingle = !chance.happens(NODES_FRACTION)
  return {
    counts: [
      ...Array.from({ length: 3 }, () => (isSingle ? 1 : chance.pick([1, 2, 3, 3]))),
      isSingle ? 1 : new Chance(`${seed} nodes of the fourth`).pick([1, 2]),
    ],
    leaseMs: chance.pick([500, 2_000]),
    entriesMax: chance.pick([20, 65_536]),
    logDelayMsMax: chance.pick([0.5, 5, 25]),
    faults: Object.fromEntries(
      Object.entries(NODE_WEIGHTS).map(([name, weight]) => [name, chance.happens(0.3) ? 0 : weight]),
    ) as Record<NodeFaultName, number>,
    driftOf: (node) => 1 + new Chance(`${seed} drift ${node}`).between(-DRIFT_MAX, DRIFT_MAX),
  }
}

/** Returns true if some cluster has several nodes. */
export const hasNodes = ({ nodes, topology }: Pick<Plan, 'nodes' | 'topology'>): boolean =>
  nodes.counts.slice(0, namesOf(topology).length).some((count) => count > 1)

/** Returns true if a serving secondary is likely to resync soon, in many steps. */
export const resyncsInSteps = ({ topology, settings }: Pick<Plan, 'topology' | 'settings'>): boolean =>
  topology !== 'dr' && settings.wal_retention_bytes === 1_000 && settings.ship_batch_bytes === 100

/** Removes some faults for some seeds, so that the effects of the other faults last longer. */
const drawFaults = <Name extends string>(weights: Readonly<Record<Name, number>>, chance: Chance) =>
  Object.fromEntries(
    Object.entries<number>(weights).map(([name, weight]) => [
      name,
      chance.happens(0.3) ? 0 : weight * chance.between(0.5, 2),
    ]),
  ) as Record<Name, number>

export const planOf = (seed: number): Plan => {
  const chance = new Chance(`${seed} plan`)
  const faults = {
    ...drawFaults(WEIGHTS, chance),
    ...drawFaults(MORE_WEIGHTS, new Chance(`${seed} more faults`)),
  }
  const drawn = chance.weighed({ dr: 3, performance: 4, both: 3 })
  const hasSecondaryCopy = drawn === 'performance' && new Chance(`${seed} copy of the secondary`).happens(0.4)
  const hasTwoCopies = drawn === 'both' && new Chance(`${seed} two copies`).happens(0.3)
  const topology: Topology = hasSecondaryCopy ? 'secondary-copy' : hasTwoCopies ? 'two-copies' : drawn
  const nodes = nodesOf(seed)
  const isSingle = !hasNodes({ nodes, topology })
  const networkDelayMsMax = chance.pick([1, 5, 20, 80])
  const diskDelayMsMax = chance.pick([0.2, 2, 10, 40])
  const settings: LabSettings = {
    heartbeat_interval: chance.pick(['100ms', '1s']),
    // With a short log, a secondary has to compare all data more often.
    wal_retention_bytes: chance.pick([1_000, 10_000, 1_000_000]),
    ship_window_bytes: chance.pick([100, 1_000_000]),
    // With small batches, a resync writes in many steps.
    ship_batch_bytes: new Chance(`${seed} batches`).pick([100, 100, 1_000, 262_144]),
    reconnect_backoff_initial: '50ms',
    reconnect_backoff_max: chance.pick(['200ms', '2s']),
  }
  return {
    seed: String(seed),
    topology,
    networkDelayMsMax,
    diskDelayMsMax,
    settings,
    clients: 1 + chance.below(4),
    activeMs: chance.between(2_000, 15_000),
    clientPauseMsMax: chance.pick([20, 100, 400]),
    faultPauseMsMax: chance.pick([200, 800, 2_000]),
    // Every fault must be cleared from time to time.
    faults: { ...faults, start: WEIGHTS.start, heal: WEIGHTS.heal },
    nodes,
    failovers: hasCopy(topology) ? failoversOf(String(seed), chance, hasTwoCopies) : [],
    hasFilterStorms: new Chance(`${seed} filter storms`).happens(0.5),
    hasCalmFailover: hasCopy(topology) && new Chance(`${seed} calm failover`).happens(0.6),
    hasRepromotion: hasCopy(topology) && new Chance(`${seed} promoted again`).happens(0.5),
    hasResyncFaults:
      isSingle && resyncsInSteps({ topology, settings }) && new Chance(`${seed} resyncs disturbed`).happens(0.7),
    hasOvertakenWrite: isSingle && topology === 'both' && new Chance(`${seed} overtaken write`).happens(0.3),
    hasOlderDisk: isSingle && hasCopy(topology) && new Chance(`${seed} older disk`).happens(0.3),
    hasStatusReads: new Chance(`${seed} status asked`).happens(0.6),
    hasBitFlips: new Chance(`${seed} bits turned`).happens(0.3),
  }
}

/** Half of the forced failovers promote a copy that is behind, or ask the copy without force. */
const failoversOf = (seed: string, chance: Chance, hasTwoCopies: boolean): readonly FailoverName[] => {
  const kinds = new Chance(`${seed} kinds of failovers`)
  const drawn = Array.from({ length: chance.pick([0, 1, 1, 1, 2, 2]) }, () => {
    const name = chance.pick(['planned', 'forced'] as const)
    return name === 'planned' ? name : kinds.pick(['forced', 'forced', 'lagging', 'lagging', 'unforced'] as const)
  })
  return hasTwoCopies ? ['double', ...drawn.slice(1)] : drawn
}
