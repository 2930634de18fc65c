import { describe, expect, it } from 'vitest'
import type { FirstCopy } from '../../../src/storage/sync/first-copy.js'
import { LiveEngine } from '../../../src/storage/engine/live-engine.js'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import { Packer } from '../../../src/storage/sync/packed.js'
import type { Tree } from '../../../src/storage/keys/key-families.js'
import type { Store } from '../../../src/storage/store/store.js'
import { openStore } from '../../support/replication-fixture.js'
import {
  bytes,
  GatedEngine,
  entriesAfter,
  openFixture,
  put,
  remoteOf,
  rootsOf,
  textOf,
} from '../../unit/storage/fixture.js'

const CLEAN = { replicated: new Map(), local: new Map() }

/** Returns all entries of a tree, with a few entries in each buffer. */
const packedOf = async (store: Store, tree: Tree, entriesEach = 7): Promise<Buffer[]> => {
  const packer = new Packer(64)
  const packed: Buffer[] = []
  const snapshot = store.snapshot()
  let count = 0
  for await (const chunk of snapshot.scan(tree)) {
    for (const { key, value } of chunk) {
      packer.add(key, value)
      if (++count % entriesEach === 0) packed.push(packer.take())
    }
  }
  await snapshot.close()
  return [...packed, packer.take()]
}

const primaryWith = async (keys: number): Promise<Store> => {
  const { store } = await openFixture({}, undefined, 'primary')
  for (let i = 0; i < keys; i++) await put(store, `logical/uuid/${i}`, `value ${i}`)
  await put(store, 'core/keyring', 'keys')
  await put(store, 'sys/token/t', 't')
  return store
}

/** Copies both trees with a write after most buffers, and completes the resync. */
const copyTrees = async (from: Store, to: Store): Promise<void> => {
  const copy = to.firstCopy()
  for (const tree of ['replicated', 'local'] as const) {
    for (const packed of await packedOf(from, tree)) {
      copy.add(tree, packed)
      if (packed.length > 100) await writeStep(to, copy)
    }
  }
  await to.importMutations([], remoteOf(from), [], copy)
}

const writeStep = (store: Store, copy: FirstCopy): Promise<void> => store.importMutations([], undefined, [], copy)

