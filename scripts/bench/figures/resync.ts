import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { createSystemRandom } from '../../../src/base/random.js'
import { Link } from '../../../src/lab/proxy/link.js'
import { statusOf } from '../../../src/lab/requests/replication.js'
import { attach, becomePrimary, mountEngines, SECRET, waitForReplication } from '../clusters.js'
import { fillStopped } from '../load/fill.js'
import { readMetrics } from '../metrics.js'
import { type Filter, type Pair, setFilter } from '../paths-filter.js'
import { lastIndex, waitUntil } from '../position.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const DIFFERING = 100
const SMALLER = 200_000
const FILTER: Filter = { mode: 'deny', paths: ['kv2/'] }

interface LinkedPair extends Pair {
  /** The proxy between both clusters. */
  readonly link: Link
}

/**
 * The cost of a resync, from the first connection until the log is streamed. Bytes are of both directions, including TLS.
 */
interface Resync {
  readonly connectBytes: number
  readonly diffBytes: number
  readonly fetchBytes: number
  readonly rounds: number
}

/**
 * Figure 11: resyncs of a secondary whose next log entry the primary has trimmed. 100 keys have changed, first of a
 * million keys, then of 200,000.
 */
export const measureResync = async (bench: Bench): Promise<undefined> => {
  await withPair(bench, 'large', bench.syncKeys, async (pair) => {
    for (let round = 0; round < roundsOf(bench); round++) {
      const found = await measureOnce(bench, pair)
      bench.add('11a', totalOf(found) / 1024)
      bench.add('11b', found.rounds)
      noteResync(bench, `${DIFFERING} of ${bench.syncKeys} keys`, found)
      await timeOnce(bench, pair, `${DIFFERING} of ${bench.syncKeys} keys`)
    }
  })
  const keys = Math.min(SMALLER, bench.syncKeys / 2)
  await withPair(bench, 'smaller', keys, async (pair) => {
    for (let round = 0; round < roundsOf(bench); round++) {
      noteResync(bench, `${DIFFERING} of ${keys} keys`, await measureOnce(bench, pair))
      await timeOnce(bench, pair, `${DIFFERING} of ${keys} keys`)
    }
    await setFilter(pair, FILTER)
    noteResync(bench, `${DIFFERING} of ${keys} keys, under a filter`, await measureOnce(bench, pair))
    await timeOnce(bench, pair, `${DIFFERING} of ${keys} keys, under a filter`)
  })
  return undefined
}

const roundsOf = (bench: Bench): number => Math.min(bench.rounds, 3)

const totalOf = ({ connectBytes, diffBytes, fetchBytes }: Resync): number => connectBytes + diffBytes + fetchBytes

const noteResync = (bench: Bench, what: string, found: Resync): void => {
  bench.note(`${what}: bytes in both directions`, totalOf(found) / 1024, 'KB')
  bench.note(`${what}: bytes until the comparison of trees`, found.connectBytes / 1024, 'KB')
  bench.note(`${what}: bytes of the comparison of trees`, found.diffBytes / 1024, 'KB')
  bench.note(`${what}: bytes of the fetched leaves and values`, found.fetchBytes / 1024, 'KB')
  bench.note(`${what}: round trips`, found.rounds, '')
}

/** The primary keeps a short log, so a secondary that disconnects has to compare trees. */
const withPair = async (bench: Bench, name: string, keys: number, use: (pair: LinkedPair) => Promise<void>) => {
  const settings = { wal_retention_entries: 16 }
  const links: Link[] = []
  const advertised = async (port: number): Promise<string> => {
    const target = { host: '127.0.0.1', port }
    const link = await Link.open({ target, clock: systemClock, random: createSystemRandom() })
    links.push(link)
    return link.address
  }
  const primary = await bench.server(`${name}-primary`, { settings, advertised })
  const secondary = await bench.server(`${name}-secondary`)
  const [link] = links
  if (!link) throw new Error('the server requested no address')
  try {
    await mountEngines(primary)
    await becomePrimary(primary)
    await fillStopped(primary, bench.dist, keys)
    await attach(primary, secondary, 'performance')
    await waitForReplication(primary, secondary)
    bench.say(`resync: ${keys} keys are on both sides`)
    await use({ primary, secondary, link })
  } finally {
    await link.close()
    await Promise.all([primary, secondary].map((server) => server.stop()))
  }
}

