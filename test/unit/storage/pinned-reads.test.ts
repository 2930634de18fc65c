import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import type { Store } from '../../../src/storage/store/store.js'
import { openStore } from '../../support/open-store.js'
import { until } from '../../support/until.js'
import { bytes, GatedEngine, openFixture, put } from './fixture.js'

const REMOTE = { index: 7, hash: Buffer.alloc(20, 1), epoch: 'e' }

const keysOf = async (store: Store, prefix: string): Promise<string[]> => {
  const keys: string[] = []
  for await (const chunk of store.scanKeys({ prefix })) keys.push(...chunk)
  return keys
}

const read = (store: Store, key: string): string | undefined => store.get(key)?.toString()

describe('while reads are pinned over a resync', () => {
  it('pinned reads return the state before the resync until it is complete', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', 'old')
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('new') }])
    await store.importMutations([{ key: 'logical/b', value: bytes('new') }])
    expect([read(store, 'logical/a'), read(store, 'logical/b')]).toEqual(['old', undefined])
    expect(await keysOf(store, 'logical/')).toEqual(['logical/a'])
    const { value } = await store.write((tx) => tx.get('logical/a')?.toString())
    expect(value).toBe('old')
    await store.importMutations([{ key: 'logical/c', value: bytes('new') }], REMOTE)
    expect(await keysOf(store, 'logical/')).toEqual(['logical/a', 'logical/b', 'logical/c'])
    expect(read(store, 'logical/a')).toBe('new')
  })

  it('pinned reads do not affect local keys', async () => {
    const { store } = await openFixture()
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('new') }])
    await put(store, 'sys/token/x', '1')
    expect(read(store, 'sys/token/x')).toBe('1')
    expect(await keysOf(store, 'sys/token/')).toEqual(['sys/token/x'])
  })

  it('a resync announces its keys only when they can be read', async () => {
    const { store } = await openFixture()
    const told: string[] = []
    store.onCommit(({ mutations }) => told.push(...[...mutations].map(({ key }) => `${key}=${read(store, key)}`)))
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('1') }])
    await store.importMutations([{ key: 'logical/b', value: bytes('2') }])
    expect(told).toEqual([])
    await store.importMutations([], REMOTE)
    expect(told).toEqual(['logical/a=1', 'logical/b=2'])
  })

  it('an aborted resync hides its data until the next one is complete', async () => {
    const { store } = await openFixture()
    await put(store, 'logical/a', 'old')
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('half') }])
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('whole') }])
    expect(read(store, 'logical/a')).toBe('old')
    await store.importMutations([], REMOTE)
    expect(read(store, 'logical/a')).toBe('whole')
    await put(store, 'logical/a', 'after')
    expect(read(store, 'logical/a')).toBe('after')
  })
})

it('a reopened storage reads current values, and announces the keys then and at the end', async () => {
  const path = await mkdtemp(join(tmpdir(), 'understudy-pinned-'))
  const level = await LevelEngine.open({ directory: path, createIfMissing: true })
  const engine = new GatedEngine(level)
  const clock = new ManualClock()
  const store = await openStore({ engine, clock })
  const told: string[] = []
  store.onCommit(({ mutations }) => told.push(...[...mutations].map(({ key }) => key)))
  store.holdReads()
  await store.importMutations([{ key: 'logical/a', value: bytes('1') }])
  engine.failure = new Error('no space left on device')
  await expect(store.importMutations([{ key: 'logical/b', value: bytes('2') }])).rejects.toThrow('no space')
  engine.failure = undefined
  clock.advance(1000)
  await until(() =>
    put(store, 'sys/token/x', '1').then(
      () => true,
      () => false,
    ),
  )
  expect([read(store, 'logical/a'), await keysOf(store, 'logical/')]).toEqual(['1', ['logical/a']])
  expect(told.indexOf('logical/a')).toBe(0)
  store.holdReads()
  await store.importMutations([{ key: 'logical/b', value: bytes('2') }])
  await store.importMutations([], REMOTE)
  expect(read(store, 'logical/b')).toBe('2')
  expect(new Set(told)).toEqual(new Set(['sys/token/x', 'logical/a', 'logical/b']))
  await store.close()
  await engine.close()
  await rm(path, { recursive: true })
})

it('without pinned reads, an import is visible at once', async () => {
  const { store } = await openFixture()
  await store.importMutations([{ key: 'logical/a', value: bytes('new') }])
  expect(read(store, 'logical/a')).toBe('new')
})
