import { describe, expect, it } from 'vitest'
import { NO_LEAF, subPageOf } from '../../../src/storage/trees/leaf.js'
import type { WalEntry } from '../../../src/storage/keys/replicable.js'
import { decodeFrame, parseFrame } from '../../../src/storage/log/frame.js'
import type { Store } from '../../../src/storage/store/store.js'
import { bytes, copyAll, entriesAfter, openFixture, put, remoteOf, rootsOf, textOf } from './fixture.js'

const pairOfStores = async (): Promise<{ primary: Store; secondary: Store }> => {
  const { store: primary } = await openFixture({}, undefined, 'primary')
  const { store: secondary } = await openFixture({}, undefined, 'secondary')
  await copyAll(primary, secondary)
  return { primary, secondary }
}

describe('applying entries of another log', () => {
  it('applied entries make data, roots and log bodies equal, with own indexes', async () => {
    const { primary, secondary } = await pairOfStores()
    await put(secondary, 'core/replication/announced/x', 'own')
    await put(primary, 'logical/a', '1')
    await primary.write((tx) => {
      tx.put('logical/b', bytes('2'))
      tx.put('sys/token/t', bytes('3'))
    })
    await primary.write((tx) => tx.delete('logical/a'))
    const commits: unknown[] = []
    secondary.onCommit(({ origin, mutations }) => commits.push([origin, [...mutations].map(({ key }) => key)]))
    expect(await secondary.applyEntries(await entriesAfter(primary, 0), remoteOf(primary))).toBe(true)
    expect(rootsOf(secondary)).toEqual(rootsOf(primary))
    expect(textOf(secondary, 'logical/b')).toBe('2')
    expect(secondary.remotePosition).toEqual(remoteOf(primary))
    expect(commits).toEqual([['applied', ['logical/a', 'logical/b', 'sys/token/t', 'logical/a']]])
    const own = await entriesAfter(secondary, secondary.firstIndex - 1)
    const theirs = await entriesAfter(primary, 0)
    expect(own.map((entry) => entry.bytes)).toEqual(theirs.map((entry) => entry.bytes))
    expect(secondary.position.hash).not.toEqual(primary.position.hash)
  })

  it('the applied entries of one frame keep its body unchanged', async () => {
    const { primary, secondary } = await pairOfStores()
    await put(primary, 'logical/a', '1')
    const [frame] = (await primary.framesAfter(0, 1 << 20)) ?? []
    if (frame === undefined) throw new Error('no frame')
    const parsed = await parseFrame(Buffer.from(frame.bytes))
    expect(parsed).toMatchObject({ firstIndex: 1, lastIndex: 1, hasReplicated: true, hasLocal: false })
    await secondary.applyEntries(decodeFrame(frame), remoteOf(primary))
    const [copy] = (await secondary.framesAfter(secondary.firstIndex - 1, 1 << 20)) ?? []
    expect(copy?.body).toEqual(frame.body)
  })

  it('entries for diverged data are rejected and change nothing', async () => {
    const { primary, secondary } = await pairOfStores()
    await put(primary, 'logical/a', '1')
    await put(secondary, 'logical/b', 'diverged')
    await put(primary, 'logical/b', '2')
    const before = { roots: rootsOf(secondary), position: secondary.position, remote: secondary.remotePosition }
    expect(await secondary.applyEntries(await entriesAfter(primary, 0), remoteOf(primary))).toBe(false)
    expect({ roots: rootsOf(secondary), position: secondary.position, remote: secondary.remotePosition }).toEqual(
      before,
    )
    expect(textOf(secondary, 'logical/a')).toBeUndefined()
    expect(await secondary.applyEntries((await entriesAfter(primary, 0)).slice(0, 1), remoteOf(primary))).toBe(true)
  })

  it('applied entries survive a crash together with their position', async () => {
    const { store: primary } = await openFixture({}, undefined, 'primary')
    const { store, disk } = await openFixture({}, undefined, 'secondary')
    await copyAll(primary, store)
    await put(primary, 'logical/a', '1')
    await store.applyEntries(await entriesAfter(primary, 0), remoteOf(primary))
    disk.crash()
    const again = await openFixture({}, disk)
    expect(again.store.remotePosition).toEqual(remoteOf(primary))
    expect(rootsOf(again.store)).toEqual(rootsOf(primary))
    await again.store.forgetRemote()
    expect(again.store.remotePosition).toBeUndefined()
  })

  it('a frame without content for this store stores the position alone', async () => {
    const { primary, secondary } = await pairOfStores()
    const { position } = secondary
    await put(primary, 'sys/token/t', '1')
    const local: WalEntry[] = (await entriesAfter(primary, 0)).map(({ index }) => ({ index, operations: [] }))
    expect(await secondary.applyEntries(local, remoteOf(primary))).toBe(true)
    expect(secondary.remotePosition?.index).toBe(1)
    expect(secondary.position).toEqual(position)
  })

  it('applied entries take filtered changes into the roots without a key', async () => {
    const { primary, secondary } = await pairOfStores()
    await put(primary, 'logical/secret', '1')
    await put(primary, 'logical/secret', '2')
    await put(primary, 'logical/open', '3')
    const filtered: WalEntry[] = (await entriesAfter(primary, 0)).map(({ index, operations }) => ({
      index,
      operations: operations.map((operation) =>
        operation.key === 'logical/open'
          ? operation
          : {
              key: '',
              category: operation.category,
              value: undefined,
              delta: operation.delta,
              filtered: { subPage: subPageOf(operation.key) },
            },
      ),
    }))
    expect(await secondary.applyEntries(filtered, remoteOf(primary))).toBe(true)
    expect(rootsOf(secondary)).toEqual(rootsOf(primary))
    expect(textOf(secondary, 'logical/secret')).toBeUndefined()
    expect((await secondary.examine()).pages).toEqual({ replicated: new Map(), local: new Map() })
    const snapshot = secondary.snapshot()
    const [page] = await snapshot.leaves('replicated', [subPageOf('logical/secret')])
    expect(page?.filtered).toBeDefined()
    await snapshot.close()

    // A copy follows this store only through its log.
    const { store: copy } = await openFixture({}, undefined, 'copy')
    await copy.importMutations([], { ...remoteOf(secondary), index: secondary.firstIndex - 1 })
    await copy.applyEntries(await entriesAfter(secondary, secondary.firstIndex - 1), remoteOf(secondary))
    expect(rootsOf(copy)).toEqual(rootsOf(primary))

    // The filter is removed: the keys arrive, and nothing is filtered any more.
    const entries = { replicated: [{ key: 'logical/secret', value: bytes('2') }] }
    const hash = NO_LEAF
    await secondary.importMutations(entries.replicated, remoteOf(primary), [
      { tree: 'replicated', subPage: subPageOf('logical/secret'), hash },
    ])
    expect(rootsOf(secondary)).toEqual(rootsOf(primary))
    expect((await secondary.examine()).pages).toEqual({ replicated: new Map(), local: new Map() })
  })
})

