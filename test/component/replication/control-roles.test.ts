import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { exchangeKeyKey } from '../../../src/replication/model/state.js'
import type { Kind } from '../../../src/replication/model/types.js'
import { makeRequest } from '../../support/backend-harness.js'
import {
  type ControlCluster,
  FORWARDED_KEY,
  issueToken,
  joinSet,
  LOCAL_KEY,
  openWorld,
  operationToken,
  refusalOf,
  SHARED_KEY,
  untilStreaming,
} from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

/** Clusters with real sockets, without the HTTP layer. */

const { clusters, start, startPair, startTwo } = openWorld()

const enable = async (primary: ControlCluster, kind: Kind) => {
  await primary.change(`replication/${kind}/primary/enable`)
}

test('a DR secondary is wiped when it is enabled, and receives all data and keys of its primary', async () => {
  const [a, b] = await startTwo('dr', 'b')
  await a.writeValue(SHARED_KEY, 'shared')
  await a.writeValue(LOCAL_KEY, 'local')
  await b.writeValue(LOCAL_KEY, 'own')
  await joinSet(b, 'dr', a, 'dr-b')
  expect(b.wipes).toBe(1)
  expect(b.readValue(SHARED_KEY)).toBe('shared')
  expect(b.readValue(LOCAL_KEY)).toBe('local')
  const status = b.status('dr')
  expect(status).toMatchObject({ mode: 'secondary', secondary_id: 'dr-b', cluster_id: a.status('dr').cluster_id })
  expect(status.known_primary_cluster_addrs).toEqual([`https://${a.listener.address}`])
  await until(() => (a.status('dr').secondaries as JsonObject[])[0]?.connection_status === 'connected')
  expect(a.status('dr')).toMatchObject({ known_secondaries: ['dr-b'], secondaries: [{ node_id: 'dr-b' }] })
})

test('a failover and a failback keep the set ID and all data, without a wipe', async () => {
  const [a, b] = await startPair('dr', 'b', 'dr-b')
  const setId = a.status('dr').cluster_id
  await a.change('replication/dr/primary/demote')
  expect(a.status('dr')).toMatchObject({ mode: 'secondary', state: 'idle', connection_state: 'shutdown' })
  await b.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(b) })
  expect(b.status('dr')).toMatchObject({ mode: 'primary', cluster_id: setId, known_secondaries: [] })
  await b.writeValue(SHARED_KEY, 'after the failover')
  const token = await issueToken(b, 'dr', 'dr-a')
  await a.change('replication/dr/secondary/update-primary', { dr_operation_token: await operationToken(a), token })
  await untilStreaming(a, 'dr', b)
  expect(a.readValue(SHARED_KEY)).toBe('after the failover')
  expect(a.wipes).toBe(0)
  expect(await a.replication.losses()).toEqual([])
})

test('entries that only the former primary has are listed when it rejoins', async () => {
  const [a, b] = await startTwo('dr', 'b')
  await a.writeValue(SHARED_KEY, 'old')
  await joinSet(b, 'dr', a, 'dr-b')
  b.holds.hold('dr', 'apply')
  await a.writeValue(SHARED_KEY, 'lost')
  const lostIndex = a.store.position.index
  await b.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(b), force: true })
  b.holds.release()
  expect(b.readValue(SHARED_KEY)).toBe('old')
  await a.change('replication/dr/primary/demote')
  const token = await issueToken(b, 'dr', 'dr-a')
  await a.change('replication/dr/secondary/update-primary', { dr_operation_token: await operationToken(a), token })
  const [loss] = await a.replication.losses()
  expect(loss?.entries).toContainEqual({ index: lostIndex, path: 'secret/a', operation: 'put' })
  await untilStreaming(a, 'dr', b)
  expect(a.readValue(SHARED_KEY)).toBe('old')
})

/** Runs `work` after the role change of the copy is decided, and before the copy stops following its primary. */
const runBeforeStop = (copy: ControlCluster, work: () => Promise<void>): { readonly isDone: boolean } => {
  const done = { isDone: false }
  const { dr } = copy.replication.context.running
  const stop = dr.stopFollowing.bind(dr)
  dr.stopFollowing = async () => {
    await work()
    done.isDone = true
    return stop()
  }
  return done
}

