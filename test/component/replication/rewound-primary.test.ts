import { afterEach, expect, test } from 'vitest'
import { createSystemRandom } from '../../../src/base/random.js'
import type { Kind } from '../../../src/replication/model/types.js'
import { fillEngine } from '../../../src/server/data/cluster-image.js'
import { beginStoreAt } from '../../../src/storage/commit/load.js'
import type { Entry } from '../../../src/storage/engine/engine.js'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import {
  changeSecondary,
  type ControlCluster,
  issueToken,
  joinSet,
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
const describe = async (cluster: ControlCluster, isHeld: boolean) =>
  (await cluster.replication.losses(isHeld)).map(({ reason, entries }) => ({
    reason,
    paths: entries.map(({ path, operation }) => `${operation} ${path}`),
  }))
const lostOn = (cluster: ControlCluster) => describe(cluster, false)
const heldOn = (cluster: ControlCluster) => describe(cluster, true)

const SURPLUS = {
  reason: 'ahead of the primary, which was restored to an earlier state',
  paths: ['put secret/x', 'put secret/y', 'put secret/z'],
}

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
  return { a, b, token, restore }
}

/** Starts a primary with a DR copy and a performance secondary, and copies the disk of the primary. */
const startBoth = async () => {
  const [a, b, c] = [await world.start('a'), await world.start('b'), await world.start('c')]
  await a.change('replication/performance/primary/enable')
  await a.change('replication/dr/primary/enable')
  await joinSet(b, 'dr', a, 'b')
  await joinSet(c, 'performance', a, 'c')
  await a.writeValue(key('both'), 'on all')
  await Promise.all([untilStreaming(b, 'dr', a), untilStreaming(c, 'performance', a)])
  const restore = await copyDisk(a)
  return { a, b, c, restore }
}

/** Starts a primary with a DR copy and a performance secondary. Both have more writes than the primary, whose disk is older. */
const startAllAhead = async (writesOfBoth: readonly string[], writesOfC: readonly string[] = []) => {
  const { a, b, c, restore } = await startBoth()
  for (const name of writesOfBoth) await a.writeValue(key(name), 'acknowledged')
  await untilStreaming(b, 'dr', a)
  b.network.down()
  for (const name of writesOfC) await a.writeValue(key(name), 'acknowledged')
  await untilStreaming(c, 'performance', a)
  c.network.down()
  await restore()
  for (const { network } of [b, c]) network.isDown = false
  await Promise.all([untilStopped(b, 'dr'), untilStopped(c, 'performance')])
  return { a, b, c }
}

/** Starts a primary whose disk is put back in time before a failover, and which then writes entries at the same indexes. */
const startOvertaken = async (beforePromotion: (b: ControlCluster) => Promise<void> = async () => undefined) => {
  const [a, b] = await world.startPair('dr', 'b')
  await a.writeValue(key('both'), 'on both')
  await untilStreaming(b, 'dr', a)
  const restore = await copyDisk(a)
  for (let n = 1; n <= 20; n++) await a.writeValue(key(`n${n}`), 'acknowledged')
  await untilStreaming(b, 'dr', a)
  b.network.down()
  await beforePromotion(b)
  await promoteDr(b)
  await restore()
  for (const name of ['late1', 'late2']) await a.writeValue(key(name), 'after the copy was put back')
  b.network.isDown = false
  return { a, b }
}

const untilStopped = (cluster: ControlCluster, kind: Kind) =>
  until(() => {
    const { state, connection_state } = cluster.status(kind)
    return state === 'idle' && connection_state === 'shutdown'
  })

test.each(['dr', 'performance'] as const)(
  'a %s secondary ahead of its primary in the same epoch holds its surplus, which is lost only by a forced recovery',
  async (kind) => {
    const { a, b, token } = await startRewound(kind)
    await untilStopped(b, kind)
    expect(b.readValue(key('z'))).toBe('acknowledged')
    expect([await heldOn(b), await lostOn(b)]).toEqual([[SURPLUS], []])
    const { ahead } = b.replication.view
    expect(ahead).toMatchObject({ primaryIndex: a.store.position.index, commonIndex: a.store.position.index })
    expect(Number(ahead?.index)).toBeGreaterThan(Number(ahead?.commonIndex))

    await b.restart()
    expect(b.status(kind)).toMatchObject({ mode: 'secondary', state: 'idle', connection_state: 'shutdown' })
    expect([await heldOn(b), await lostOn(b)]).toEqual([[SURPLUS], []])
    expect(await refusalOf(b.post(recoverPath(kind), token))).toContain('ahead of its primary')

    await b.change(recoverPath(kind), { ...token, force: true })
    await untilStreaming(b, kind, a)
    expect(b.readValue(key('z'))).toBeUndefined()
    expect(b.replication.view.ahead).toBeUndefined()
    expect([await heldOn(b), await lostOn(b)]).toEqual([[], [SURPLUS]])
  },
)