/** Cuts the link, and changes keys until the primary has trimmed the log entry that the secondary needs next. */
const loseStep = async (bench: Bench, { primary, link }: LinkedPair): Promise<void> => {
  await link.down()
  const client = primary.client()
  const before = await lastIndex(client)
  const write = {
    port: primary.apiPort,
    method: 'PUT',
    path: '/v1/kv1/k{n}',
    headers: { 'X-Vault-Token': primary.rootToken },
    body: JSON.stringify({ ...SECRET, changed: 'yes' }),
    spread: DIFFERING,
    answersMax: DIFFERING,
    warmupSeconds: 0,
  }
  await bench.generator.load(write, 1, 60)
  const isTrimmed = async () => ((await readMetrics(primary)).get('vault_replication_wal_gc') ?? 0) > before
  await waitUntil('the log to be trimmed', isTrimmed, 50)
}

const STEPS = ['merkle-diff', 'merkle-sync'] as const

/** Runs one resync that is held at each state, to count each state separately. */
const measureOnce = async (bench: Bench, pair: LinkedPair): Promise<Resync> => {
  const { primary, secondary, link } = pair
  await loseStep(bench, pair)
  const lab = secondary.client()
  for (const state of STEPS) await lab.call('POST', '/_understudy/v1/states/hold', { body: { state } })
  const callsBefore = await callsOf(primary)
  const counts = [bytesOf(link)]
  await link.up()
  for (const state of STEPS) {
    await waitUntil(`the secondary to be held at ${state}`, () => isHeldAt(secondary, state), 20)
    counts.push(bytesOf(link))
    await lab.call('POST', '/_understudy/v1/states/release', { body: { state } })
  }
  await waitForReplication(primary, secondary)
  counts.push(bytesOf(link))
  const [start = 0, connected = 0, compared = 0, fetched = 0] = counts
  return {
    connectBytes: connected - start,
    diffBytes: compared - connected,
    fetchBytes: fetched - compared,
    rounds: (await callsOf(primary)) - callsBefore,
  }
}

/** Runs one resync without holding it. */
const timeOnce = async (bench: Bench, pair: LinkedPair, what: string): Promise<void> => {
  const { primary, secondary, link } = pair
  await loseStep(bench, pair)
  const before = await readMetrics(secondary)
  const startMs = performance.now()
  await link.up()
  await waitForReplication(primary, secondary)
  bench.note(`${what}: from the first dial to equal roots`, performance.now() - startMs, 'ms')
  const after = await readMetrics(secondary)
  const spent = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  if (spent('vault_replication_merkleSync_count') !== 1) throw new Error(`${what}: expected exactly one resync`)
  bench.note(`${what}: from the offer to the last key stored`, spent('vault_replication_merkleSync_sum'), 'ms')
}

const bytesOf = ({ passedBytes: { up, down } }: Link): number => up + down

const isHeldAt = async (secondary: BenchServer, state: string): Promise<boolean> =>
  (await statusOf(secondary.client(), 'performance')).state === state

/** The sequential requests: the opening of the stream, and the requests of a resync. */
const CALLS = ['stream_wals', 'conflicting_pages', 'sub_page_hashes', 'fetch_keys']

const callsOf = async (primary: BenchServer): Promise<number> => {
  const metrics = await readMetrics(primary)
  const counts = CALLS.map((call) => metrics.get(`vault_replication_rpc_server_${call}_request_count`) ?? 0)
  return counts.reduce((sum, count) => sum + count, 0)
}
