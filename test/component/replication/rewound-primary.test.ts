import { afterEach, expect, test } from 'vitest'
import { createSystemRandom } from '../../../src/base/random.js'
import type { Kind } from '../../../src/replication/model/types.js'
import { fillEngine } from '../../../src/server/data/cluster-image.js'
import { beginStoreAt } from '../../../src/storage/commit/load.js'
import type { Entry } from '../../../src/storage/engine/engine.js'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import {
  type ControlCluster,
  issueToken,
  openWorld,
  operationToken,
  promoteDr,
  refusalOf,
  untilStreaming,
  demoteAndFollow,
} from '../../support/control-cluster.js'
import {
  openStore,
  put,
  stopAll,
  stopLater,
  TestFollower,
  TestPrimary,
  TestSet,
} from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

/** A primary whose disk is an older copy: it has lost writes that its secondaries have acknowledged. */

afterEach(stopAll)

const world = openWorld()

const key = (name: string) => `logical/m1/${name}`
const paths = async (cluster: ControlCluster) =>
  (await cluster.replication.losses()).map(({ reason, entries }) => ({
    reason,
    paths: entries.map(({ path, operation }) => `${operation} ${path}`),
  }))

const REASON = 'ahead of the primary, which was rewound'

const recoverPath = (kind: Kind) => (kind === 'dr' ? 'replication/dr/secondary/recover' : 'replication/recover')

/** Copies all data on the disk. The returned function restores it, as an operator restores an older copy of a disk. */
const copyDisk = async ({ server: { host } }: ControlCluster): Promise<() => Promise<void>> => {
  const copy: Entry[] = []
  for await (const chunk of host.engine.scan({})) copy.push(...chunk)
  const chunks = async function* () {
    yield copy
  }
  return () =>
    host.moveData('a test puts a copy back', async () => {
      const source = openMemoryGenerations()
      await fillEngine(source.engine, chunks())
      return source
    })
}

/** Starts a primary, and a secondary with three more writes than the primary. */
const startRewound = async (
  kind: Kind,
  meanwhile: (primary: ControlCluster) => Promise<void> = async () => undefined,
) => {
  const [a, b] = await world.startPair(kind, 'b')
  await a.writeValue(key('both'), 'on both')
  await untilStreaming(b, kind, a)
  const restore = await copyDisk(a)
  for (const name of ['x', 'y', 'z']) await a.writeValue(key(name), 'acknowledged')
  await untilStreaming(b, kind, a)
  b.network.down()
  await restore()
  await meanwhile(a)
  b.network.isDown = false
  const token = kind === 'dr' ? { dr_operation_token: await operationToken(b) } : {}
  return { a, b, token }
}

const untilStopped = (cluster: ControlCluster, kind: Kind) =>
  until(() => {
    const { state, connection_state } = cluster.status(kind)
    return state === 'idle' && connection_state === 'shutdown'
  })

test.each(['dr', 'performance'] as const)(
  'a %s secondary ahead of its primary in the same epoch stops, keeps its surplus and lists it',
  async (kind) => {
    const { a, b, token } = await startRewound(kind)
    await untilStopped(b, kind)
    expect(b.readValue(key('z'))).toBe('acknowledged')
    expect(await paths(b)).toEqual([{ reason: REASON, paths: ['put secret/x', 'put secret/y', 'put secret/z'] }])
    const { ahead } = b.replication.view
    expect(ahead).toMatchObject({ primaryIndex: a.store.position.index, commonIndex: a.store.position.index })
    expect(Number(ahead?.index)).toBeGreaterThan(Number(ahead?.commonIndex))

    await b.restart()
    expect(b.status(kind)).toMatchObject({ mode: 'secondary', state: 'idle', connection_state: 'shutdown' })
    expect(await refusalOf(b.post(recoverPath(kind), token))).toContain('ahead of its primary')

    await b.change(recoverPath(kind), { ...token, force: true })
    await untilStreaming(b, kind, a)
    expect(b.readValue(key('z'))).toBeUndefined()
    expect(b.replication.view.ahead).toBeUndefined()
    expect(await paths(b)).toHaveLength(1)
  },
)

