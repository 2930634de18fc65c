import { afterEach, describe, expect, test } from 'vitest'
import { areEqual, openStore, pair, put, stopAll } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

describe('a connected secondary', () => {
  test('a secondary receives a first copy and then every write with the same bytes', async () => {
    const [a, b] = [await openStore(), await openStore()]
    for (let i = 0; i < 200; i++) await put(a, `logical/x/${i}`, `value ${i}`)
    await put(a, 'sys/token/id/1', 'token')
    const { secondary } = await pair('dr', a, b)
    await secondary.caughtUp(a, 'dr')
    for (let i = 0; i < 50; i++) await put(a, `logical/x/${i}`, `changed ${i}`)
    await a.write((tx) => tx.delete('logical/x/60'))
    await secondary.caughtUp(a, 'dr')
    expect(b.get('logical/x/7')?.toString()).toBe('changed 7')
    expect(b.get('logical/x/60')).toBeUndefined()
    expect(b.get('sys/token/id/1')?.toString()).toBe('token')
    expect(secondary.states).toEqual(['merkle-diff', 'merkle-sync', 'stream-wals'])
  })

  test('a performance secondary receives no local key and keeps its own', async () => {
    const [a, b] = [await openStore(), await openStore()]
    await put(a, 'sys/token/id/a', 'of a')
    await put(b, 'sys/token/id/b', 'of b')
    const { secondary } = await pair('performance', a, b)
    await a.write((tx) => {
      tx.put('logical/x/1', Buffer.from('shared'))
      tx.put('sys/token/id/mixed', Buffer.from('local'))
    })
    await put(a, 'sys/token/id/only-local', 'local')
    await put(a, 'logical/x/2', 'shared too')
    await secondary.caughtUp(a, 'performance')
    expect(b.get('logical/x/1')?.toString()).toBe('shared')
    expect(b.get('logical/x/2')?.toString()).toBe('shared too')
    expect(b.get('sys/token/id/a')).toBeUndefined()
    expect(b.get('sys/token/id/mixed')).toBeUndefined()
    expect(b.get('sys/token/id/only-local')).toBeUndefined()
    expect(b.get('sys/token/id/b')?.toString()).toBe('of b')
    await until(() => secondary.follower.applied?.index === a.position.index)
    expect(areEqual(a, b, 'performance')).toBe(true)
  })
})
