import { expect, test, vi } from 'vitest'
import { type ControlCluster, issueToken, openWorld, SHARED_KEY } from '../../support/control-cluster.js'
import { sliceOf } from '../../../src/replication/primary/filter-frame.js'
import { until } from '../../support/until.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'

/** A secondary whose filter changes behind its back, or halfway, is brought in line before anything else. */

const { start, startTwo } = openWorld()

const FILTER = 'replication/performance/primary/paths-filter'
const UPDATE = 'replication/performance/secondary/update-primary'

const issue = (primary: ControlCluster, id: string) => issueToken(primary, 'performance', id)

const streams = (cluster: ControlCluster) => () => {
  const { state, connection_state } = cluster.status('performance')
  return state === 'stream-wals' && connection_state === 'ready'
}

const refusal = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error: unknown) => String(error),
  )

const promote = (cluster: ControlCluster) =>
  refusal(cluster.post('replication/performance/secondary/promote', { force: false }))

/** A primary with a value in the mount `secret/`, and a secondary `c` that the mount is kept from. */
const filteredPair = async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'filtered')
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'secret' })
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(streams(c))
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  return { a, c }
}

test('a new registration has no filter: what the old one filtered comes', async () => {
  const { a, c } = await filteredPair()
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
  await until(streams(c))
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('revoked and taken back under another id it has everything, too', async () => {
  const { a, c } = await filteredPair()
  await a.post('replication/performance/primary/revoke-secondary', { id: 'c' })
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a new registration with a filter of its own gets what only the old one filtered', async () => {
  const { a, c } = await filteredPair()
  await a.post(`${FILTER}/c2`, { mode: 'deny', paths: 'other' })
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a filter that is lifted just before a crash of the secondary is lifted after it', async () => {
  const { a, c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await a.call('delete', `${FILTER}/c`)
  await until(() => c.holds.list().some(({ isReached }) => isReached))
  expect(c.replication.context.filters.find('c')).toBeUndefined()
  expect(await promote(c)).toContain('still catching up')
  await c.restart()
  await until(() => c.holds.list().some(({ isReached }) => isReached))
  c.holds.release()
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a filter that is lifted in the instant in which a comparison is offered under it is lifted', async () => {
  const { a, c } = await filteredPair()
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  const { filters } = a.replication.context
  // What is stored can be read before those that follow the change are told of it.
  const told = vi.spyOn(filters, 'invalidate').mockImplementation(() => undefined)
  await a.call('delete', `${FILTER}/c`)
  await a.store.cutLog()
  c.network.isDown = false
  await until(() => streams(c)() && c.replication.context.filters.find('c') === undefined)
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  told.mockRestore()
  filters.invalidate(`${KEYS.filters}c`)
  await c.restart()
  await until(() => streams(c)() && c.readValue(SHARED_KEY) === 'filtered')
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('without its primary a secondary does not take a lifted filter for data', async () => {
  const { a, c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await a.call('delete', `${FILTER}/c`)
  await until(() => c.holds.list().some(({ isReached }) => isReached))
  await a.listener.close()
  await a.replication.stop()
  await c.restart()
  expect(c.replication.context.filters.find('c')).toBeUndefined()
  expect(await promote(c)).toContain('the last sync is not complete')
  await c.change('replication/performance/secondary/promote', { force: true })
  expect(await c.replication.losses()).toMatchObject([{ reason: 'sync incomplete' }])
})

test('a filtered secondary that comes back compares nothing', async () => {
  const { c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await c.restart()
  await until(streams(c))
  expect(c.holds.list()).toMatchObject([{ isReached: false }])
})

test('a mount that is moved to a path that a filter names leaves the secondary', async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'shown')
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'late' })
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(() => c.readValue(SHARED_KEY) === 'shown')
  await until(streams(c))
  await a.write('sys/remount', { from: 'secret', to: 'late' })
  await until(() => c.readValue(SHARED_KEY) === undefined)
  await until(streams(c))
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

/** Moves the mount to another namespace, as no request does. */
const moveMount = async ({ cluster: { services } }: ControlCluster, namespacePath: string, path: string) => {
  const { table, namespaces } = services
  const [entry] = table.all().filter(({ uuid }) => uuid === 'm1')
  const namespaceId = namespaces.allDecided().find((one) => one.path === namespacePath)?.id
  if (!entry || namespaceId === undefined) throw new Error(`nothing to move to ${namespacePath}`)
  await table.update(entry, (current) => ({ ...current, namespaceId, path }))
}

test('a mount that is moved out of a namespace that is filtered stays away, and a move costs no comparison', async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.write('sys/namespaces/ns1')
  await moveMount(a, 'ns1/', 'kv/')
  await a.writeValue(SHARED_KEY, 'filtered')
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'ns1' })
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(streams(c))
  c.holds.hold('performance', 'merkle-diff')
  await moveMount(a, '', 'out/')
  await a.writeValue(SHARED_KEY, 'still filtered')
  await a.writeValue('logical/other/a', 'shown')
  await until(() => c.readValue('logical/other/a') === 'shown')
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  expect(c.replication.view.ownFilter?.filteredMounts).toEqual(new Set(['m1']))
  expect((await a.call('read', `${FILTER}/c`))?.data).toEqual({ mode: 'deny', paths: ['ns1/', 'out/'] })
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
  expect(c.holds.list()).toMatchObject([{ isReached: false }])
  expect(c.replication.view.arrivingMounts.size).toBe(0)
})

test('while the data of a lifted filter is on its way its mount is arriving, and no other is', async () => {
  const { a, c } = await filteredPair()
  expect(c.replication.view.arrivingMounts.size).toBe(0)
  c.holds.hold('performance', 'merkle-diff')
  await a.call('delete', `${FILTER}/c`)
  await until(() => c.holds.list().some(({ isReached }) => isReached))
  expect(c.replication.view.arrivingMounts).toEqual(new Set(['m1']))
  await c.restart()
  expect(c.replication.view.arrivingMounts).toEqual(new Set(['m1']))
  c.holds.release()
  await until(() => c.replication.view.arrivingMounts.size === 0)
  expect(c.readValue(SHARED_KEY)).toBe('filtered')
})

test('after a promotion with force what was arriving is missing, also when the cluster is demoted later', async () => {
  const { a, c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await a.call('delete', `${FILTER}/c`)
  await until(() => c.replication.view.arrivingMounts.size === 1)
  await c.change('replication/performance/secondary/promote', { force: true })
  expect(await c.replication.losses()).toMatchObject([{ reason: 'sync incomplete' }])
  await c.writeValue(SHARED_KEY, 'written after it')
  for (const change of ['primary/demote', 'restart'] as const) {
    await (change === 'restart' ? c.restart() : c.change(`replication/performance/${change}`))
    expect(c.replication.view.arrivingMounts.size, change).toBe(0)
    expect(c.readValue(SHARED_KEY)).toBe('written after it')
  }
})

test.each(['its secondary id', 'its cluster id'])(
  'a filter by %s keeps nothing from a former primary that follows nobody, and counts again when it follows',
  async (by) => {
    const a = await start('a')
    const c = await start('c')
    const id = by === 'its cluster id' ? c.clusterId : 'c'
    await a.change('replication/performance/primary/enable')
    await a.writeValue(SHARED_KEY, 'filtered')
    await a.post(`${FILTER}/${id}`, { mode: 'deny', paths: 'secret' })
    await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
    await until(streams(c))
    await c.change('replication/performance/secondary/promote', { force: true })
    await c.writeValue(SHARED_KEY, 'written after it')
    await c.change('replication/performance/primary/demote')
    const { ownFilter, arrivingMounts } = c.replication.view
    expect([ownFilter, arrivingMounts.size, c.replication.isPurgePending]).toEqual([undefined, 0, false])
    await c.change('replication/performance/secondary/promote', { force: false })
    expect(c.readValue(SHARED_KEY)).toBe('written after it')
    expect(c.status('performance').mode).toBe('primary')
    await c.change('replication/performance/primary/demote')
    await c.change(UPDATE, { token: await issue(a, 'c2') })
    await until(streams(c))
    expect(c.readValue(SHARED_KEY)).toBe(by === 'its cluster id' ? undefined : 'filtered')
    expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
  },
)

test('what would be arriving is stranded while nobody is followed, and arrives from whoever is followed next', async () => {
  const { a, c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await a.call('delete', `${FILTER}/c`)
  await until(() => c.replication.view.arrivingMounts.size === 1)
  expect(c.replication.view.hasPrimary).toBe(true)
  await c.change(UPDATE, { token: '' })
  expect([c.replication.view.arrivingMounts.size, c.replication.view.hasPrimary]).toEqual([1, false])
  expect(await promote(c)).toContain('the last sync is not complete')
  const token = await issue(a, 'c2')
  await c.change(UPDATE, { token })
  expect([c.replication.view.arrivingMounts.size, c.replication.view.hasPrimary]).toEqual([1, true])
  c.holds.release()
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
  await until(() => c.replication.view.arrivingMounts.size === 0)
})

test('a key that was deleted behind the filter goes from the secondary, where its hash outweighs what is here', async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'deleted later')
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(() => streams(c)() && c.readValue(SHARED_KEY) === 'deleted later')
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  await a.barrier.write((tx) => tx.delete(SHARED_KEY))
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'secret' })
  // As a primary sends it that is asked for the filter after the key was deleted, and dies before the comparison.
  const filter = a.replication.context.filters.compiled('c')
  const place = c.store.remotePosition
  if (!filter || !place) throw new Error('there is no filter, or nobody was followed')
  for (const frame of (await a.store.framesAfter(place.index, 1_000_000)) ?? []) {
    const rule = { mode: 'deny' as const, paths: ['secret/'] }
    const shown = { fingerprint: filter.fingerprint, rule, shows: (key: string) => !filter.isFiltered(key) }
    const slice = sliceOf(a.store, frame, { kind: 'performance', filter: shown })
    const sent = await c.store.parseFrame(slice.frame)
    const position = { index: frame.lastIndex, hash: frame.hash, epoch: place.epoch }
    expect(await c.store.applyEntries(sent ? c.store.decodeFrame(sent) : [], position)).toBe(true)
  }
  expect(c.readValue(SHARED_KEY)).toBe('deleted later')
  c.network.isDown = false
  await until(() => streams(c)() && !c.replication.isPurgePending)
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('what came while the filter was lifted for a moment, of which nothing is known here, goes again', async () => {
  const { a, c } = await filteredPair()
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  const place = c.store.remotePosition
  if (!place) throw new Error('nobody was followed')
  const key = 'logical/m1/new'
  await a.writeValue(key, 'shown for a moment')
  for (const frame of (await a.store.framesAfter(place.index, 1_000_000)) ?? []) {
    const position = { index: frame.lastIndex, hash: frame.hash, epoch: place.epoch }
    expect(await c.store.applyEntries(a.store.decodeFrame(frame), position)).toBe(true)
  }
  expect(c.readValue(key)).toBe('shown for a moment')
  c.network.isDown = false
  await until(() => streams(c)() && c.readValue(key) === undefined)
  await until(() => !c.replication.isPurgePending)
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('a filter that is changed behind the back of the one who answers for it has everything compared', async () => {
  const { a, c } = await filteredPair()
  await a.store.write((tx) => tx.delete(`${KEYS.filters}c`))
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
  await until(streams(c))
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})
