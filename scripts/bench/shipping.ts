import { performance } from 'node:perf_hooks'
import { systemClock } from '../../src/base/clock.js'
import { statusOf } from '../../src/lab/requests/replication.js'
import type { Generator, Work } from './load/generator.js'
import { cpuMs } from './machine.js'
import { waitUntil } from './position.js'
import type { BenchServer } from './servers.js'

/** A primary and its secondaries. */
export interface Fleet {
  readonly primary: BenchServer
  readonly secondaries: readonly BenchServer[]
}

export interface Shipped {
  readonly entries: number
  /** Entries per second while clients write. */
  readonly rate: number
  /** Processor time of the primary for one entry, from the request until every secondary has it. */
  readonly cpuMicros: number
  /** The same for all secondaries together. */
  readonly secondaryMicros: number
}

const POLL_MS = 10

/**
 * Lets clients write, waits until every secondary has all entries, and returns the processor time per entry. The result
 * includes the processor time of a server without requests, such as the time for heartbeats.
 */
export const measureShipping = async (
  generator: Generator,
  fleet: Fleet,
  work: Work,
  load: { readonly connections: number; readonly seconds: number },
): Promise<Shipped> => {
  const { primary } = fleet
  const first = await lastShipped(primary)
  const before = cpuMs(primary.pid)
  const takenBefore = cpuOf(fleet.secondaries)
  const { rate, answersInAll } = await generator.load({ ...work, warmupSeconds: 0 }, load.connections, load.seconds)
  const last = first + answersInAll
  for (const secondary of fleet.secondaries) {
    await waitUntil(`${secondary.name} to have all entries`, async () => (await lastTaken(secondary)) >= last, POLL_MS)
  }
  const spentMs = cpuMs(primary.pid) - before
  const takenMs = cpuOf(fleet.secondaries) - takenBefore
  const entries = (await lastShipped(primary)) - first
  return { entries, rate, cpuMicros: (spentMs * 1000) / entries, secondaryMicros: (takenMs * 1000) / entries }
}

const cpuOf = (servers: readonly BenchServer[]): number => servers.reduce((sum, { pid }) => sum + cpuMs(pid), 0)

/** Returns the share of one processor that the primary uses without writes. */
export const restingShare = async ({ primary }: Fleet, seconds: number): Promise<number> => {
  const before = cpuMs(primary.pid)
  const startMs = performance.now()
  await systemClock.sleep(seconds * 1000)
  return (cpuMs(primary.pid) - before) / (performance.now() - startMs)
}

const lastShipped = async (primary: BenchServer): Promise<number> =>
  Number((await statusOf(primary.client(), 'performance')).last_performance_wal)

const lastTaken = async (secondary: BenchServer): Promise<number> =>
  Number((await statusOf(secondary.client(), 'performance')).last_remote_wal)
