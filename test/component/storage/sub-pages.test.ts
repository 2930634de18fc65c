import { describe, expect, it } from 'vitest'
import { leafHash, subPageOf } from '../../../src/storage/trees/leaf.js'
import { bytes, openFixture, put } from '../../unit/storage/fixture.js'

const SUB_PAGES = 65_536

const filled = async () => {
  const { store, engine } = await openFixture()
  const keys = Array.from({ length: 300 }, (_, n) => `logical/k${n}`)
  for (const key of keys) await put(store, key, key)
  await put(store, 'sys/token/local', 'of the other tree')
  const { scan } = engine
  const counted = { scans: 0 }
  engine.scan = (...args) => {
    counted.scans++
    return scan(...args)
  }
  return { store, keys, counted }
}

describe('leaves of sub-pages', () => {
  it('leaves of adjacent sub-pages are read by one scan', async () => {
    const { store, keys, counted } = await filled()
    const snapshot = store.snapshot()
    const rows = await snapshot.leaves('replicated', [...new Array(SUB_PAGES).keys()])
    expect(counted.scans).toBe(1)
    expect(rows.map(({ subPage }) => subPage)).toEqual([...new Array(SUB_PAGES).keys()])
    const found = rows.flatMap(({ subPage, leaves }) => leaves.map(({ key, leaf }) => ({ subPage, key, leaf })))
    const expected = keys.map((key) => ({ subPage: subPageOf(key), key, leaf: leafHash(key, bytes(key)) }))
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    expect(found.sort(byKey)).toEqual(expected.sort(byKey))
    await snapshot.close()
  })

  it('leaves of sub-pages at small distances are read by one scan, without those in between', async () => {
    const { store, keys, counted } = await filled()
    const snapshot = store.snapshot()
    const even = [...new Array(SUB_PAGES / 2).keys()].map((n) => 2 * n)
    const rows = await snapshot.leaves('replicated', even)
    expect(counted.scans).toBe(1)
    expect(rows.map(({ subPage }) => subPage)).toEqual(even)
    const found = rows.flatMap(({ leaves }) => leaves.map(({ key }) => key))
    expect(found.sort()).toEqual(keys.filter((key) => subPageOf(key) % 2 === 0).sort())
    await snapshot.close()
  })

  it('leaves of distant sub-pages are read by one scan if nothing is stored in between', async () => {
    const { store, keys, counted } = await filled()
    const used = [...new Set(keys.map(subPageOf))].sort((a, b) => a - b)
    const snapshot = store.snapshot()
    const rows = await snapshot.leaves('replicated', used)
    expect(counted.scans).toBe(1)
    expect(rows.map(({ subPage }) => subPage)).toEqual(used)
    expect(rows.flatMap(({ leaves }) => leaves.map(({ key }) => key)).sort()).toEqual([...keys].sort())
    await snapshot.close()
  })

  it('leaves of sub-pages with much data in between are read by separate scans', async () => {
    const { store, counted } = await filled()
    const snapshot = store.snapshot()
    const rows = await snapshot.leaves('replicated', [0, 13_000, 26_000, 39_000, 52_000, 65_000])
    expect(counted.scans).toBe(6)
    expect(rows.map(({ subPage }) => subPage)).toEqual([0, 13_000, 26_000, 39_000, 52_000, 65_000])
    await snapshot.close()
  })

  it('leaves of sub-pages are returned in the requested order, including gaps and duplicates', async () => {
    const { store, keys } = await filled()
    const snapshot = store.snapshot()
    const [first = 0, second = 0] = keys.map(subPageOf)
    const asked = [SUB_PAGES - 1, second, first, first + 1, 0, first]
    const rows = await snapshot.leaves('replicated', asked)
    expect(rows.map(({ subPage }) => subPage)).toEqual(asked)
    for (const { subPage, leaves } of rows) {
      expect(leaves.map(({ key }) => key)).toEqual(keys.filter((key) => subPageOf(key) === subPage).sort())
    }
    await snapshot.close()
  })
})
