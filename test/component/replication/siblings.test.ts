import { expect, test } from 'vitest'
import {
  type ControlCluster,
  issueToken,
  joinSet,
  LOCAL_KEY,
  openWorld,
  operationToken,
  promoteDr,
  refusalOf,
  untilStreaming,
  demoteAndFollow,
} from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

const world = openWorld()

/** A lost performance secondary and its DR copy. */

test('entries that the performance primary still has are not listed as lost with its secondary', async () => {
  const a = await world.start('a')
  const c = await world.start('c')
  const d = await world.start('d')
  await a.change('replication/performance/primary/enable')
  await joinSet(c, 'performance', a, 'c')
  await c.change('replication/dr/primary/enable')
  await joinSet(d, 'dr', c, 'd')
  d.network.down()
  await a.writeValue('logical/m1/shared', 'on the primary')
  await untilStreaming(c, 'performance', a)
  await c.writeValue(LOCAL_KEY, 'on c alone')
  await promoteDr(d)
  d.network.isDown = false
  await untilStreaming(d, 'performance', a)
  await demoteAndFollow(c, d, 'c')
  const entries = (await c.replication.losses()).flatMap((loss) => loss.entries)
  expect(entries.map(({ path }) => path)).toEqual([LOCAL_KEY])
  expect(d.readValue('logical/m1/shared')).toBe('on the primary')
})

/** Two promoted DR copies of one parent. */

const key = (name: string) => `logical/m1/${name}`
const epochOf = ({ store }: ControlCluster): string => store.epoch
const lost = async (cluster: ControlCluster) =>
  (await cluster.replication.losses()).flatMap(({ entries }) => entries.map(({ path }) => path.replace('secret/', '')))

/**
 * Promotes both copies of a parent. B has two more entries of the parent than D, and each has its own writes. `lesser`
 * has the lesser epoch. With `isLesserDeaf`, it sends no requests, and learns of the other one only from its callers.
 */
const siblings = async ({
  isParentAlive,
  isLesserUnaware = false,
}: {
  isParentAlive: boolean
  isLesserUnaware?: boolean
}) => {
  const a = await world.start('a')
  const b = await world.start('b')
  const d = await world.start('d')
  await a.change('replication/performance/primary/enable')
  await a.change('replication/dr/primary/enable')
  await joinSet(b, 'dr', a, 'b')
  await joinSet(d, 'dr', a, 'd')
  await a.writeValue(key('both'), 'on both')
  await Promise.all([untilStreaming(b, 'dr', a), untilStreaming(d, 'dr', a)])
  d.network.down()
  for (const name of ['lead-0', 'lead-1']) await a.writeValue(key(name), 'on b, not on d')
  await untilStreaming(b, 'dr', a)
  b.network.down()
  await a.writeValue(key('only-a'), 'only on a')
  if (!isParentAlive) await world.lose(a)
  await promoteDr(b)
  await promoteDr(d)
  for (const name of ['b-0', 'b-1', 'b-2']) await b.writeValue(key(name), 'own of b')
  for (const name of ['d-0', 'd-1']) await d.writeValue(key(name), 'own of d')
  const [lesser, greater] = epochOf(b) < epochOf(d) ? [b, d] : [d, b]
  greater.network.isDown = false
  lesser.network.isDown = isLesserUnaware
  return { a, b, d, lesser, greater }
}

const ofB = ['lead-0', 'lead-1', 'b-0', 'b-1', 'b-2']

test('promoted siblings learn of each other from their parent, and the one with the lesser epoch is fenced', async () => {
  const { a, b, d } = await siblings({ isParentAlive: true })
  await until(() => b.replication.view.fence !== undefined || d.replication.view.fence !== undefined)
  const [winner, loser, own] = b.replication.view.fence ? [d, b, ofB] : [b, d, ['d-0', 'd-1']]
  expect(winner.replication.view.fence).toBeUndefined()
  expect(loser.replication.view.fence).toMatchObject({ by: { clusterId: winner.clusterId } })
  const { entries: accepted } = await loser.replication.acceptedSinceFence()
  expect(accepted.map(({ path }) => path.replace('secret/', ''))).toEqual(own)
  await until(() => a.replication.view.fence?.by?.clusterId === winner.clusterId)
})

