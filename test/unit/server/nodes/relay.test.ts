import { describe, expect, test } from 'vitest'
import { LogicalError } from '../../../../src/logical/errors.js'
import type { Rendered } from '../../../../src/logical/incoming.js'
import { encodeRelayFailure, encodeRendered } from '../../../../src/replication/forwarding/relayed-answer.js'
import { refusalError } from '../../../../src/replication/rpc/refusal.js'
import type { PrimaryConnection } from '../../../../src/replication/rpc/transport.js'
import { ServeLocally, Relay } from '../../../../src/server/nodes/standby.js'
import type { LeaderRecord } from '../../../../src/storage/shared-log/shared-log.js'
import { request } from './request.js'

/** The result of a forwarded request, by the response of the active node. */

const leader = (term: number): LeaderRecord => ({
  nodeId: `node${term}`,
  term,
  apiAddress: `http://127.0.0.${term}:8200`,
  clusterAddress: `https://127.0.0.${term}:8201`,
  activeSinceMs: 0,
})

const OK: Rendered = { status: 200, contentType: 'application/json', headers: {}, body: '{"data":1}' }

type Step = 'unreachable' | 'not active' | 'unreadable' | 'failed' | 'cut' | Rendered | LogicalError

/** A relay whose attempts end as the steps specify. Another node becomes active as soon as the relay waits for one. */
const relayOver = (...steps: Step[]) => relayFor(1, steps)

/** Number of waits. */
const relayFor = (waitMs: number, steps: Step[]) => {
  const seen = {
    sent: 0,
    waited: [] as number[],
    reached: [] as number[],
    becomesActive: false,
    leader: leader(1) as LeaderRecord | undefined,
  }
  const call = async () => {
    seen.sent++
    const step = steps.shift()
    if (step === undefined) throw new Error('no more attempts were expected')
    if (step === 'cut') throw new LogicalError('unavailable', 'the connection was lost')
    if (step === 'unreadable') throw refusalError('invalid', 'a forwarded request has an invalid text')
    if (step === 'failed') throw refusalError('failed', 'a bug')
    if (step === 'not active') throw refusalError('unavailable', 'this node is not the active node')
    const payload = step instanceof LogicalError ? encodeRelayFailure(step) : encodeRendered(step as Rendered)
    return { who: null, payload }
  }
  const relay = new Relay({
    leftMs: () => Math.max(0, waitMs - seen.waited.length),
    activeNode: () => seen.leader,
    awaitOther: async (_, term) => {
      seen.waited.push(term)
      seen.leader = seen.becomesActive ? undefined : leader(term + 1)
    },
    canServeLocally: () => seen.waited.length > 0 && seen.becomesActive,
    connect: async () => {
      if (steps[0] !== 'unreachable') return { call } as unknown as PrimaryConnection
      steps.shift()
      throw new LogicalError('unavailable', 'nobody listens there')
    },
    reach: async (index) => void seen.reached.push(index),
    timeoutMs: 1000,
  })
  return { relay, seen }
}

describe('a request that a standby hands on', () => {
  test('a forwarded request gets the response of the active node', async () => {
    const { relay, seen } = relayOver(OK)
    const answer = await relay.send(request('read'))
    expect({ ...answer, body: String(answer.body) }).toEqual(OK)
    expect(seen).toMatchObject({ sent: 1, waited: [] })
  })

  test('a forwarded request fails with the error of the active node', async () => {
    const data = { warnings: ['w'] }
    const error = new LogicalError('permission-denied', 'permission denied', {
      wrapped: true,
      data,
      headers: { a: 'b' },
    })
    const { relay, seen } = relayOver(error)
    await expect(relay.send(request('update'))).rejects.toMatchObject({
      code: 'permission-denied',
      message: 'permission denied',
      wrapped: true,
      data,
      headers: { a: 'b' },
    })
    expect(seen.sent).toBe(1)
  })

  test.each(['update', 'delete', 'patch'] as const)(
    '%s: never sent twice, and its outcome is unknown',
    async (operation) => {
      const { relay, seen } = relayOver('cut')
      await expect(relay.send(request(operation))).rejects.toMatchObject({
        code: 'bad-gateway',
        message: expect.stringContaining('outcome unknown'),
      })
      expect(seen).toMatchObject({ sent: 1, waited: [] })
    },
  )

  test.each(['read', 'list'] as const)('%s: sent once more', async (operation) => {
    const { relay, seen } = relayOver('cut', OK)
    expect((await relay.send(request(operation))).status).toBe(200)
    expect(seen.sent).toBe(2)
  })

  test('a read that is lost twice is rejected', async () => {
    const { relay, seen } = relayOver('cut', 'cut')
    await expect(relay.send(request('read'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(seen.sent).toBe(2)
  })

  test.each(['unreachable', 'not active'] as const)('%s: a write waits for another active node', async (step) => {
    const { relay, seen } = relayOver(step, OK)
    expect((await relay.send(request('update'))).status).toBe(200)
    expect(seen.waited).toEqual([1])
  })

  test('a forwarded request that the active node cannot read fails at once', async () => {
    const { relay, seen } = relayOver('unreadable')
    await expect(relay.send(request('update'))).rejects.toMatchObject({ code: 'invalid-request' })
    expect(seen).toMatchObject({ sent: 1, waited: [] })
  })

  test('a write is not sent again to an active node that failed internally', async () => {
    const { relay, seen } = relayOver('failed')
    await expect(relay.send(request('update'))).rejects.toMatchObject({ code: 'bad-gateway' })
    expect(seen.sent).toBe(1)
  })

  test('a node that becomes active meanwhile executes a forwarded request itself', async () => {
    const { relay, seen } = relayOver('not active')
    seen.becomesActive = true
    await expect(relay.send(request('update'))).rejects.toBeInstanceOf(ServeLocally)
    expect(seen.sent).toBe(1)
  })

  test('the outcome of a write without a response from the second node is unknown', async () => {
    const { relay } = relayOver('not active', 'cut')
    await expect(relay.send(request('update'))).rejects.toMatchObject({ code: 'bad-gateway' })
  })

  test('a forwarded request is retried until an elected node is reachable', async () => {
    const { relay, seen } = relayFor(5, ['unreachable', 'unreachable', 'not active', 'unreachable', OK])
    expect((await relay.send(request('update'))).status).toBe(200)
    expect(seen).toMatchObject({ sent: 2, waited: [1, 2, 3, 4] })
  })

  test('a forwarded request that no node accepted fails as unavailable', async () => {
    const { relay } = relayFor(1, ['not active', 'not active', 'unreachable'])
    await expect(relay.send(request('update'))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('nobody listens there'),
    })
  })

  test('a forwarded request without an active node fails with the documented text', async () => {
    const { relay, seen } = relayOver(OK)
    seen.leader = undefined
    await expect(relay.send(request('read'))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'local node not active but active cluster node not found',
    })
    expect(seen.sent).toBe(0)
  })
})