const pairThatGainsRole = async (): Promise<{
  a: ControlCluster
  b: ControlCluster
  late: { readonly isDone: boolean }
}> => {
  const [a, b] = await startPair('dr', 'b', 'dr-b')
  const late = runBeforeStop(b, async () => {
    await enable(a, 'performance')
    await until(() => b.replication.view.healthModes.performance === 'primary')
  })
  return { a, b, late }
}

test('a disabled copy has no role of its primary, even if the primary gained the role during the change', async () => {
  const { b, late } = await pairThatGainsRole()
  await b.change('replication/dr/secondary/disable', { dr_operation_token: await operationToken(b) })
  expect(late.isDone).toBe(true)
  expect(b.status('performance')).toEqual({ mode: 'disabled' })
})

test('a promoted copy starts its own epoch in every role, even if the primary gained the role during the change', async () => {
  const { a, b, late } = await pairThatGainsRole()
  await b.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(b), force: true })
  expect(late.isDone).toBe(true)
  expect(b.status('performance').mode).toBe('primary')
  const epochOf = ({ replication }: ControlCluster) => {
    const record = replication.context.roles.record('performance')
    return 'epochs' in record ? record.epochs.at(-1)?.id : undefined
  }
  expect(epochOf(b)).not.toBe(epochOf(a))
})

test('an overtaken primary learns of its successor and is fenced', async () => {
  const [a, b] = await startPair('dr', 'b', 'dr-b')
  await b.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(b) })
  await until(() => a.replication.view.fence !== undefined)
  expect(a.status('dr').mode).toBe('primary')
  expect(a.replication.view.fence?.byEpoch).not.toBe(a.replication.view.fence?.epoch)
})

test('the promoted copy of a performance primary keeps the set, and its performance secondaries follow it', async () => {
  const a = await start('a')
  const b = await start('b')
  const c = await start('c')
  await enable(a, 'performance')
  await enable(a, 'dr')
  await joinSet(c, 'performance', a, 'c')
  await joinSet(b, 'dr', a, 'dr-b')
  const setId = a.status('performance').cluster_id
  expect(b.status('performance')).toEqual({ mode: 'disabled' })
  expect(b.replication.view.healthModes.performance).toBe('primary')
  const bAddress = `https://${b.listener.address}`
  await until(() => (c.status('performance').known_primary_cluster_addrs as string[]).includes(bAddress))
  clusters.delete(a.apiAddress)
  await a.stop()
  await b.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(b) })
  expect(b.status('performance')).toMatchObject({ mode: 'primary', cluster_id: setId, known_secondaries: ['c'] })
  await b.writeValue(SHARED_KEY, 'from b')
  await until(() => c.readValue(SHARED_KEY) === 'from b')
  await until(() => c.status('performance').primary_cluster_addr === bAddress)
})

test('the promoted copy of a performance secondary keeps the secondary ID', async () => {
  const a = await start('a')
  const c = await start('c')
  const d = await start('d')
  await enable(a, 'performance')
  await joinSet(c, 'performance', a, 'c')
  await enable(c, 'dr')
  await untilStreaming(c, 'performance', a)
  await joinSet(d, 'dr', c, 'dr-d')
  await d.change('replication/dr/secondary/promote', { dr_operation_token: await operationToken(d) })
  await untilStreaming(d, 'performance', a)
  expect(d.status('performance')).toMatchObject({ mode: 'secondary', secondary_id: 'c' })
  await until(() => c.status('performance').connection_state === 'transient_failure')
  expect(a.status('performance').known_secondaries).toEqual(['c'])
})

test('a write on a performance secondary is executed by the primary and readable locally after its response', async () => {
  // Long timeouts: if the link broke on a slow machine, the outcome would be unknown.
  const patient = { keepalive_timeout: '60s', forwarding_timeout: '60s' }
  const [a, c] = await startTwo('performance', 'c', patient)
  await joinSet(c, 'performance', a, 'c')
  const request = (path: string) => makeRequest('update', path, { value: 'forwarded' }, { clientToken: 'secret' })
  const { response, state } = await c.replication.forwarder.forward(request('secret/a'))
  expect(response).toBeUndefined()
  expect(state).toMatchObject({ clusterId: a.clusterId, replicatedIndex: a.store.lastReplicatedIndex })
  expect(c.readValue(FORWARDED_KEY)).toContain('forwarded')
  expect(await refusalOf(c.replication.forwarder.forward(request('fails')))).toContain('no handler for route "fails"')
  await c.change('replication/performance/secondary/update-primary', { token: '' })
  expect(await refusalOf(c.replication.forwarder.forward(request('secret/a')))).toBe('primary cluster is unreachable')
})