describe('importing a resync', () => {
  it('an imported resync makes roots equal and truncates the log, so that followers notice', async () => {
    const { store: primary } = await openFixture({}, undefined, 'primary')
    for (let i = 0; i < 300; i++) await put(primary, `logical/${i}`, `${i}`)
    await put(primary, 'sys/token/t', 't')
    const { store: secondary } = await openFixture({}, undefined, 'secondary')
    for (let i = 0; i < 5; i++) await put(secondary, `logical/${i}`, 'old')
    const { position } = secondary
    await copyAll(primary, secondary)
    expect(rootsOf(secondary)).toEqual(rootsOf(primary))
    expect(secondary.hasPosition(position)).toBe(false)
    expect(await secondary.framesAfter(position.index, 1 << 20)).toBeUndefined()
    expect(secondary.position.index).toBeGreaterThan(position.index)
    expect(secondary.firstIndex).toBe(secondary.position.index + 1)
    expect(secondary.hasPosition(secondary.position)).toBe(true)
    expect([secondary.lastReplicatedIndex, secondary.lastShippedIndex]).toEqual([
      secondary.position.index,
      secondary.position.index,
    ])
    await put(secondary, 'sys/token/x', '1')
    expect((await secondary.framesAfter(secondary.firstIndex - 1, 1 << 20))?.length).toBe(1)
  })

  it('a resync is pending until it gets its position, also over a crash', async () => {
    const { store, disk } = await openFixture()
    await put(store, 'logical/a', 'old')
    await store.importMutations([{ key: 'logical/b', value: bytes('1') }])
    expect([store.isResyncing, store.remotePosition]).toEqual([true, undefined])
    const roots = rootsOf(store)
    disk.crash()
    const { store: again, disk: same } = await openFixture({}, disk)
    expect([again.isResyncing, rootsOf(again)]).toEqual([true, roots])
    const remote = { index: 7, hash: Buffer.alloc(20, 1), epoch: 'e' }
    await again.importMutations([{ key: 'logical/a', value: undefined }], remote)
    expect([again.isResyncing, again.remotePosition]).toEqual([false, remote])
    const complete = rootsOf(again)
    same.crash()
    const { store: third } = await openFixture({}, same)
    expect(rootsOf(third)).toEqual(complete)
    expect((await third.examine()).pages).toEqual({ replicated: new Map(), local: new Map() })
  })

  it('a resync without changes does not truncate the log', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    const { position } = store
    await store.importMutations([], { index: 7, hash: Buffer.alloc(20, 1), epoch: 'e' })
    expect(store.position).toEqual(position)
    expect((await store.framesAfter(0, 1 << 20))?.length).toBe(1)
  })

  it('a resync removes the truncated frames from disk', async () => {
    const { store, clock, disk } = await openFixture()
    for (let i = 0; i < 20; i++) await put(store, `logical/${i}`, 'x')
    await store.importMutations([{ key: 'logical/b', value: bytes('1') }])
    clock.advance(1000)
    await store.write(() => undefined)
    for (let i = 1; i <= 20; i++) expect(disk.map.get(`w${i.toString(16).padStart(14, '0')}`)).toBeUndefined()
  })
})

