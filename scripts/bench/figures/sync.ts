import { performance } from 'node:perf_hooks'
import { statusOf } from '../../../src/lab/requests/replication.js'
import { attach, becomePrimary, mountEngines, setUpAppRole, waitForReplication, requestsOf } from '../clusters.js'
import { fillStopped } from '../load/fill.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { residentMb } from '../machine.js'
import { lastIndex, waitUntil } from '../position.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'
import { Yardsticks } from './yardsticks.js'

const CONNECTIONS = 64

/** Figure 10: the first copy of many keys to a new secondary, without and with writes of clients. */
export const measureSync = async (bench: Bench): Promise<undefined> => {
  const yardsticks = new Yardsticks(bench.generator, bench.dist)
  try {
    const keys = bench.syncKeys
    const primary = await bench.server('primary')
    await mountEngines(primary)
    const { 'KV v1 write': write } = requestsOf(primary, await setUpAppRole(primary))
    await becomePrimary(primary)
    await fillStopped(primary, bench.dist, keys)
    const scanned = await yardsticks.rawScan(keys)
    const alone = await syncMs(primary, await bench.server('alone'))
    const copied = (keys * 1000) / alone.copyMs
    bench.add('10a', copied / scanned)
    bench.note('engine scan', scanned, 'keys/s')
    bench.note('full sync', copied, 'keys/s')
    bench.note('full sync, from the call to replicated', alone.totalMs / 1000, 's')
    bench.add('10b', await foregroundKept(bench, primary, write))
    bench.note('memory of the primary after the syncs', residentMb(primary.pid), 'MB')
  } finally {
    yardsticks.close()
  }
  return undefined
}

const syncMs = async (primary: BenchServer, secondary: BenchServer): Promise<{ copyMs: number; totalMs: number }> => {
  const startMs = performance.now()
  await attach(primary, secondary, 'performance')
  await waitUntil('the first copy to begin', () => hasBegun(secondary))
  const begunMs = performance.now()
  await waitUntil('the first copy to end', () => isStreaming(secondary))
  const copyMs = performance.now() - begunMs
  await waitForReplication(primary, secondary)
  return { copyMs, totalMs: performance.now() - startMs }
}

const hasBegun = async (secondary: BenchServer): Promise<boolean> => {
  const { mode, state, merkle_sync_progress } = await statusOf(secondary.client(), 'performance')
  const progress = merkle_sync_progress as { sync_progress?: number } | undefined
  return (progress?.sync_progress ?? 0) > 0 || (mode === 'secondary' && state === 'stream-wals')
}

const isStreaming = async (secondary: BenchServer): Promise<boolean> => {
  const { mode, state } = await statusOf(secondary.client(), 'performance')
  return mode === 'secondary' && state === 'stream-wals'
}

/** Returns the writes per second during the first copy of a new secondary, divided by the writes per second before it. */
const foregroundKept = async (bench: Bench, primary: BenchServer, write: Work): Promise<number> => {
  const secondary = await bench.server('under-load')
  await warmUp(bench.generator, write, bench.isQuick ? 2000 : 20_000)
  const { rate } = await bench.generator.load(write, CONNECTIONS, bench.seconds)
  const client = primary.client()
  let isOver = false
  const load = async () => {
    while (!isOver) await bench.generator.load({ ...write, warmupSeconds: 0 }, CONNECTIONS, 0.5)
  }
  const loading = load()
  try {
    await attach(primary, secondary, 'performance')
    await waitUntil('the first copy to begin', () => hasBegun(secondary))
    const first = await lastIndex(client)
    const startMs = performance.now()
    await waitUntil('the first copy to end', () => isStreaming(secondary), 5)
    const during = (((await lastIndex(client)) - first) * 1000) / (performance.now() - startMs)
    bench.note('writes during a full sync', during, '/s')
    return during / rate
  } finally {
    isOver = true
    await loading
  }
}