test('an invalid activation token leaves the cluster unchanged, and the error names the reason', async () => {
  const [a, b] = await startTwo('dr', 'b')
  await b.writeValue(SHARED_KEY, 'kept')
  const token = await issueToken(a, 'dr', 'dr-b')
  const enableWith = (text: string) => refusalOf(b.post('replication/dr/secondary/enable', { token: text }))
  expect(await enableWith(`${token}x`)).toContain('wrapping token is not valid or does not exist')
  expect(await enableWith('nonsense')).toBe('invalid token')
  const elsewhere = refusalOf(b.post('replication/performance/secondary/enable', { token }))
  expect(await elsewhere).toBe(
    'token is for DR replication: use it at sys/replication/dr/secondary/enable or update-primary',
  )
  const wrap = { ttlSeconds: 60, format: 'jwt' } as const
  const { json } = await a.send({ method: 'PUT', path: 'sys/wrapping/wrap', body: { any: 'thing' } }, { wrap })
  const { token: other } = json.wrap_info as { readonly token: string }
  expect(await enableWith(other)).toBe('token is not an activation token: it wraps a response of "sys/wrapping/wrap"')
  for (const unspent of [token, other]) await a.write('sys/wrapping/lookup', { token: unspent })
  const revoked = await issueToken(a, 'dr', 'dr-b')
  await a.post('replication/dr/primary/revoke-secondary', { id: 'dr-b' })
  expect(await enableWith(revoked)).toContain('error fetching secondary bootstrap package')
  expect(b.status('dr')).toEqual({ mode: 'disabled' })
  expect(b.wipes).toBe(0)
  expect(b.readValue(SHARED_KEY)).toBe('kept')
})

test('a sealed activation token needs no API of the primary, and can be used again after an error', async () => {
  const [a, c] = await startTwo('performance', 'c')
  const key = await c.post('replication/performance/secondary/generate-public-key')
  const data = key?.data as { secondary_public_key: string }
  const issued = await a.post('replication/performance/primary/secondary-token', { id: 'c', ...data })
  expect(issued?.wrapInfo).toBeUndefined()
  const sealed = issued?.data as { token: string } | undefined
  const token = sealed?.token ?? ''
  clusters.delete(a.apiAddress)
  const withRoots = c.post('replication/performance/secondary/enable', { token, ca_file: '/does/not/exist' })
  expect(await refusalOf(withRoots)).toContain('ca_file "/does/not/exist" cannot be read')
  await c.change('replication/performance/secondary/enable', { token })
  await untilStreaming(c, 'performance', a)
  clusters.set(a.apiAddress, a)
})

const sealedTokenFor = async (primary: ControlCluster, secondary: ControlCluster, id: string): Promise<string> => {
  const key = await secondary.post('replication/performance/secondary/generate-public-key')
  const data = key?.data as { secondary_public_key: string }
  const issued = await primary.post('replication/performance/primary/secondary-token', { id, ...data })
  return (issued?.data as { token?: string } | undefined)?.token ?? ''
}

test('a sealed activation token works once, even for the cluster that used it and after restarts', async () => {
  const [a, c] = await startTwo('performance', 'c')
  const first = await sealedTokenFor(a, c, 'first')
  await c.change('replication/performance/secondary/enable', { token: first })
  await untilStreaming(c, 'performance', a)
  const update = (token: string) => c.post('replication/performance/secondary/update-primary', { token })
  expect(await refusalOf(update(first))).toContain('error decrypting activation token')
  const token = await sealedTokenFor(a, c, 'second')
  await c.change('replication/performance/secondary/update-primary', { token })
  await untilStreaming(c, 'performance', a)
  expect(await refusalOf(update(token))).toContain('the activation token was already used')
  await a.restart()
  await c.restart()
  await untilStreaming(c, 'performance', a)
  expect(await refusalOf(update(token))).toContain('the activation token was already used')
  expect(c.status('performance')).toMatchObject({ mode: 'secondary', secondary_id: 'second' })
  await c.change('replication/performance/secondary/disable')
  const enabled = refusalOf(c.post('replication/performance/secondary/enable', { token }))
  expect(await enabled).toContain('the activation token was already used')
  expect(c.wipes).toBe(1)
})

