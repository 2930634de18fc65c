import { describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { Barrier } from '../../../src/storage/barrier/barrier.js'
import { FAMILIES, KEYS, SHARED_SEAL_KEYS } from '../../../src/storage/keys/key-families.js'
import type { Store } from '../../../src/storage/store/store.js'
import { bytes, copyAll, entriesAfter, openFixture, remoteOf, rootsOf } from './fixture.js'

const ROOT = Buffer.alloc(32, 1)

const barrierOver = (
  store: Store,
  clock: Awaited<ReturnType<typeof openFixture>>['clock'],
  seed = 'barrier',
): Barrier => new Barrier({ store, clock, random: createSeededRandom(seed) })

const unsealed = async () => {
  const fixture = await openFixture()
  const barrier = barrierOver(fixture.store, fixture.clock)
  await barrier.initialize(ROOT)
  barrier.unseal(ROOT)
  return { ...fixture, barrier }
}

const put = (barrier: Barrier, key: string, text: string) => barrier.write((tx) => tx.put(key, bytes(text)))

describe('a barrier', () => {
  it('a barrier returns the written value, and stores ciphertext', async () => {
    const { barrier, store } = await unsealed()
    const { value, index } = await barrier.write((tx) => {
      tx.put('logical/a', bytes('the plain text'))
      return tx.get('logical/a')?.toString()
    })
    expect([value, index]).toEqual(['the plain text', 2])
    expect(barrier.get('logical/a')).toEqual(bytes('the plain text'))
    const stored = store.get('logical/a')
    expect(stored?.includes('plain')).toBe(false)
    expect(stored?.subarray(0, 5).toString('hex')).toBe('0100000001')
    await put(barrier, 'logical/a', 'the plain text')
    expect(store.get('logical/a')).not.toEqual(stored)
    expect(barrier.get('logical/none')).toBeUndefined()
    await put(barrier, 'logical/empty', '')
    expect(barrier.get('logical/empty')).toEqual(Buffer.alloc(0))
  })

  it('a sealed barrier rejects all keys except plain ones', async () => {
    const { barrier } = await unsealed()
    await put(barrier, 'logical/a', '1')
    barrier.seal()
    const sealed = { code: 'sealed', message: 'Vault is sealed' }
    expect(barrier.isSealed).toBe(true)
    expect(() => barrier.get('logical/a')).toThrow(expect.objectContaining(sealed))
    expect(() => barrier.get('logical/none')).toThrow(expect.objectContaining(sealed))
    await expect(put(barrier, 'logical/a', '2')).rejects.toMatchObject(sealed)
    await expect(barrier.write((tx) => tx.get('logical/a'))).rejects.toMatchObject(sealed)
    expect(() => barrier.deriveKey('x')).toThrow(expect.objectContaining(sealed))
    await expect(barrier.view('logical/').list('')).rejects.toMatchObject(sealed)
    await put(barrier, 'core/seal-config', '{}')
    expect(barrier.get('core/seal-config')).toEqual(bytes('{}'))
    barrier.unseal(ROOT)
    expect(barrier.get('logical/a')).toEqual(bytes('1'))
  })

  it('a barrier opens only with the correct root key', async () => {
    const { barrier, store, clock } = await unsealed()
    const other = barrierOver(store, clock)
    expect(other.isInitialized).toBe(true)
    expect(other.isRootKey(Buffer.alloc(32, 2))).toBe(false)
    expect(() => other.unseal(Buffer.alloc(32, 2))).toThrow('does not decrypt')
    expect(other.isSealed).toBe(true)
    expect(other.isRootKey(ROOT)).toBe(true)
    await expect(barrier.initialize(ROOT)).rejects.toThrow('already initialized')
    const fresh = await openFixture()
    const empty = barrierOver(fresh.store, fresh.clock)
    expect(empty.isInitialized).toBe(false)
    expect(() => empty.unseal(ROOT)).toThrow('not initialized')
  })

  it('a barrier never returns a value that was moved to another key or changed', async () => {
    const { barrier, store } = await unsealed()
    await put(barrier, 'logical/a', 'value')
    const stored = store.get('logical/a') ?? Buffer.alloc(0)
    const failure = expect.objectContaining({ code: 'internal' })
    await store.write((tx) => tx.put('logical/b', stored))
    expect(() => barrier.get('logical/b')).toThrow(failure)
    for (let at = 0; at < stored.length; at++) {
      const flipped = Buffer.from(stored)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      await store.write((tx) => tx.put('logical/a', flipped))
      expect(() => barrier.get('logical/a'), `byte ${at}`).toThrow(failure)
    }
    await store.write((tx) => tx.put('logical/a', bytes('short')))
    expect(() => barrier.get('logical/a')).toThrow(failure)
    await expect(barrier.write((tx) => tx.get('logical/a'))).rejects.toMatchObject({ code: 'internal' })
  })

  it('a barrier reads old values after a rotation, and writes new ones with the new term', async () => {
    const { barrier, store, clock } = await unsealed()
    await put(barrier, 'logical/a', 'old')
    const derived = barrier.deriveKey('purpose')
    clock.advance(5000)
    expect(await barrier.rotate()).toBe(2)
    expect(barrier.activeTerm).toEqual({ term: 2, sinceMs: clock.now() })
    await put(barrier, 'logical/b', 'new')
    expect(store.get('logical/b')?.readUInt32BE(1)).toBe(2)
    const again = barrierOver(store, clock)
    again.unseal(ROOT)
    expect([again.get('logical/a'), again.get('logical/b')]).toEqual([bytes('old'), bytes('new')])
    expect(again.deriveKey('purpose')).toEqual(derived)
    expect(again.deriveKey('another')).not.toEqual(derived)
  })

  it('a barrier exports its keys to a joining cluster, which can then read replicated data', async () => {
    const { barrier, store } = await unsealed()
    await put(barrier, 'core/seal-config', 'config')
    await put(barrier, 'logical/a', 'shared')
    const joined = await openFixture({}, undefined, 'joined')
    const other = barrierOver(joined.store, joined.clock, 'other')
    await joined.store.importMutations(SHARED_SEAL_KEYS.map((key) => ({ key, value: store.get(key) })))
    other.unseal(ROOT)
    expect(other.get('core/seal-config')).toEqual(bytes('config'))
    expect(joined.store.isResyncing).toBe(true)
    await copyAll(store, joined.store)
    expect(other.get('logical/a')).toEqual(bytes('shared'))
    expect(other.deriveKey('x')).toEqual(barrier.deriveKey('x'))
    expect(rootsOf(joined.store)).toEqual(rootsOf(store))

    // A rotation arrives together with the values that need it.
    const from = store.position.index
    await barrier.rotate()
    await put(barrier, 'logical/b', 'after rotation')
    await joined.store.applyEntries(await entriesAfter(store, from), remoteOf(store))
    expect(other.activeTerm.term).toBe(2)
    expect(other.get('logical/b')).toEqual(bytes('after rotation'))
  })

  it('a barrier seals when the keyring of another set replaces its own', async () => {
    const { barrier, store } = await unsealed()
    const foreign = await openFixture({}, undefined, 'foreign')
    const other = barrierOver(foreign.store, foreign.clock, 'foreign')
    await other.initialize(Buffer.alloc(32, 7))
    await copyAll(foreign.store, store)
    expect(barrier.isSealed).toBe(true)
  })

  it('a barrier stores only listed keys in plain text', async () => {
    const { barrier, store } = await unsealed()
    for (const { at, isFolder, isPlain } of FAMILIES) {
      const key = isFolder ? `${at}x` : at
      if (key === KEYS.keyring) continue
      await put(barrier, key, 'CANARY')
      expect(store.get(key)?.includes('CANARY'), key).toBe(isPlain)
    }
  })
})

describe('a view', () => {
  const filled = async () => {
    const { barrier } = await unsealed()
    const view = barrier.view('logical/mount/')
    await view.write((tx) => {
      for (const key of ['a', 'a/x', 'a/y/z', 'b/1', 'b/2', 'c', 'd/e/f', 'é/x']) tx.put(key, bytes(key))
    })
    await put(barrier, 'logical/mountain', 'x')
    await put(barrier, 'logical/mount0/x', 'x')
    return { barrier, view }
  }

  it('a view sees only the keys of its prefix', async () => {
    const { barrier, view } = await filled()
    expect(view.get('a')).toEqual(bytes('a'))
    expect(barrier.get('logical/mount/a/x')).toEqual(bytes('a/x'))
    expect(await view.write((tx) => tx.get('c')?.toString())).toBe('c')
    await view.write((tx) => tx.delete('c'))
    expect(view.get('c')).toBeUndefined()
    expect(await view.keys('')).toEqual(['a', 'a/x', 'a/y/z', 'b/1', 'b/2', 'd/e/f', 'é/x'])
    expect(await view.keys('a/')).toEqual(['a/x', 'a/y/z'])
    expect(await view.keys('a/', { after: 'x' })).toEqual(['a/y/z'])
    expect(await view.keys('', { limit: 2 })).toEqual(['a', 'a/x'])
  })

  it('a view lists names and folders once each, sorted', async () => {
    const { view } = await filled()
    expect(await view.list('')).toEqual(['a', 'a/', 'b/', 'c', 'd/', 'é/'])
    expect(await view.list('a/')).toEqual(['x', 'y/'])
    expect(await view.list('none/')).toEqual([])
  })

  it('a view lists names after a given one, up to a limit', async () => {
    const { view } = await filled()
    expect(await view.list('', { limit: 3 })).toEqual(['a', 'a/', 'b/'])
    expect(await view.list('', { after: 'a', limit: 2 })).toEqual(['a/', 'b/'])
    expect(await view.list('', { after: 'a/' })).toEqual(['b/', 'c', 'd/', 'é/'])
    expect(await view.list('', { after: 'b' })).toEqual(['b/', 'c', 'd/', 'é/'])
    expect(await view.list('', { after: 'bb' })).toEqual(['c', 'd/', 'é/'])
    expect(await view.list('', { after: 'é/' })).toEqual([])
  })

  it('a view lists names beside a folder larger than a chunk', async () => {
    const { barrier } = await unsealed()
    const view = barrier.view('logical/m/')
    await view.write((tx) => {
      for (let i = 0; i < 2500; i++) tx.put(`big/${String(i).padStart(4, '0')}`, bytes('x'))
      tx.put('big', bytes('x'))
      tx.put('big0', bytes('x'))
      tx.put('z', bytes('x'))
    })
    expect(await view.list('')).toEqual(['big', 'big/', 'big0', 'z'])
    expect(await view.list('big/')).toHaveLength(2500)
    expect(await view.list('', { after: 'big/' })).toEqual(['big0', 'z'])
  })
})