describe('a snapshot', () => {
  it('a snapshot has data, trees and position of one index during writes', async () => {
    const { store, engine } = await openFixture()
    await put(store, 'logical/a', '1')
    const roots = rootsOf(store)
    const snapshot = store.snapshot()
    await put(store, 'logical/a', '2')
    await put(store, 'logical/b', '2')
    expect(snapshot.position.index).toBe(1)
    expect(rootsOf(snapshot)).toEqual(roots)
    expect(snapshot.get('logical/a')).toEqual(bytes('1'))
    expect((await snapshot.leaves('replicated', [subPageOf('logical/b')]))[0]?.leaves).toEqual([])
    await snapshot.close()
    expect(engine.batches.length).toBeGreaterThan(0)
  })

  it('a snapshot during a batch contains it completely or not at all', async () => {
    for (const [when, index, text] of [
      ['before', 1, '1'],
      ['after', 2, '2'],
    ] as const) {
      const { store, engine } = await openFixture()
      await put(store, 'logical/a', '1')
      const open = engine.shut(when)
      const written = put(store, 'logical/a', '2')
      while (engine.batches.length < 3 || engine.get('dlogical/a')?.toString() !== text) await Promise.resolve()
      const snapshot = store.snapshot()
      expect(store.position.index).toBe(1)
      expect([snapshot.position.index, snapshot.get('logical/a')?.toString()]).toEqual([index, text])
      open()
      await written
      expect(rootsOf(snapshot)[0] === rootsOf(store)[0]).toBe(when === 'after')
      await snapshot.close()
    }
  })

  it('a snapshot scans each tree separately, in key order, from any key', async () => {
    const { store } = await openFixture()
    const keys = [
      'logical/b',
      'auth/x/y',
      'logical/a',
      'core/keyring',
      'core/cluster/replicated/x',
      'core/cluster/replicated-dr/x',
      'sys/token/t',
      'local/logical/m/x',
    ]
    for (const key of keys) await put(store, key, key)
    const snapshot = store.snapshot()
    const scan = async (tree: 'replicated' | 'local', after?: string): Promise<string[]> => {
      const found: string[] = []
      for await (const chunk of snapshot.scan(tree, after)) found.push(...chunk.map(({ key }) => key))
      return found
    }
    expect(await scan('replicated')).toEqual(['auth/x/y', 'core/keyring', 'logical/a', 'logical/b'])
    expect(await scan('local')).toEqual(['core/cluster/replicated/x', 'local/logical/m/x', 'sys/token/t'])
    expect(await scan('replicated', 'core/keyring')).toEqual(['logical/a', 'logical/b'])
    expect(await scan('replicated', 'logical/a')).toEqual(['logical/b'])
    expect(await scan('replicated', 'logical/b')).toEqual([])
    await snapshot.close()
  })
})