test('only one of two clusters joins if both use a sealed activation token at the same time', async () => {
  const a = await start('a')
  const c = await start('c')
  const d = await start('d')
  await enable(a, 'performance')
  const token = await sealedTokenFor(a, c, 'twin')
  const key = exchangeKeyKey('performance')
  const privateKey = c.barrier.get(key)
  await d.barrier.write((tx) => tx.put(key, privateKey ?? Buffer.alloc(0)))
  const outcomes = await Promise.all(
    [c, d].map((cluster) =>
      cluster.post('replication/performance/secondary/enable', { token }).then(
        () => 'joined',
        (error: LogicalError) => error.message,
      ),
    ),
  )
  expect(outcomes.sort()).toEqual([expect.stringContaining('the activation token was already used'), 'joined'])
  await until(() => [c, d].some((cluster) => cluster.status('performance').state === 'stream-wals'))
  expect(a.status('performance').known_secondaries).toEqual(['twin'])
  expect([c.wipes, d.wipes].sort()).toEqual([0, 1])
})

test('an activation token that was replaced by a newer one for its ID is rejected, and the newer one works', async () => {
  const [a, c] = await startTwo('performance', 'c')
  const older = await sealedTokenFor(a, c, 'c')
  const key = exchangeKeyKey('performance')
  const olderKey = c.barrier.get(key) ?? Buffer.alloc(0)
  const newer = await sealedTokenFor(a, c, 'c')
  const newerKey = c.barrier.get(key) ?? Buffer.alloc(0)
  await c.barrier.write((tx) => tx.put(key, olderKey))
  const refused = await refusalOf(c.post('replication/performance/secondary/enable', { token: older }))
  expect(refused).toContain('this certificate is not registered')
  await c.barrier.write((tx) => tx.put(key, newerKey))
  await c.change('replication/performance/secondary/enable', { token: newer })
  await untilStreaming(c, 'performance', a)
})

test('a revoked secondary is disconnected, and rejoins with a new token without a wipe', async () => {
  const [a, c] = await startPair('performance', 'c')
  await a.post('replication/performance/primary/revoke-secondary', { id: 'c' })
  expect(a.status('performance').known_secondaries).toEqual([])
  await until(() => c.status('performance').connection_state === 'transient_failure')
  await a.writeValue(SHARED_KEY, 'meanwhile')
  const token = await issueToken(a, 'performance', 'c')
  await c.change('replication/performance/secondary/update-primary', { token })
  await untilStreaming(c, 'performance', a)
  expect(c.readValue(SHARED_KEY)).toBe('meanwhile')
  expect(c.wipes).toBe(1)
})

test('only the latest activation token of an ID works, and an ID in use must be revoked first', async () => {
  const [a, b] = await startTwo('dr', 'b')
  const first = await issueToken(a, 'dr', 'dr-b')
  const second = await issueToken(a, 'dr', 'dr-b')
  expect(await refusalOf(b.post('replication/dr/secondary/enable', { token: first }))).toContain('not registered')
  await b.change('replication/dr/secondary/enable', { token: second })
  await untilStreaming(b, 'dr', a)
  expect(await refusalOf(issueToken(a, 'dr', 'dr-b'))).toBe(
    'id "dr-b" is already in use by a secondary; revoke it first',
  )
})

test('update-primary changes the address without a restart, and ignores unreachable addresses', async () => {
  const [a, c] = await startPair('performance', 'c')
  const { runtime } = c.server
  const update = (...addresses: string[]) =>
    c.post('replication/performance/secondary/update-primary', { update_primary_addrs: addresses })
  const port = a.listener.address.split(':')[1]
  expect(await refusalOf(update('127.0.0.1:1'))).toContain('none of update_primary_addrs answered: ')
  expect((await update('127.0.0.1:1', `localhost:${port}`))?.warnings?.[0]).toContain(`https://localhost:${port}`)
  expect(c.status('performance').primary_cluster_addr).toBe(`https://localhost:${port}`)
  expect(c.server.runtime).toBe(runtime)
})

