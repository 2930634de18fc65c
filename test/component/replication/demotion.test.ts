import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import type { Response } from '../../../src/logical/request.js'
import type { Kind } from '../../../src/replication/model/types.js'
import { makeRequest } from '../../support/backend-harness.js'
import {
  changeSecondary,
  type ControlCluster,
  joinSet,
  LOCAL_KEY,
  openWorld,
  SHARED_KEY,
  untilStreaming,
} from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

/** A demotion fences writes, waits until secondaries have applied everything, and then changes the role. */

const { start } = openWorld()

const KINDS: readonly Kind[] = ['dr', 'performance']
const FENCED = 'this primary is being demoted'

/** Starts a primary, and a secondary that receives entries without applying them. */
const startPair = async (kind: Kind, drainTimeoutMs = 20_000) => {
  const a = await start('a', { demote_drain_timeout: `${drainTimeoutMs}ms` })
  const b = await start('b')
  await a.change(`replication/${kind}/primary/enable`)
  await joinSet(b, kind, a, 'b')
  b.holds.hold(kind, 'apply')
  return { a, b }
}

/** Resolves when the primary reports all secondaries as disconnected. */
const untilCutOff = (primary: ControlCluster, kind: Kind) =>
  until(() => {
    const { secondaries } = primary.status(kind) as { secondaries?: readonly JsonObject[] }
    return secondaries?.every((one) => one.connection_status === 'disconnected') ?? false
  })

/** Starts a demotion, and resolves when writes are fenced. */
const beginDemotion = async (cluster: ControlCluster, kind: Kind) => {
  let ended: Response | Error | undefined
  const answer = cluster.post(`replication/${kind}/primary/demote`).then(
    (response) => (ended = response),
    (error: Error) => (ended = error),
  )
  const isFenced = () =>
    cluster.writeValue(`${SHARED_KEY}/tried`, 'before the fence').then(
      () => false,
      (error: Error) => error.message.includes(FENCED),
    )
  let fenced = false
  await until(() => {
    void isFenced().then((is) => (fenced ||= is))
    return fenced
  })
  return { answer, end: () => ended }
}

const secondWarning = (response: Response | Error | undefined): string =>
  response instanceof Error ? response.message : (response?.warnings?.[1] ?? '')

test.each(KINDS)('a planned %s failover loses no acknowledged write', async (kind) => {
  const { a, b } = await startPair(kind)
  const acknowledged: string[] = []
  const writes = Array.from({ length: 20 }, async (_, n) => {
    await a.writeValue(`${SHARED_KEY}/${n}`, 'acknowledged')
    acknowledged.push(`${SHARED_KEY}/${n}`)
  })
  const demotion = await beginDemotion(a, kind)
  await Promise.allSettled(writes)
  expect(demotion.end()).toBeUndefined()
  expect(a.status(kind).mode).toBe('primary')
  b.holds.release()
  expect(await demotion.answer).toMatchObject({
    warnings: [expect.stringContaining('is being demoted'), expect.anything()],
  })
  await a.settled()
  expect(a.status(kind)).toMatchObject({ mode: 'secondary', state: 'idle' })
  await changeSecondary(b, kind, 'promote')
  expect(acknowledged).toHaveLength(20)
  for (const key of acknowledged) expect(b.readValue(key)).toBe('acknowledged')
  expect(await b.replication.losses()).toEqual([])
})

test.each(KINDS)(
  'a %s secondary that applies nothing delays a demotion until the timeout, and the warning names it',
  async (kind) => {
    const { a } = await startPair(kind, 300)
    const before = a.store.position.index
    await a.writeValue(SHARED_KEY, 'not applied')
    const response = await a.post(`replication/${kind}/primary/demote`)
    expect(response?.warnings?.[0]).toContain('is being demoted')
    expect(response?.warnings?.[1]).toContain(`"b" has not applied the entries from index ${before + 1} on`)
    expect(response?.warnings?.[1]).toContain(`up to index ${before + 1}:`)
  },
)

test.each(KINDS)('a disconnected %s secondary does not delay a demotion, and the warning names it', async (kind) => {
  const { a, b } = await startPair(kind)
  b.network.down()
  await untilCutOff(a, kind)
  await a.writeValue(SHARED_KEY, 'not applied')
  const response = await a.post(`replication/${kind}/primary/demote`)
  // The lab matches the beginning of this warning.
  expect(secondWarning(response)).toMatch(
    /^Not every secondary has everything up to index \d+: "b" \(not connected\) has not applied the entries/,
  )
})

