import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shortHash } from '../../../src/crypto/digest.js'
import { leafHash, subPageOf, xorOf } from '../../../src/storage/trees/leaf.js'
import { MerkleTree } from '../../../src/storage/trees/merkle.js'
import { categoryOf } from '../../../src/storage/keys/key-families.js'
import type { Store } from '../../../src/storage/store/store.js'
import { bytes, openFixture, put, rootsOf, textOf } from './fixture.js'

/** Returns the tree over some entries, computed from the definition. */
const treeOver = (entries: ReadonlyMap<string, string>): MerkleTree => {
  const tree = new MerkleTree()
  for (const [key, value] of entries) tree.change(subPageOf(key), leafHash(key, bytes(value)))
  return tree
}

const KEYS = [
  'logical/a',
  'logical/b',
  'logical/c',
  'auth/a',
  'sys/token/a',
  'cubbyhole/b',
  'core/replication/announced/x',
]
const step = fc.record({
  key: fc.constantFrom(...KEYS),
  value: fc.option(fc.string({ maxLength: 8 }), { nil: undefined }),
})
/** Transactions that are queued together and then awaited, and the events in between. */
const rounds = fc.array(
  fc.record({
    transactions: fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 5 }),
    afterwards: fc.constantFrom('nothing', 'crash', 'trim', 'rebuild'),
  }),
  { maxLength: 8 },
)

const rootsOver = (model: ReadonlyMap<string, string>): string[] =>
  (['replicated', 'local'] as const).map((tree) => {
    const entries = [...model].filter(([key]) => categoryOf(key) === tree)
    return treeOver(new Map(entries)).root().toString('hex')
  })

describe('a store beside a map', () => {
  it('a store equals a map in data and roots after any transactions, crashes, trims and rebuilds', async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (script) => {
        let fixture = await openFixture({ walRetentionEntries: 16 })
        const model = new Map<string, string>()
        for (const { transactions, afterwards } of script) {
          await Promise.all(transactions.map((steps) => run(fixture.store, steps, model)))
          if (afterwards === 'crash') {
            fixture.disk.crash()
            fixture = await openFixture({ walRetentionEntries: 16 }, fixture.disk)
          }
          if (afterwards === 'trim') fixture.clock.advance(1000)
          if (afterwards === 'rebuild') expect((await fixture.store.rebuild()).replicated.size).toBe(0)
          for (const key of KEYS) expect(textOf(fixture.store, key)).toBe(model.get(key))
          expect(rootsOf(fixture.store)).toEqual(rootsOver(model))
        }
      }),
      { numRuns: 60, verbose: true },
    )
  })
})

const run = async (
  store: Store,
  steps: readonly { key: string; value: string | undefined }[],
  model: Map<string, string>,
): Promise<void> => {
  for (const { key, value } of steps) {
    if (value === undefined) model.delete(key)
    else model.set(key, value)
  }
  await store.write((tx) => {
    for (const { key, value } of steps) {
      if (value === undefined) tx.delete(key)
      else tx.put(key, bytes(value))
    }
  })
}

describe('a merkle tree', () => {
  it('a merkle tree has the root of its definition', () => {
    const entries = new Map([
      ['logical/a', '1'],
      ['logical/b', '2'],
    ])
    const level = (children: Buffer, span: number): Buffer => {
      const out: Buffer[] = []
      for (let at = 0; at < children.length; at += span * 20) out.push(shortHash(children.subarray(at, at + span * 20)))
      return Buffer.concat(out)
    }
    const subPages = Buffer.alloc(65_536 * 20)
    for (const [key, value] of entries) {
      const at = subPageOf(key) * 20
      xorOf(subPages.subarray(at, at + 20), leafHash(key, bytes(value))).copy(subPages, at)
    }
    const pages = level(level(subPages, 16), 16)
    const tree = treeOver(entries)
    expect(tree.pages()).toEqual(pages)
    expect(tree.root()).toEqual(shortHash(pages))
    const page = subPageOf('logical/a') >> 8
    expect(tree.groups(page)).toEqual(level(subPages, 16).subarray(page * 320, (page + 1) * 320))
    expect(tree.subPages(subPageOf('logical/a') >> 4).includes(leafHash('logical/a', bytes('1')))).toBe(true)
  })

  it('every empty merkle tree has the same root', () => {
    const tree = treeOver(new Map([['logical/a', '1']]))
    expect(tree.root()).not.toEqual(new MerkleTree().root())
    tree.change(subPageOf('logical/a'), leafHash('logical/a', bytes('1')))
    expect(tree.root()).toEqual(new MerkleTree().root())
    expect(new MerkleTree().pages()).toHaveLength(256 * 20)
  })

  it('a merkle tree distinguishes keys and values with the same concatenation', () => {
    expect(leafHash('ab', bytes('c'))).not.toEqual(leafHash('a', bytes('bc')))
  })

  it('a frozen copy of a merkle tree does not change', () => {
    const tree = treeOver(new Map([['logical/a', '1']]))
    const frozen = tree.frozen()
    const root = tree.root()
    tree.change(1, Buffer.alloc(20, 1))
    expect(frozen.root()).toEqual(root)
    expect(tree.root()).not.toEqual(root)
  })
})