test('update-primary stops at its time limit if many addresses do not respond', async () => {
  const a = await start('a')
  const b = await start('b', { ping_timeout: '1s' })
  await enable(a, 'performance')
  await joinSet(b, 'performance', a, 'b')
  const silent = createServer()
  silent.listen(0, '0.0.0.0')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const distinct = Array.from({ length: 40 }, (_, n) => `127.0.0.${n + 2}:${port}`)
  const path = 'replication/performance/secondary/update-primary'
  const twice = distinct.slice(0, 2).flatMap((address) => [address, address, address])
  const answer = await refusalOf(b.post(path, { update_primary_addrs: twice }))
  expect(answer.match(new RegExp(`:${port}: `, 'g'))).toHaveLength(2)
  const text = await refusalOf(b.post(path, { update_primary_addrs: distinct }))
  silent.close()
  expect(text).toMatch(/; [0-9]+ more addresses were not tried, because the timeout was reached$/)
})

test('a secondary with an older version is rejected', async () => {
  const a = await start('a')
  const b = await start('b', { reported_version: '1.19.0+ent' })
  await enable(a, 'dr')
  const text = await refusalOf(b.post('replication/dr/secondary/enable', { token: await issueToken(a, 'dr', 'dr-b') }))
  expect(text).toContain('1.19.0+ent')
  expect(text).toContain('1.20.4+ent')
})

test('a promotion without force fails until all announced entries are applied', async () => {
  const [a, b] = await startPair('dr', 'b', 'dr-b')
  b.holds.hold('dr', 'apply')
  await a.writeValue(SHARED_KEY, 'ahead')
  await until(() => b.replication.view.announcedIndex >= a.store.lastShippedIndex)
  const dr_operation_token = await operationToken(b)
  const promote = () => b.post('replication/dr/secondary/promote', { dr_operation_token })
  expect(await refusalOf(promote())).toContain('replication is still catching up')
  b.holds.release()
  await until(() => b.readValue(SHARED_KEY) === 'ahead')
  await b.change('replication/dr/secondary/promote', { dr_operation_token })
  expect(b.status('dr').mode).toBe('primary')
  expect(b.replication.context.operationTokens.isGood(dr_operation_token)).toBe(false)
})

test('roles are restored from storage after a crash', async () => {
  const [a, b] = await startPair('dr', 'b', 'dr-b')
  await a.restart()
  await b.restart()
  await a.writeValue(SHARED_KEY, 'after the crash')
  await untilStreaming(b, 'dr', a)
  expect(b.readValue(SHARED_KEY)).toBe('after the crash')
  expect(a.status('dr')).toMatchObject({ mode: 'primary', known_secondaries: ['dr-b'] })
})

test.each(['dr', 'performance'] as const)(
  'a disconnected %s secondary keeps its last heartbeat, even after a restart of the primary',
  async (kind) => {
    const [a, b] = await startPair(kind, 'b')
    await b.listener.close()
    await b.replication.stop()
    const away = { node_id: 'b', connection_status: 'disconnected', last_heartbeat: expect.any(String) }
    await until(() => (a.status(kind).secondaries as JsonObject[])[0]?.connection_status === 'disconnected')
    expect(a.status(kind).secondaries).toMatchObject([away])
    await a.restart()
    expect(a.status(kind).secondaries).toMatchObject([away])
  },
)

test('a filter set before a join withholds data, and its removal delivers the data', async () => {
  const [a, c] = await startTwo('performance', 'c')
  await a.writeValue(SHARED_KEY, 'filtered')
  const path = 'replication/performance/primary/paths-filter/c'
  expect(await a.post(path, { mode: 'deny', paths: 'secret' })).toBeUndefined()
  await joinSet(c, 'performance', a, 'c')
  expect(c.readValue(SHARED_KEY)).toBeUndefined()
  expect((await a.call('read', path))?.data).toEqual({ mode: 'deny', paths: ['secret/'] })
  expect(c.replication.view.ownFilter?.filteredMounts).toEqual(new Set(['m1']))
  const token = { force: false }
  expect(await refusalOf(c.post('replication/performance/secondary/promote', token))).toContain('deny secret/')
  await a.call('delete', path)
  await until(() => c.readValue(SHARED_KEY) === 'filtered')
})

