import { expect, test, vi } from 'vitest'
import { type ControlCluster, issueToken, openWorld, SHARED_KEY } from '../../support/control-cluster.js'
import { sliceOf } from '../../../src/replication/primary/filter-frame.js'
import { until } from '../../support/until.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import { decodeFrame, parseFrame } from '../../../src/storage/log/frame.js'

/** A secondary compares all data when its filter has changed without its knowledge, or only partly. */

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

/** Starts a primary with a value in the mount `secret/`, and a secondary `c` whose filter withholds the mount. */
const filteredPair = async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'filtered')
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'secret' })
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(streams(c))
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  return { a, c }
}

test('a secondary with a new registration has no filter, and receives the data that the old one withheld', async () => {
  const { a, c } = await filteredPair()
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
  await until(streams(c))
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('a revoked secondary that rejoins under another ID receives all data', async () => {
  const { a, c } = await filteredPair()
  await a.post('replication/performance/primary/revoke-secondary', { id: 'c' })
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a secondary with a new filtered registration receives the data that only the old filter withheld', async () => {
  const { a, c } = await filteredPair()
  await a.post(`${FILTER}/c2`, { mode: 'deny', paths: 'other' })
  await c.change(UPDATE, { token: await issue(a, 'c2') })
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a filter removed just before a crash of the secondary stays removed after it', async () => {
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

test('a filter removed at the moment of an offered comparison is removed', async () => {
  const { a, c } = await filteredPair()
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  const { filters } = a.replication.context
  // Storage contains the change before its watchers are notified.
  const invalidation = vi.spyOn(filters, 'invalidate').mockImplementation(() => undefined)
  await a.call('delete', `${FILTER}/c`)
  await a.store.cutLog()
  c.network.isDown = false
  await until(() => streams(c)() && c.replication.context.filters.find('c') === undefined)
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  invalidation.mockRestore()
  filters.invalidate(`${KEYS.filters}c`)
  await c.restart()
  await until(() => streams(c)() && c.readValue(SHARED_KEY) === 'filtered')
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('a secondary without a primary does not treat a removed filter as received data', async () => {
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

test('a filtered secondary that restarts does not compare data', async () => {
  const { c } = await filteredPair()
  c.holds.hold('performance', 'merkle-diff')
  await c.restart()
  await until(streams(c))
  expect(c.holds.list()).toMatchObject([{ isReached: false }])
})

test('a mount moved to a filtered path is removed from the secondary', async () => {
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

/** Moves the mount to another namespace directly, because no request can. */
const moveMount = async ({ cluster: { services } }: ControlCluster, namespacePath: string, path: string) => {
  const { table, namespaces } = services
  const [entry] = table.all().filter(({ uuid }) => uuid === 'm1')
  const namespaceId = namespaces.allDecided().find((one) => one.path === namespacePath)?.id
  if (!entry || namespaceId === undefined) throw new Error(`nothing to move to ${namespacePath}`)
  await table.update(entry, (current) => ({ ...current, namespaceId, path }))
}

test('a mount moved out of a filtered namespace stays withheld, without a comparison', async () => {
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

test('only the mount of a removed filter is arriving until its data is received', async () => {
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

test('a mount that was arriving at a forced promotion stays missing, even after a demotion', async () => {
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
  'a filter by %s withholds nothing from a former primary without a primary, and applies when it follows again',
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

test('an arriving mount waits while its secondary has no primary, and arrives from the next primary', async () => {
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

test('a key deleted behind the filter is deleted on the secondary, though its hash outweighs the local value', async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'deleted later')
  await c.change('replication/performance/secondary/enable', { token: await issue(a, 'c') })
  await until(() => streams(c)() && c.readValue(SHARED_KEY) === 'deleted later')
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  await a.barrier.write((tx) => tx.delete(SHARED_KEY))
  await a.post(`${FILTER}/c`, { mode: 'deny', paths: 'secret' })
  // Sends what a primary sends that applies the filter after the deletion, and dies before the comparison.
  const filter = a.replication.context.filters.compiled('c')
  const remotePosition = c.store.remotePosition
  if (!filter || !remotePosition) throw new Error('there is no filter or no primary')
  for (const frame of (await a.store.framesAfter(remotePosition.index, 1_000_000)) ?? []) {
    const rule = { mode: 'deny' as const, paths: ['secret/'] }
    const shown = { fingerprint: filter.fingerprint, rule, shows: (key: string) => !filter.isFiltered(key) }
    const slice = sliceOf(frame, { kind: 'performance', filter: shown })
    const sent = await parseFrame(slice.frame)
    const position = { index: frame.lastIndex, hash: frame.hash, epoch: remotePosition.epoch }
    expect(await c.store.applyEntries(sent ? decodeFrame(sent) : [], position)).toBe(true)
  }
  expect(c.readValue(SHARED_KEY)).toBe('deleted later')
  c.network.isDown = false
  await until(() => streams(c)() && !c.replication.isPurgePending)
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('data received while the filter was briefly removed, unknown to the secondary, is removed again', async () => {
  const { a, c } = await filteredPair()
  c.network.down()
  await until(() => c.status('performance').connection_state !== 'ready')
  const remotePosition = c.store.remotePosition
  if (!remotePosition) throw new Error('there is no primary')
  const key = 'logical/m1/new'
  await a.writeValue(key, 'shown for a moment')
  for (const frame of (await a.store.framesAfter(remotePosition.index, 1_000_000)) ?? []) {
    const position = { index: frame.lastIndex, hash: frame.hash, epoch: remotePosition.epoch }
    expect(await c.store.applyEntries(decodeFrame(frame), position)).toBe(true)
  }
  expect(c.readValue(key)).toBe('shown for a moment')
  c.network.isDown = false
  await until(() => streams(c)() && c.readValue(key) === undefined)
  await until(() => !c.replication.isPurgePending)
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})

test('a filter changed directly in storage makes the secondary compare all data', async () => {
  const { a, c } = await filteredPair()
  await a.store.write((tx) => tx.delete(`${KEYS.filters}c`))
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
  await until(streams(c))
  expect(c.status('performance').merkle_root).toBe(a.status('performance').merkle_root)
})
