import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf, WriteLoad } from '../support/load.js'
import { untilTrimmed } from '../support/log-reach.js'
import { watchStatus } from '../support/repeat.js'

/**
 * A secondary whose position is trimmed from the log of its primary resyncs by comparing trees under continuous writes.
 */
const RETENTION = 16
const OLD_KEYS = 2000
const MISSED_WRITES = 600
const CHANGED_OLD_KEYS = 100
const ANSWER_MS_MAX = 5000

const clusters = openClusters()
let primary: Cluster
let cut: { readonly [kind in Kind]: Cluster }

beforeAll(async () => {
  const settings = { wal_retention_entries: RETENTION }
  primary = await clusters.add('A', { settings, hasLink: true })
  cut = { dr: await clusters.add('B', { settings }), performance: await clusters.add('C', { settings }) }
  await primary.client.write('sys/mounts/load', { type: 'kv', options: { version: '1' } })
  await forEachOf(Array(OLD_KEYS).keys(), 16, async (index) => {
    await primary.client.write(`load/old/${index}`, { value: `old ${index}` })
  })
  await clusters.join(primary, cut.performance, 'performance')
  await clusters.join(primary, cut.dr, 'dr')
})

it.each<Kind>(['dr', 'performance'])(
  'a %s secondary resyncs by merkle-diff and merkle-sync during writes',
  async (kind) => {
    const secondary = cut[kind]
    const load = new WriteLoad({
      client: primary.client,
      writers: 4,
      pathOf: (index) => `load/${kind}/${index}`,
      bodyOf: (index) => ({ value: index }),
    })
    const other: Kind = kind === 'dr' ? 'performance' : 'dr'
    const lastWal = async () => Number((await primary.status(kind)).last_wal)

    primary.link.partition()
    await secondary.until('notice the cut', async () => {
      const { connection_state } = await secondary.status(kind)
      return connection_state === 'ready' ? 'it is still ready' : undefined
    })
    const rootAtCut = (await secondary.status(kind)).merkle_root
    load.start()
    await primary.until('accept writes meanwhile', async () => {
      const missing = MISSED_WRITES - load.acknowledged.size
      return missing <= 0 ? undefined : `${missing} writes are missing`
    })
    for (let index = 0; index < CHANGED_OLD_KEYS; index++) {
      await primary.client.write(`load/old/${index * 3}`, { value: `changed while ${kind} was cut` })
      if (index % 2 === 0) await primary.client.delete(`load/old/${index * 3 + 1}`)
    }
    expect((await secondary.status(kind)).merkle_root, 'nothing arrives through a cut link').toBe(rootAtCut)

    await untilTrimmed(primary, Number((await secondary.status(kind)).last_remote_wal))

    const seen = watchStatus(secondary, kind)
    const seenAbove = watchStatus(primary, kind)
    await hold(secondary, kind, 'merkle-diff')
    const writtenBefore = load.acknowledged.size
    const healedMs = systemClock.monotonic()
    primary.link.heal()
    await passThrough(secondary, kind, 'merkle-diff', 'merkle-sync')
    await passThrough(secondary, kind, 'merkle-sync')
    await secondary.untilStatus(kind, { state: 'stream-wals', connection_state: 'ready' })
    const streamedMs = systemClock.monotonic() - healedMs
    expect([...seen.states.keys()]).toEqual(expect.arrayContaining(['merkle-diff', 'merkle-sync', 'stream-wals']))
    const writtenMeanwhile = load.acknowledged.size - writtenBefore
    await load.stop()
    await clusters.untilReplicated(primary, secondary, kind)
    await clusters.untilReplicated(primary, cut[other], other)
    await Promise.all([seen.stop(), seenAbove.stop()])

    expect([...seen.failures, ...seenAbove.failures], 'status answers throughout').toEqual([])
    expect(seen.slowestMs).toBeLessThan(ANSWER_MS_MAX)
    expect(writtenMeanwhile, 'writes went on').toBeGreaterThan(0)
    expect(load.refusals.size, [...load.refusals.keys()].join()).toBe(0)
    expect((await secondary.status(kind)).mode).toBe('secondary')
    if (kind === 'performance') await expectData(secondary, load.acknowledged)
    console.log(
      `${kind}: ${load.acknowledged.size} writes, ${await lastWal()} entries in all with ${RETENTION} kept; ` +
        `${writtenMeanwhile} writes in the ${Math.round(streamedMs)} ms from healing to stream-wals; ` +
        `states: ${[...seen.states].map(([state, count]) => `${state} ${count}`).join(', ')}; ` +
        `${seen.count + seenAbove.count} status reads, slowest ${Math.round(Math.max(seen.slowestMs, seenAbove.slowestMs))} ms`,
    )
  },
)

type SyncState = 'merkle-diff' | 'merkle-sync'

const hold = ({ anonymous }: Cluster, kind: Kind, state: SyncState) =>
  anonymous.call('POST', '/_understudy/v1/states/hold', { body: { state, kind } })

/** Waits until the secondary is held at a state, and releases it. `next` is held before. */
const passThrough = async (secondary: Cluster, kind: Kind, state: SyncState, next?: SyncState): Promise<void> => {
  await secondary.untilStatus(kind, { state })
  if (next) await hold(secondary, kind, next)
  await secondary.anonymous.call('POST', '/_understudy/v1/states/release', { body: { state, kind } })
}

const expectData = async (secondary: Cluster, acknowledged: ReadonlySet<number>): Promise<void> => {
  const wrong: string[] = []
  const check = async (path: string, wanted: unknown) => {
    const answer = await secondary.client.send('GET', path)
    const value = (answer.json?.data as { value?: unknown } | null | undefined)?.value
    if (value !== wanted) wrong.push(`${path}: ${answer.status} ${JSON.stringify(value)}`)
  }
  await forEachOf(acknowledged, 16, (index) => check(`load/performance/${index}`, index))
  await forEachOf(Array(CHANGED_OLD_KEYS).keys(), 16, async (index) => {
    await check(`load/old/${index * 3}`, 'changed while performance was cut')
    if (index % 2 === 0) await check(`load/old/${index * 3 + 1}`, undefined)
    await check(`load/old/${index * 3 + 2}`, `old ${index * 3 + 2}`)
  })
  expect(wrong).toEqual([])
}