const clean = { replicated: new Map(), local: new Map() }

describe('checking and rebuilding', () => {
  it('a rebuild finds and repairs a page that is corrupt in memory, also for the next start', async () => {
    const { store, disk } = await openFixture()
    for (let i = 0; i < 100; i++) await put(store, `logical/${i}`, 'x')
    const roots = rootsOf(store)
    expect((await store.examine()).pages).toEqual(clean)
    store.corruptPage('replicated', 17)
    expect(rootsOf(store)).not.toEqual(roots)
    expect((await store.examine()).pages).toEqual({ replicated: new Map([[17, [0]]]), local: new Map() })
    const progress: number[] = []
    const found = await store.rebuild({ onProgress: (done, total) => progress.push(done / total) })
    expect(found.replicated).toEqual(new Map([[17, [0]]]))
    expect(progress.at(-1)).toBe(1)
    expect(rootsOf(store)).toEqual(roots)
    disk.crash()
    expect(rootsOf((await openFixture({}, disk)).store)).toEqual(roots)
  })

  it('a rebuild with skipFlush repairs without writing pages', async () => {
    const { store, disk } = await openFixture()
    await put(store, 'logical/a', 'x')
    const roots = rootsOf(store)
    store.corruptPage('replicated', 3)
    await store.rebuild({ skipFlush: true })
    expect(rootsOf(store)).toEqual(roots)
    disk.crash()
    expect(rootsOf((await openFixture({}, disk)).store)).toEqual(roots)
  })

  it('a rebuild repairs wrong, missing and extra leaf records', async () => {
    const { store, disk } = await openFixture()
    for (const name of ['a', 'b', 'c']) await put(store, `logical/${name}`, name)
    const roots = rootsOf(store)
    const raw = (key: string): string => `ir${subPageOf(key).toString(16).padStart(4, '0')}${key}`
    disk.map.set(raw('logical/a'), Buffer.alloc(20, 7))
    disk.map.delete(raw('logical/b'))
    disk.map.set(raw('logical/ghost'), Buffer.alloc(20, 9))
    expect((await store.examine()).pages.replicated.size).toBeGreaterThan(0)
    await store.rebuild()
    expect((await store.examine()).pages).toEqual(clean)
    expect(rootsOf(store)).toEqual(roots)
    expect(disk.map.get(raw('logical/ghost'))).toBeUndefined()
  })

  it('a rebuild is correct while the same keys are written', async () => {
    const { store, disk, engine } = await openFixture()
    for (let i = 0; i < 50; i++) await put(store, `logical/${i}`, 'x')
    for (let i = 0; i < 50; i += 2) {
      const key = `logical/${i}`
      const raw = `ir${subPageOf(key).toString(16).padStart(4, '0')}${key}`
      if (i % 4 === 0) disk.map.delete(raw)
      else disk.map.set(raw, Buffer.alloc(20, i))
    }
    const scan = engine.scan
    let isFirst = true
    // Writes continue between the start of the scan and the repair.
    engine.scan = async function* (range, options) {
      yield* scan(range, options)
      if (!isFirst) return
      isFirst = false
      for (let i = 0; i < 50; i += 3) await put(store, `logical/${i}`, 'new')
      await store.write((tx) => tx.put('logical/8', tx.get('logical/8') ?? bytes('x')))
      await store.write((tx) => tx.delete('logical/4'))
      await store.write((tx) => tx.delete('logical/5'))
    }
    await store.rebuild()
    engine.scan = scan
    expect((await store.examine()).pages).toEqual(clean)
    expect((await store.rebuild()).replicated.size).toBe(0)
  })

  it('a check ends when its signal is aborted', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', 'x')
    await expect(store.examine(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
  })
})

describe('examining data', () => {
  const raw = (key: string): string => `ir${subPageOf(key).toString(16).padStart(4, '0')}${key}`

  it.each<
    [
      string,
      (map: Map<string, Buffer> | { set(k: string, v: Buffer): void; delete(k: string): void }) => void,
      RegExp | undefined,
    ]
  >([
    ['that is whole', () => undefined, undefined],
    [
      'that lost a key',
      (map) => map.delete('dlogical/a'),
      /^replicated data has changed since it was written, in 1 of /,
    ],
    [
      'with a wrong value',
      (map) => map.set('dlogical/a', bytes('b')),
      /^replicated data has changed since it was written/,
    ],
    ['whose key became another', (map) => map.set('dlogicbl/a', bytes('a')), /^an unknown key: "logicbl\/a"$/],
    ['whose index alone is wrong', (map) => map.delete(raw('logical/a')), undefined],
  ])('an examination reports what %s has lost', async (_name, spoil, expected) => {
    const { store, disk } = await openFixture()
    for (const name of ['a', 'b', 'c']) await put(store, `logical/${name}`, name)
    spoil(disk.map)
    const { damage } = await store.examine()
    if (expected) expect(damage).toEqual([expect.stringMatching(expected)])
    else expect(damage).toEqual([])
  })

  it('an examination does not report a corrupted page as damage', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', 'a')
    store.corruptPage('replicated', 3)
    const { pages, damage } = await store.examine()
    expect([pages.replicated.size, damage]).toEqual([1, []])
  })
})