test('a secondary that missed a filter and its removal compares data, even after a crash', async () => {
  const [a, c] = await startPair('performance', 'c')
  c.network.isDown = true
  c.network.cut()
  const path = 'replication/performance/primary/paths-filter/c'
  await a.post(path, { mode: 'deny', paths: 'secret' })
  await a.writeValue(SHARED_KEY, 'held back for a while')
  await a.call('delete', path)
  c.holds.hold('performance', 'merkle-diff')
  c.network.isDown = false
  const isHeld = () => c.holds.list().some((held) => held.isReached)
  await until(isHeld)
  // Its applied index alone does not show that the comparison is missing.
  expect(c.replication.context.running.performance.appliedIndex).toBe(a.store.lastReplicatedIndex)
  await c.restart()
  await until(isHeld)
  c.holds.release()
  await untilStreaming(c, 'performance', a)
  await c.restart()
  await untilStreaming(c, 'performance', a)
  expect(c.replication.context.settledFilter.current).toEqual({ digest: '' })
})

test('a forced promotion during a sync has correct trees and lists the incomplete sync', async () => {
  const [a, b] = await startTwo('dr', 'b')
  await a.writeValue(SHARED_KEY, 'not yet there')
  b.holds.hold('dr', 'merkle-sync')
  await b.change('replication/dr/secondary/enable', { token: await issueToken(a, 'dr', 'dr-b') })
  await until(() => b.holds.list().some((held) => held.isReached))
  expect(b.status('dr').mode).toBe('bootstrapping')
  const dr_operation_token = await operationToken(b)
  const promote = (force: boolean) => ['replication/dr/secondary/promote', { dr_operation_token, force }] as const
  expect(await refusalOf(b.post(...promote(false)))).toContain('the first sync is not complete')
  await b.change(...promote(true))
  b.holds.release()
  expect(b.status('dr').mode).toBe('primary')
  expect(await b.replication.losses()).toMatchObject([{ reason: 'sync incomplete' }])
  expect((await b.post('replication/merkle-check'))?.data).toMatchObject({
    merkle_corruption_report: { corrupted_root: false },
  })
})

test('a first copy completes after a temporary storage failure', async () => {
  const [a, b] = await startTwo('dr', 'b')
  await a.writeValue(SHARED_KEY, 'copied')
  b.holds.hold('dr', 'merkle-sync')
  await b.change('replication/dr/secondary/enable', { token: await issueToken(a, 'dr', 'dr-b') })
  await until(() => b.holds.list().some((held) => held.isReached))
  const { host } = b.replication.context
  const { commit } = host
  let refused = 0
  const full = () => {
    refused++
    return Promise.reject(new LogicalError('unavailable', 'no space left on the storage device'))
  }
  Object.assign(host, { commit: full })
  b.holds.release()
  await until(() => refused > 0)
  expect(b.status('dr').mode).toBe('bootstrapping')
  Object.assign(host, { commit })
  await until(() => b.status('dr').mode === 'secondary')
})

test('the first of several concurrent role changes succeeds, and the others get a retry error', async () => {
  const a = await start('a')
  const first = a.change('replication/performance/primary/enable')
  const others = [a.post('replication/dr/primary/enable'), a.post('replication/performance/primary/demote')]
  const texts = await Promise.all(others.map(refusalOf))
  expect(texts).toEqual(Array(2).fill('cluster is restarting after a replication change, try again'))
  await first
  expect(a.status('performance').mode).toBe('primary')
  expect(a.status('dr')).toEqual({ mode: 'disabled' })
})

test('replication with a failed storage closes its connection when it is stopped', async () => {
  const [a, b] = await startPair('dr', 'b')
  b.holds.hold('dr', 'apply')
  await a.writeValue(SHARED_KEY, 'announced and not applied')
  const { follower } = b.replication.context.running.dr
  await until(() => Number(follower?.announced?.index) > Number(follower?.applied?.index))
  clusters.delete(b.apiAddress)
  await b.store.close()
  // Entries announced before may be stored already; this one cannot be.
  const known = Number(follower?.announced?.index)
  await a.writeValue(SHARED_KEY, 'announced to a storage that has failed')
  await until(() => Number(follower?.announced?.index) > known)
  await expect(b.replication.stop()).rejects.toThrow()
  expect(follower?.connectionState).toBe('shutdown')
  await b.stop().catch(() => undefined)
})