test('a rewound primary is detected even if it has written beyond the index of its secondary', async () => {
  const { b } = await startRewound('dr', async (a) => {
    for (let n = 0; n < 9; n++) await a.writeValue(key(`new-${n}`), 'after the copy was put back')
  })
  await untilStopped(b, 'dr')
  expect(await paths(b)).toEqual([{ reason: REASON, paths: ['put secret/x', 'put secret/y', 'put secret/z'] }])
  expect(b.readValue(key('new-1'))).toBeUndefined()
})

test.each(['dr', 'performance'] as const)(
  'a %s secondary ahead of its primary rejects addresses of it, and a new token changes nothing',
  async (kind) => {
    const { a, b, token } = await startRewound(kind)
    await untilStopped(b, kind)
    const path = `replication/${kind}/secondary/update-primary`
    const addresses = { update_primary_addrs: [`https://${a.listener.address}`] }
    expect(await refusalOf(b.post(path, { ...token, ...addresses }))).toContain('this cluster is ahead of its primary')
    const answer = await b.change(path, { ...token, token: await issueToken(a, kind, 'again') })
    expect(answer?.warnings?.[1]).toMatch(/Until this is resolved, the cluster follows no primary/)
    await untilStopped(b, kind)
    expect(b.replication.view.ahead).toBeDefined()
  },
)

test('a forced reindex resumes a secondary that is ahead, like a forced recovery', async () => {
  const { a, b, token } = await startRewound('dr')
  await untilStopped(b, 'dr')
  await b.change('replication/dr/secondary/reindex', { ...token, force: true })
  await untilStreaming(b, 'dr', a)
})

test('a secondary that is ahead can be promoted, and the rewound primary lists its later writes', async () => {
  const { a, b } = await startRewound('dr', (a) => a.writeValue(key('new'), 'after the copy was put back'))
  await untilStopped(b, 'dr')
  await promoteDr(b)
  expect(b.readValue(key('z'))).toBe('acknowledged')
  await until(() => a.replication.view.fence !== undefined)
  await demoteAndFollow(a, b, 'dr-a')
  expect(a.readValue(key('z'))).toBe('acknowledged')
  expect(await paths(a)).toEqual([{ reason: 'not replicated before the failover', paths: ['put secret/new'] }])
})

test('a restarted DR copy lists the surplus from its own log', async () => {
  const { b } = await startRewound('dr')
  await b.restart()
  await untilStopped(b, 'dr')
  const [loss, ...more] = await paths(b)
  expect(more).toEqual([])
  expect(loss?.paths).toEqual(['put secret/x', 'put secret/y', 'put secret/z'])
})

test('followers resync from a primary that restored a snapshot, whose log continues after the old one', async () => {
  const a = await openStore()
  const b = await openStore()
  await put(a, key('kept'), 'in the snapshot')
  const set = await TestSet.create()
  const before = await TestPrimary.start({ kind: 'dr', store: a, set })
  const secondary = await TestFollower.start({ kind: 'dr', store: b, set, id: 's', primary: before })
  stopLater(secondary.follower)
  await put(a, key('later'), 'written after the snapshot was taken')
  await secondary.caughtUp(a, 'dr')
  const { address } = before.listener
  await before.stop()

  const engine = new MemoryEngine()
  await beginStoreAt(engine, createSystemRandom(), { index: a.position.index + 1, epoch: 'epoch-1' })
  const restored = await openStore(engine)
  await put(restored, key('kept'), 'in the snapshot')
  const after = stopLater(await TestPrimary.start({ kind: 'dr', store: restored, set, address }))
  after.registered.add('s')
  await secondary.caughtUp(restored, 'dr')
  expect(b.get(key('later'))).toBeUndefined()
  expect(secondary.surplus).toEqual([])
})