test.each(KINDS)('a demotion waits for a %s secondary whose connection breaks during it', async (kind) => {
  const { a, b } = await startPair(kind)
  await a.writeValue(SHARED_KEY, 'acknowledged')
  const demotion = await beginDemotion(a, kind)
  b.network.down()
  await untilCutOff(a, kind)
  expect(demotion.end()).toBeUndefined()
  b.holds.release()
  b.network.isDown = false
  const { warnings = [] } = (await demotion.answer) as Response
  expect(warnings.join()).not.toContain('has not applied')
  expect(b.readValue(SHARED_KEY)).toBe('acknowledged')
})

test.each(KINDS)('a demotion waits for a %s secondary with a broken connection until the timeout', async (kind) => {
  const { a, b } = await startPair(kind, 1000)
  await a.writeValue(SHARED_KEY, 'not applied')
  const demotion = await beginDemotion(a, kind)
  b.network.down()
  await untilCutOff(a, kind)
  expect(demotion.end()).toBeUndefined()
  expect(secondWarning((await demotion.answer) as Response)).toContain(
    '"b" (not connected) has not applied the entries',
  )
})

test('a DR demotion waits for local data as well', async () => {
  const { a, b } = await startPair('dr')
  await a.writeValue(LOCAL_KEY, 'local')
  const demotion = await beginDemotion(a, 'dr')
  await expect(a.writeValue(LOCAL_KEY, 'too late')).rejects.toThrow(FENCED)
  b.holds.release()
  await demotion.answer
  await changeSecondary(b, 'dr', 'promote')
  expect(b.readValue(LOCAL_KEY)).toBe('local')
})

test('a performance demotion keeps local data writable', async () => {
  const { a, b } = await startPair('performance')
  await a.writeValue(SHARED_KEY, 'shared')
  const demotion = await beginDemotion(a, 'performance')
  await a.writeValue(LOCAL_KEY, 'own')
  b.holds.release()
  await demotion.answer
  expect(a.readValue(LOCAL_KEY)).toBe('own')
})

test('a write that a secondary forwards during a demotion is rejected', async () => {
  const { a, b } = await startPair('performance')
  await a.writeValue(SHARED_KEY, 'first')
  await beginDemotion(a, 'performance')
  const request = makeRequest('update', 'secret/a', { value: 'forwarded' })
  await expect(b.replication.forwarder.forward(request)).rejects.toThrow(FENCED)
  expect(a.readValue(SHARED_KEY)).toBe('first')
})

test('a demotion that fails at its commit leaves a primary that accepts writes', async () => {
  const { a, b } = await startPair('dr')
  await a.writeValue(SHARED_KEY, 'first')
  const demotion = await beginDemotion(a, 'dr')
  a.barrier.seal()
  b.holds.release()
  expect(await demotion.answer).toBeInstanceOf(Error)
  await a.store.write((tx) => tx.put(SHARED_KEY, Buffer.from('after the fence')))
  await a.restart()
  expect(a.status('dr').mode).toBe('primary')
})

test('a cluster that restarts during a demotion stays a primary', async () => {
  const { a, b } = await startPair('dr')
  await a.writeValue(SHARED_KEY, 'first')
  const demotion = await beginDemotion(a, 'dr')
  await a.restart()
  expect(await demotion.answer).toBeInstanceOf(Error)
  expect(a.status('dr').mode).toBe('primary')
  await a.writeValue(SHARED_KEY, 'second')
  b.holds.release()
  await until(() => b.readValue(SHARED_KEY) === 'second')
})

test('the first of several concurrent demotions succeeds, and the others get a retry error', async () => {
  const { a, b } = await startPair('dr')
  await a.writeValue(SHARED_KEY, 'first')
  const first = await beginDemotion(a, 'dr')
  const others = [a.post('replication/dr/primary/demote'), a.post('replication/performance/primary/demote')]
  b.holds.release()
  expect(await first.answer).not.toBeInstanceOf(Error)
  for (const other of others) await expect(other).rejects.toThrow('cluster is restarting')
})

test('a demotion waits for the comparison of a secondary whose filter was removed', async () => {
  const { a, b } = await startPair('performance')
  b.holds.release()
  const path = 'replication/performance/primary/paths-filter/b'
  await a.post(path, { mode: 'deny', paths: 'secret' })
  await a.writeValue(SHARED_KEY, 'filtered')
  await untilStreaming(b, 'performance', a)
  b.holds.hold('performance', 'merkle-sync')
  await a.call('delete', path)
  const demotion = await beginDemotion(a, 'performance')
  await until(() => b.holds.list().some(({ isReached }) => isReached))
  expect(demotion.end()).toBeUndefined()
  b.holds.release()
  expect((await demotion.answer) as Response).toMatchObject({
    warnings: [expect.anything(), expect.stringContaining('were disconnected')],
  })
  await changeSecondary(b, 'performance', 'promote')
  expect(b.readValue(SHARED_KEY)).toBe('filtered')
})