test.each(['b', 'd'] as const)('a sibling that yields lists all its entries since the fork: %s', async (name) => {
  const { b, d } = await siblings({ isParentAlive: false })
  const [loser, winner, own] = name === 'b' ? ([b, d, ofB] as const) : ([d, b, ['d-0', 'd-1']] as const)
  await demoteAndFollow(loser, winner, 'again')
  expect(await lost(loser)).toEqual(own)
  expect(await lost(winner)).toEqual([])
  expect(loser.readValue(key('both'))).toBe('on both')
})

test('a fenced sibling continues with a newer epoch when the other one is made to follow it', async () => {
  const { a, b, d } = await siblings({ isParentAlive: true })
  await until(() => b.replication.view.fence !== undefined || d.replication.view.fence !== undefined)
  const [winner, loser] = b.replication.view.fence ? [d, b] : [b, d]
  await demoteAndFollow(winner, loser, 'again')
  expect(await lost(winner)).toEqual(winner === b ? ofB : ['d-0', 'd-1'])
  expect(loser.replication.view.fence).toBeUndefined()
  await until(() => a.replication.view.fence?.by?.clusterId === loser.clusterId)
})

/** Starts siblings whose lesser one has learned nothing; the greater one has overtaken their parent. */
const startUnaware = async () => {
  const { a, lesser, greater } = await siblings({ isParentAlive: true, isLesserUnaware: true })
  await until(() => a.replication.view.fence?.by?.clusterId === greater.clusterId)
  expect(lesser.replication.view.fence).toBeUndefined()
  return { a, lesser, greater }
}

test('the greater sibling can follow the lesser one after their parent has announced the greater one', async () => {
  const { a, lesser, greater } = await startUnaware()
  expect(await refusalOf(demoteAndFollow(a, lesser, 'a'))).toContain('this primary is fenced')
  await demoteAndFollow(greater, lesser, 'again')
  expect(lesser.replication.view.fence).toBeUndefined()
  const dr_operation_token = await operationToken(a)
  const token = await issueToken(lesser, 'dr', 'a')
  await a.change('replication/dr/secondary/update-primary', { dr_operation_token, token })
  await untilStreaming(a, 'dr', lesser)
  await untilStreaming(greater, 'dr', lesser)
})

test('a sibling that the greater one follows is not fenced by the record of their parent', async () => {
  const { a, lesser, greater } = await startUnaware()
  await demoteAndFollow(greater, lesser, 'again')
  await demoteAndFollow(a, lesser, 'a')
  expect(lesser.replication.view.fence).toBeUndefined()
  await untilStreaming(greater, 'dr', lesser)
})

test('a fenced sibling is rejected as a primary, and the error names its successor', async () => {
  const { a, b, d } = await siblings({ isParentAlive: true })
  await until(() => b.replication.view.fence !== undefined || d.replication.view.fence !== undefined)
  const [winner, loser] = b.replication.view.fence ? [d, b] : [b, d]
  const text = await refusalOf(demoteAndFollow(a, loser, 'a'))
  expect(text).toContain('this primary is fenced')
  expect(text).toContain(winner.apiAddress)
  const dr_operation_token = await operationToken(a)
  const token = await issueToken(winner, 'dr', 'a')
  await a.change('replication/dr/secondary/update-primary', { dr_operation_token, token })
  await untilStreaming(a, 'dr', winner)
  expect(await lost(a)).toEqual(winner === b ? ['only-a'] : ['lead-0', 'lead-1', 'only-a'])
})

test('a follower of a lost sibling lists the entries it had from it when it follows the other sibling', async () => {
  const a = await world.start('a')
  const b = await world.start('b')
  const d = await world.start('d')
  await a.change('replication/dr/primary/enable')
  await joinSet(b, 'dr', a, 'b')
  await joinSet(d, 'dr', a, 'd')
  d.network.down()
  b.network.down()
  await a.writeValue(key('only-a'), 'only on a')
  await promoteDr(b)
  await b.writeValue(key('b-0'), 'before a joined')
  await demoteAndFollow(a, b, 'a')
  await b.writeValue(key('b-1'), 'after a had joined')
  await untilStreaming(a, 'dr', b)
  await world.lose(b)
  await promoteDr(d)
  d.network.isDown = false
  const dr_operation_token = await operationToken(a)
  const token = await issueToken(d, 'dr', 'a')
  await a.change('replication/dr/secondary/update-primary', { dr_operation_token, token })
  await untilStreaming(a, 'dr', d)
  expect(await a.replication.losses()).toMatchObject([
    { reason: 'not replicated before the failover', entries: [{ path: 'secret/only-a' }] },
    { reason: expect.stringContaining('the list is not complete'), entries: [{ path: 'secret/b-1' }] },
  ])
})