describe('a first copy', () => {
  it('a first copy makes data and roots equal, with new leaves for every key', async () => {
    const primary = await primaryWith(300)
    const { store, disk } = await openFixture({}, undefined, 'secondary')
    await copyTrees(primary, store)
    expect(rootsOf(store)).toEqual(rootsOf(primary))
    expect(textOf(store, 'logical/uuid/7')).toBe('value 7')
    expect((await store.examine()).pages).toEqual(CLEAN)
    expect([store.remotePosition, store.isResyncing]).toEqual([remoteOf(primary), false])
    disk.crash()
    const { store: again } = await openFixture({}, disk)
    expect(rootsOf(again)).toEqual(rootsOf(primary))
    expect((await again.examine()).pages).toEqual(CLEAN)
  })

  it('a first copy continues with log entries of the primary', async () => {
    const primary = await primaryWith(50)
    const { store } = await openFixture({}, undefined, 'secondary')
    await copyTrees(primary, store)
    const { index } = primary.position
    await put(primary, 'logical/uuid/7', 'changed')
    await primary.write((tx) => tx.delete('logical/uuid/8'))
    expect(await store.applyEntries(await entriesAfter(primary, index), remoteOf(primary))).toBe(true)
    expect(rootsOf(store)).toEqual(rootsOf(primary))
    expect((await store.examine()).pages).toEqual(CLEAN)
  })

  it('a first copy replaces the previous data and reports it', async () => {
    const primary = await primaryWith(50)
    const { store } = await openFixture({}, undefined, 'secondary')
    await put(store, 'core/keyring', 'of another life')
    await put(store, 'logical/uuid/extra', 'extra')
    const copy = store.firstCopy()
    for (const packed of await packedOf(primary, 'replicated')) copy.add('replicated', packed)
    expect(copy.length).toBe(51)
    expect([...copy.replaced]).toEqual(['core/keyring'])
    await store.importMutations([{ key: 'logical/uuid/extra', value: undefined }], remoteOf(primary), [], copy)
    expect([copy.length, copy.bytes]).toEqual([0, 0])
    expect(rootsOf(store)[0]).toBe(rootsOf(primary)[0])
    expect(textOf(store, 'core/keyring')).toBe('keys')
    expect((await store.examine()).pages).toEqual(CLEAN)
  })

  it('a first copy discards the remembered deletion of a key', async () => {
    const primary = await primaryWith(5)
    const { store } = await openFixture({}, undefined, 'secondary')
    await put(store, 'logical/uuid/3', 'old')
    await store.write((tx) => tx.delete('logical/uuid/3'))
    await copyTrees(primary, store)
    await put(store, 'logical/uuid/3', 'new')
    await put(primary, 'logical/uuid/3', 'new')
    expect(rootsOf(store)).toEqual(rootsOf(primary))
  })

  it('a crash during a first copy leaves whole batches and a pending resync', async () => {
    const primary = await primaryWith(100)
    const { store, disk, engine } = await openFixture({}, undefined, 'secondary')
    const [first = Buffer.alloc(0), ...rest] = await packedOf(primary, 'replicated')
    const copy = store.firstCopy()
    copy.add('replicated', first)
    await writeStep(store, copy)
    expect(engine.durable.at(-1)).toBe(true)
    for (const packed of rest) copy.add('replicated', packed)
    const roots = rootsOf(store)
    disk.crash()
    const { store: again } = await openFixture({}, disk)
    expect([again.isResyncing, again.remotePosition, rootsOf(again)]).toEqual([true, undefined, roots])
    expect((await again.examine()).pages).toEqual(CLEAN)
  })

  it('a first copy reports its keys after they are durable, and truncates the log', async () => {
    const { store, engine } = await openFixture()
    await put(store, 'logical/uuid/old', 'x')
    const { position } = store
    const commits: [string, string[]][] = []
    store.onCommit(({ origin, mutations }) => commits.push([origin, [...mutations].map(({ key }) => key)]))
    const packer = new Packer(64)
    packer.add('logical/uuid/b', bytes('1'))
    packer.add('logical/uuid/a', bytes('2'))
    const copy = store.firstCopy()
    copy.add('replicated', packer.take())
    const open = engine.shut()
    const written = writeStep(store, copy)
    expect(commits).toEqual([])
    open()
    await written
    expect(commits).toEqual([['resynced', ['logical/uuid/b', 'logical/uuid/a']]])
    expect(store.hasPosition(position)).toBe(false)
  })

  it('a first copy without entries leaves the log unchanged', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', '1')
    const { position } = store
    const copy = store.firstCopy()
    copy.add('local', Buffer.alloc(0))
    await writeStep(store, copy)
    expect([store.position, store.isResyncing]).toEqual([position, false])
  })

  it('a first copy discards what was not written', async () => {
    const primary = await primaryWith(20)
    const { store } = await openFixture({}, undefined, 'secondary')
    const copy = store.firstCopy()
    for (const packed of await packedOf(primary, 'replicated')) copy.add('replicated', packed)
    copy.discard()
    await writeStep(store, copy)
    expect([copy.length, store.isResyncing, textOf(store, 'logical/uuid/1')]).toEqual([0, false, undefined])
  })

  it('a first copy rejects keys of another tree and malformed entries', async () => {
    const { store } = await openFixture()
    const packer = new Packer(64)
    packer.add('core/replication/announced/x', bytes('1'))
    expect(() => store.firstCopy().add('replicated', packer.take())).toThrow('a key of another')
    expect(() => store.firstCopy().add('replicated', bytes('nonsense'))).toThrow('damaged')
  })

  it.each([
    ['switches to another generation', (live: LiveEngine) => void live.switchTo(new MemoryEngine())],
    ['gets a follower', (live: LiveEngine) => live.follow()],
  ])('a first copy restarts if the engine %s', async (_what, change) => {
    const primary = await primaryWith(20)
    const engine = new GatedEngine(new MemoryEngine())
    const live = new LiveEngine(engine)
    const store = await openStore(live)
    const copy = store.firstCopy()
    const packed = await packedOf(primary, 'replicated')
    for (const some of packed) copy.add('replicated', some)
    change(live)
    await expect(writeStep(store, copy)).rejects.toThrow('moved')
    expect(engine.discarded).toBe(1)
    expect([store.isResyncing, textOf(store, 'logical/uuid/1')]).toEqual([false, undefined])
    for (const some of packed) copy.add('replicated', some)
    await writeStep(store, copy)
    expect(textOf(store, 'logical/uuid/1')).toBe('value 1')
  })
})
