import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/storage/store.js'
import { bytes, openFixture, put } from './fixture.js'

const REMOTE = { index: 7, hash: Buffer.alloc(20, 1), epoch: 'e' }

const keysOf = async (store: Store, prefix: string): Promise<string[]> => {
  const keys: string[] = []
  for await (const chunk of store.scanKeys({ prefix })) keys.push(...chunk)
  return keys
}

const read = (store: Store, key: string): string | undefined => store.get(key)?.toString()

describe('while reads are held over a resync', () => {
  it('replicated keys are read as they were, until it is complete', async () => {
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

  it('local keys are read as they are', async () => {
    const { store } = await openFixture()
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('new') }])
    await put(store, 'sys/token/x', '1')
    expect(read(store, 'sys/token/x')).toBe('1')
    expect(await keysOf(store, 'sys/token/')).toEqual(['sys/token/x'])
  })

  it('nobody is told of the keys before they can be read, and of all of them then', async () => {
    const { store } = await openFixture()
    const told: string[] = []
    store.onCommit(({ mutations }) => told.push(...mutations.map(({ key }) => `${key}=${read(store, key)}`)))
    store.holdReads()
    await store.importMutations([{ key: 'logical/a', value: bytes('1') }])
    await store.importMutations([{ key: 'logical/b', value: bytes('2') }])
    expect(told).toEqual([])
    await store.importMutations([], REMOTE)
    expect(told).toEqual(['logical/a=1', 'logical/b=2'])
  })

  it('a resync that was broken off goes on hiding what it brought until the next one is complete', async () => {
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

it('without it an import is read at once', async () => {
  const { store } = await openFixture()
  await store.importMutations([{ key: 'logical/a', value: bytes('new') }])
  expect(read(store, 'logical/a')).toBe('new')
})