test('a rewound primary is detected even if it has written beyond the index of its secondary', async () => {
  const { b } = await startRewound('dr', async (a) => {
    for (let n = 0; n < 9; n++) await a.writeValue(key(`new-${n}`), 'after the copy was put back')
  })
  await untilStopped(b, 'dr')
  expect(await heldOn(b)).toEqual([SURPLUS])
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
  expect([await heldOn(b), await lostOn(b)], 'nothing is lost').toEqual([[], []])
  await until(() => a.replication.view.fence !== undefined)
  await demoteAndFollow(a, b, 'dr-a')
  expect(a.readValue(key('z'))).toBe('acknowledged')
  expect(await lostOn(a)).toEqual([{ reason: 'not replicated before the failover', paths: ['put secret/new'] }])
})

test('a promoted secondary that was ahead lists its surplus when it follows the rewound primary after all', async () => {
  const { a, b } = await startRewound('dr')
  await untilStopped(b, 'dr')
  await promoteDr(b)
  await b.writeValue(key('own'), 'after the promotion')
  await demoteAndFollow(b, a, 'again')
  expect(b.readValue(key('z'))).toBeUndefined()
  expect(await lostOn(b)).toEqual([
    { reason: 'not replicated before the failover', paths: [...SURPLUS.paths, 'put secret/own'] },
  ])
})

test.each([false, true])(
  'a former primary lists writes that replaced replicated ones on its older disk (restart of its successor: %s)',
  async (restarts) => {
    const { a, b } = await startOvertaken(async (b) => {
      if (restarts) await b.restart()
    })
    await demoteAndFollow(a, b, 'dr-a')
    expect(a.readValue(key('n1'))).toBe('acknowledged')
    expect(a.readValue(key('late1'))).toBeUndefined()
    expect(await lostOn(a)).toEqual([
      { reason: 'not replicated before the failover', paths: ['put secret/late1', 'put secret/late2'] },
    ])
  },
)

test('a performance secondary lists writes of an older disk of its primary that replaced replicated ones', async () => {
  const { a, b, c, restore } = await startBoth()
  c.network.down()
  for (let n = 1; n <= 5; n++) await a.writeValue(key(`n${n}`), 'acknowledged')
  await untilStreaming(b, 'dr', a)
  b.network.down()
  await restore()
  c.network.isDown = false
  for (let n = 1; n <= 5; n++) await a.writeValue(key(`late${n}`), 'after the copy was put back')
  await untilStreaming(c, 'performance', a)
  await promoteDr(b)
  b.network.isDown = false
  await changeSecondary(c, 'performance', 'update-primary', { token: await issueToken(b, 'performance', 'c-again') })
  await untilStreaming(c, 'performance', b)
  expect(c.readValue(key('late1'))).toBeUndefined()
  expect(await lostOn(c)).toMatchObject([{ paths: [1, 2, 3, 4, 5].map((n) => `put secret/late${n}`) }])
})

test('a secondary of a primary that is rewound twice to the same position lists both losses', async () => {
  const { a, b, token, restore } = await startRewound('dr')
  await untilStopped(b, 'dr')
  await b.change(recoverPath('dr'), { ...token, force: true })
  await untilStreaming(b, 'dr', a)
  await a.writeValue(key('again'), 'acknowledged')
  await untilStreaming(b, 'dr', a)
  await restore()
  await untilStopped(b, 'dr')
  expect(await lostOn(b)).toEqual([SURPLUS])
  expect(await heldOn(b)).toMatchObject([{ paths: ['put secret/again'] }])
})

test('a performance secondary that is ahead follows the promoted copy with the same data, and lists no loss', async () => {
  const { b, c } = await startAllAhead(['x', 'y', 'z'])
  expect([await heldOn(b), await heldOn(c)]).toEqual([[SURPLUS], [SURPLUS]])
  await promoteDr(b)
  await untilStreaming(c, 'performance', b)
  expect(c.replication.view.ahead).toBeUndefined()
  expect(c.readValue(key('z'))).toBe('acknowledged')
  expect(await Promise.all([b, c].flatMap((one) => [heldOn(one), lostOn(one)]))).toEqual([[], [], [], []])
  await b.writeValue(key('later'), 'after the promotion')
  await untilStreaming(c, 'performance', b)
  expect(c.readValue(key('later'))).toBe('after the promotion')
})

test('a restarted performance secondary that is ahead follows the promoted copy', async () => {
  const { b, c } = await startAllAhead(['x', 'y', 'z'])
  await c.restart()
  expect(c.status('performance')).toMatchObject({ state: 'idle', connection_state: 'shutdown' })
  await promoteDr(b)
  await untilStreaming(c, 'performance', b)
  expect([await heldOn(c), await lostOn(c)]).toEqual([[], []])
})

test('a performance secondary lists only the entries of its surplus that the promoted copy lacks', async () => {
  const { b, c } = await startAllAhead(['x', 'y'], ['z'])
  await promoteDr(b)
  await untilStreaming(c, 'performance', b)
  expect(['x', 'y', 'z'].map((name) => c.readValue(key(name)))).toEqual(['acknowledged', 'acknowledged', undefined])
  expect(await heldOn(c)).toEqual([])
  expect(await lostOn(c)).toMatchObject([{ paths: ['put secret/z'] }])
})

test('a restarted DR copy lists the surplus from its own log', async () => {
  const { b } = await startRewound('dr')
  await b.restart()
  await untilStopped(b, 'dr')
  const [loss, ...more] = await heldOn(b)
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
