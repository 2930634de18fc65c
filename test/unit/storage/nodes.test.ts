import { describe, expect, it } from 'vitest'
import { LeadershipLost, OutcomeUnknown } from '../../../src/storage/shared-log/shared-log.js'
import { bytes, copyAll, openFixture, put, remoteOf, rootsOf, textOf } from './fixture.js'
import { contentOf, NodeWorld, TestNode } from './node-world.js'

const startAll = async (world: NodeWorld, ...names: string[]): Promise<TestNode[]> => {
  const nodes = names.map((name) => new TestNode(world, name))
  await Promise.all(nodes.map((node) => node.start()))
  return nodes
}

const [A, B] = ['logical/a', 'logical/b']

/** Starts a leader and a follower. */
const startTwo = async (entriesMax = 1000, options = {}) => {
  const world = new NodeWorld(entriesMax, options)
  const [leader, standby] = (await startAll(world, 'one', 'two')) as [TestNode, TestNode]
  await leader.lead()
  const level = () => world.until(() => standby.applied === world.log.end.index && leader.applied === standby.applied)
  return { world, leader, standby, level }
}

describe('a store that shares its log', () => {
  it('a store with a shared log rejects writes until it is the leader', async () => {
    const world = new NodeWorld(100)
    const [node] = (await startAll(world, 'one')) as [TestNode]
    await expect(put(node.store, A, '1')).rejects.toMatchObject({ code: 'read-only' })
    await node.lead()
    expect(await put(node.store, A, '1')).toBe(1)
    expect(textOf(node.store, A)).toBe('1')
  })

  it('standbys follow a store with the same data, log, trees and state', async () => {
    const { leader, standby, level } = await startTwo()
    for (let i = 0; i < 50; i++) await put(leader.store, `logical/${i % 20}`, `value ${i}`)
    await put(leader.store, 'sys/token/x', 'local')
    await put(leader.store, 'core/cluster/local/info', 'ignored')
    await leader.store.write((tx) => tx.delete('logical/3'))
    await leader.store.setEpoch('epoch-1')
    await level()
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    expect(rootsOf(standby.store)).toEqual(rootsOf(leader.store))
    expect(standby.store.position).toEqual(leader.store.position)
    expect(standby.store.epoch).toBe('epoch-1')
    expect(standby.store.walBytes).toBe(leader.store.walBytes)
    expect((await standby.store.framesAfter(0, 1 << 30))?.map(({ bytes }) => bytes.toString('hex'))).toEqual(
      (await leader.store.framesAfter(0, 1 << 30))?.map(({ bytes }) => bytes.toString('hex')),
    )
  })

  it('a store reports changes of other nodes to its caches before all other listeners', async () => {
    const { leader, standby, level } = await startTwo()
    const heard: string[] = []
    standby.store.onChange({
      backends: (key, origin) => heard.push(`${key} ${origin} ${textOf(standby.store, key)}`),
    })
    standby.store.onCommit(({ origin, lastIndex }, frame) => heard.push(`${origin} ${lastIndex} ${frame?.lastIndex}`))
    await put(leader.store, A, 'new')
    await level()
    expect(heard).toEqual([`${A} followed new`, 'followed 1 1'])
  })

  it('a write of a store waits for the shared log and not for its disk', async () => {
    const { leader } = await startTwo()
    await put(leader.store, A, '1')
    expect(leader.alive.engine.durable.includes(true)).toBe(false)
  })

  it('a store recovers from the shared log after its disk lost all data', async () => {
    const { world, leader, standby, level } = await startTwo()
    for (let i = 0; i < 10; i++) await put(leader.store, `logical/${i}`, 'x')
    await level()
    standby.crash()
    expect(contentOf(standby.disk)).toEqual({})
    await put(leader.store, A, 'while it was down')
    await standby.start()
    await level()
    expect(standby.imagesRead).toBe(0)
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    leader.crash()
    const leading = standby.lead()
    await world.until(() => standby.isLeading)
    await leading
    expect(await put(standby.store, B, 'next')).toBe(12)
  })

  it('a store reads the image if the shared log does not reach back', async () => {
    const { leader, standby, level } = await startTwo(10)
    await level()
    standby.crash()
    for (let i = 0; i < 40; i++) await put(leader.store, `logical/${i % 7}`, `value ${i}`)
    await standby.start()
    await level()
    expect(standby.imagesRead).toBe(1)
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    expect(rootsOf(standby.store)).toEqual(rootsOf(leader.store))
  })

  it('a store discards the data of another cluster and reads the image', async () => {
    const other = await startTwo()
    await put(other.leader.store, A, 'of another cluster')
    await other.level()
    const { world, leader, level } = await startTwo(3)
    for (let i = 0; i < 9; i++) await put(leader.store, `logical/${i}`, 'ours')
    const stray = new TestNode(world, 'stray')
    for (const [key, value] of Object.entries(contentOf(other.leader.disk))) {
      stray.disk.map.set(key, Buffer.from(value, 'hex'))
    }
    await stray.start()
    await level()
    await world.until(() => stray.applied === leader.applied)
    expect(stray.imagesRead).toBe(1)
    expect(contentOf(stray.disk)).toEqual(contentOf(leader.disk))
  })

  it('a store follows a log that is truncated, trimmed and checkpointed', async () => {
    const { world, leader, standby, level } = await startTwo(1000, { walRetentionEntries: 20 })
    for (let i = 0; i < 60; i++) await put(leader.store, `logical/${i}`, 'x')
    await world.until(() => leader.store.firstIndex > 30)
    await level()
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    expect(standby.store.firstIndex).toBe(leader.store.firstIndex)
    expect(standby.store.walBytes).toBe(leader.store.walBytes)

    const source = await openFixture()
    for (let i = 0; i < 30; i++) await put(source.store, `logical/${i * 3}`, 'from elsewhere')
    await copyAll(source.store, leader.store)
    await leader.store.applyEntries([], remoteOf(source.store))
    await level()
    expect(rootsOf(standby.store)).toEqual(rootsOf(leader.store))
    expect(standby.store.position).toEqual(leader.store.position)
    expect(standby.store.remotePosition).toEqual(leader.store.remotePosition)
    for (let i = 0; i < 60; i++) await put(leader.store, `logical/${i}`, 'again')
    await world.until(() => leader.store.firstIndex > 100)
    await level()
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    await leader.store.rebuild()
    await leader.store.close()
    await world.until(() => standby.applied === world.log.end.index)
    expect(contentOf(standby.disk)).toEqual(contentOf(leader.disk))
    const reports = (await standby.store.examine()).pages
    expect([reports.replicated.size, reports.local.size]).toEqual([0, 0])
  })

  it('a closed store of a node rejects a write with the error of an inactive node', async () => {
    const { leader } = await startTwo()
    await leader.store.close()
    await expect(put(leader.store, A, 'late')).rejects.toThrow(LeadershipLost)
    await expect(put(leader.store, A, 'late')).rejects.toThrow(/^this node is no longer the active node, try again$/)
  })

  it('a store acknowledges nothing after it lost leadership, and follows the next leader', async () => {
    const { world, leader, standby } = await startTwo()
    await put(leader.store, A, 'first')
    leader.alive.clock.freeze()
    const leading = standby.lead()
    await world.until(() => standby.isLeading)
    await leading
    await put(standby.store, A, 'second')
    const late = leader.store.write((tx) => tx.put(A, bytes('late')))
    await expect(late).rejects.toThrow('no longer the active node')
    await expect(put(leader.store, B, 'later')).rejects.toThrow(LeadershipLost)
    leader.alive.clock.thaw()
    await world.until(() => leader.applied === world.log.end.index)
    expect(textOf(leader.store, A)).toBe('second')
    expect(contentOf(leader.disk)).toEqual(contentOf(standby.disk))
    await expect(put(leader.store, B, 'still')).rejects.toThrow(LeadershipLost)
  })

  it('a store can become the leader again after another leader', async () => {
    const { world, leader, standby } = await startTwo()
    await put(leader.store, A, '1')
    await leader.leadership?.resign()
    await standby.lead()
    await put(standby.store, A, '2')
    await standby.leadership?.resign()
    await leader.lead()
    await put(leader.store, A, '3')
    await world.until(() => standby.applied === leader.applied)
    expect(textOf(standby.store, A)).toBe('3')
    expect(contentOf(leader.disk)).toEqual(contentOf(standby.disk))
  })

  it('a write without a response has an unknown outcome, and appears later if it was executed', async () => {
    const { world, leader } = await startTwo()
    leader.alive.shared.link.loseAnswers()
    const writes = [put(leader.store, A, 'happened'), put(leader.store, B, 'behind it')]
    const settled = Promise.allSettled(writes)
    await world.until(() => leader.leadership === undefined)
    expect(await settled).toMatchObject([
      { reason: expect.any(OutcomeUnknown) },
      { reason: expect.any(OutcomeUnknown) },
    ])
    expect(textOf(leader.store, A)).toBeUndefined()
    leader.alive.shared.link.heal()
    await world.until(() => leader.applied === world.log.end.index)
    expect(textOf(leader.store, A)).toBe('happened')
    const leading = leader.lead()
    await world.until(() => leader.isLeading)
    await leading
    expect(await put(leader.store, A, 'next')).toBe(3)
  })

  it('a store resigns the leadership if its disk fails after the log, and has the entry afterwards', async () => {
    const { world, leader, standby } = await startTwo()
    leader.alive.engine.failure = new Error('no disk')
    await expect(put(leader.store, A, 'in the log')).rejects.toThrow('outcome unknown')
    await expect(put(leader.store, B, 'refused')).rejects.toThrow('storage failed')
    await world.until(() => standby.applied === world.log.end.index)
    expect(textOf(standby.store, A)).toBe('in the log')
    const leading = standby.lead()
    await world.until(() => standby.isLeading)
    await leading
    await put(standby.store, B, 'goes on')
    leader.alive.engine.failure = undefined
    await world.until(() => leader.applied === world.log.end.index)
    expect(contentOf(leader.disk)).toEqual(contentOf(standby.disk))
  })
})
