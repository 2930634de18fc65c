import { afterEach, describe, expect, test } from 'vitest'
import type { HoldState } from '../../../src/replication/model/types.js'
import { openStore, pair, put, stopAll, stopLater, TestFollower } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

const never = (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('a revoked secondary', () => {
  test('revocation cuts a secondary from a live stream, and it gets no later write', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary, set } = await pair('dr', a, b)
    const other = await TestFollower.start({ kind: 'dr', store: await openStore(), set, id: 'o', primary })
    stopLater(other.follower)
    await secondary.caughtUp(a, 'dr')
    await other.caughtUp(a, 'dr')
    const writing = put(a, 'logical/x/raced', 'x')
    primary.revoke('s')
    expect(primary.server.registry.find('s')).toBeUndefined()
    await writing
    await put(a, 'logical/x/after', 'x')
    await until(() => secondary.follower.state === 'idle')
    expect(secondary.follower.connectionState).toBe('transient_failure')
    expect(secondary.follower.refusal).toBe('revoked')
    await other.caughtUp(a, 'dr')
    expect(b.get('logical/x/after')).toBeUndefined()
    expect(b.get('logical/x/raced')).toBeUndefined()
  })

  test.each<HoldState>(['merkle-diff', 'merkle-sync', 'apply'])(
    'a revoked secondary is disconnected in state %s',
    async (held) => {
      const [a, b] = [await openStore(), await openStore()]
      for (let i = 0; i < 200; i++) await put(a, `logical/x/${i}`, 'x')
      let isHeld = false
      const { primary, secondary } = await pair('dr', a, b, {
        prepare: (follower) => {
          follower.onState = async (state, signal) => {
            if (state !== held) return
            isHeld = true
            await never(signal)
          }
        },
      })
      if (held === 'apply') {
        await until(() => secondary.follower.state === 'stream-wals')
        await put(a, 'logical/x/last', 'x')
      }
      await until(() => isHeld)
      primary.revoke('s')
      await put(a, 'logical/x/after', 'x')
      await until(() => secondary.follower.refusal === 'revoked')
      expect(secondary.follower.state).toBe('idle')
      expect(b.get('logical/x/after')).toBeUndefined()
      expect(b.get('logical/x/last')).toBeUndefined()
    },
  )

  test('a revoked secondary streams again after a new registration', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b)
    await secondary.caughtUp(a, 'dr')
    primary.revoke('s')
    await until(() => secondary.follower.state === 'idle')
    await put(a, 'logical/x/after', 'x')
    primary.registered.add('s')
    await secondary.caughtUp(a, 'dr')
    expect(b.get('logical/x/after')?.toString()).toBe('x')
  })
})

describe('two clusters with one secondary ID', () => {
  test('the newest cluster with a secondary ID is accepted, and the other one is rejected as superseded', async () => {
    const [a, c, d] = [await openStore(), await openStore(), await openStore()]
    const { set, primary, secondary } = await pair('performance', a, c)
    await secondary.caughtUp(a, 'performance')
    const credentials = await set.credentials('cn-s')
    const successor = await TestFollower.start({
      kind: 'performance',
      store: d,
      set,
      id: 's',
      primary,
      credentials,
      incarnation: 1,
      clusterId: 'cluster-d',
    })
    stopLater(successor.follower)
    await successor.caughtUp(a, 'performance')
    await until(() => secondary.follower.refusal === 'superseded')
    await put(a, 'logical/x/after', 'x')
    await successor.caughtUp(a, 'performance')
    expect(c.get('logical/x/after')).toBeUndefined()
    expect(secondary.follower.connectionState).toBe('transient_failure')
    expect(primary.server.registry.find('s')).toMatchObject({ clusterId: 'cluster-d', isConnected: true })
  })
})

describe('a primary that the follower rejects', () => {
  test('a follower does not follow a primary that it rejects', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { secondary } = await pair('dr', a, b, {
      prepare: (follower) => {
        follower.objection = 'its epoch is older than ours'
      },
    })
    await put(a, 'logical/x/1', 'x')
    await until(() => secondary.follower.refusal === 'epoch')
    expect(b.get('logical/x/1')).toBeUndefined()
    secondary.objection = undefined
    await secondary.caughtUp(a, 'dr')
  })
})
