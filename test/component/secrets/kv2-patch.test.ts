import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { mergePatch } from '../../../src/secrets/kv/data.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

describe('KV v2 patch', () => {
  let kv: BackendHarness
  beforeEach(async () => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
    await kv.write('data/a', { data: { k: '1', deep: { x: 1, y: 2 } } })
  })

  const patch = (body: JsonObject, path = 'a') => kv.call('patch', `data/${path}`, body)

  it('a KV v2 patch merges into the latest version and writes the next one', async () => {
    expect(dataOf(await patch({ data: { deep: { y: null, z: 3 } } }))).toMatchObject({ version: 2, destroyed: false })
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ data: { k: '1', deep: { x: 1, z: 3 } } })
  })

  it('a KV v2 patch respects check-and-set', async () => {
    expect(dataOf(await patch({ options: { cas: 1 }, data: { k: '2' } }))).toMatchObject({ version: 2 })
    expect(await refusal(patch({ options: { cas: 1 }, data: { k: '3' } }))).toEqual([
      'invalid-request',
      'check-and-set parameter did not match the current version',
    ])
  })

  it('concurrent KV v2 patches are all applied', async () => {
    await Promise.all(Array.from({ length: 8 }, (_, n) => patch({ data: { [`p${n}`]: n } })))
    const { data } = dataOf(await kv.read('data/a')) as { data: object }
    expect(Object.keys(data).filter((key) => key.startsWith('p'))).toHaveLength(8)
  })

  it('a KV v2 patch of a missing secret answers 404 without a body', async () => {
    expect(await patch({ data: { k: '1' } }, 'none')).toEqual({ status: 404 })
    await kv.write('metadata/empty', {})
    expect(await patch({ data: { k: '1' } }, 'empty')).toEqual({ status: 404 })
  })

  it('a KV v2 patch of a deleted version answers 404 with its metadata', async () => {
    await kv.call('delete', 'data/a')
    const response = await patch({ data: { k: '2' } })
    expect(response?.status).toBe(404)
    expect(dataOf(response)).toEqual({
      created_time: expect.any(String),
      custom_metadata: null,
      deletion_time: expect.stringMatching(/^20/),
      destroyed: false,
      version: 1,
    })
    await kv.call('update', 'destroy/a', { versions: [1] })
    expect(dataOf(await patch({ data: { k: '2' } }))).toMatchObject({ destroyed: true, version: 1 })
  })

  it('a KV v2 patch fails if the result would exceed the limits of a write', async () => {
    const keys = (prefix: string) => Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`${prefix}${n}`, 0]))
    await patch({ data: keys('a') })
    expect(await refusal(patch({ data: { deep: keys('b') } }))).toEqual([
      'invalid-request',
      'error parsing JSON: more than 100000 members and elements',
    ])
    await patch({ data: { text: 'x'.repeat(20 * 1024 * 1024) } })
    expect(await refusal(patch({ data: { more: 'x'.repeat(20 * 1024 * 1024) } }))).toEqual([
      'body-too-large',
      'the patched secret would exceed the maximum size',
    ])
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ metadata: { version: 3 } })
  })

  it('a KV v2 patch requires data', async () => {
    expect(await refusal(patch({}))).toEqual(['invalid-request', 'no data provided'])
  })
})

describe('JSON merge patch', () => {
  const object = fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<JsonObject>

  it('a JSON merge patch is idempotent and removes keys with null', () => {
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const once = mergePatch(target, patch)
        expect(mergePatch(once, patch)).toEqual(once)
        for (const [key, value] of Object.entries(patch)) expect(Object.hasOwn(once, key)).toBe(value !== null)
      }),
    )
  })
})

describe('KV v2 subkeys', () => {
  let kv: BackendHarness
  beforeEach(async () => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
    await kv.write('data/a', { data: { k: '1', deep: { x: 1, more: { y: [1] }, none: {} } } })
  })

  it('KV v2 subkeys shows keys without values', async () => {
    expect(dataOf(await kv.read('subkeys/a'))).toMatchObject({
      subkeys: { k: null, deep: { x: null, more: { y: null }, none: null } },
      metadata: { version: 1 },
    })
  })

  it('KV v2 subkeys shows null for an empty nested map, and an empty map for an empty secret', async () => {
    await kv.write('data/e', { data: { a: {}, b: { c: {} } } })
    expect(dataOf(await kv.read('subkeys/e'))).toMatchObject({ subkeys: { a: null, b: { c: null } } })
    await kv.write('data/e', { data: {} })
    expect(dataOf(await kv.read('subkeys/e'))).toMatchObject({ subkeys: {} })
  })

  it('KV v2 subkeys stops at the requested depth', async () => {
    expect(dataOf(await kv.read('subkeys/a', { depth: '1' }))).toMatchObject({ subkeys: { k: null, deep: null } })
    expect(dataOf(await kv.read('subkeys/a', { depth: '2' }))).toMatchObject({
      subkeys: { k: null, deep: { x: null, more: null, none: null } },
    })
  })

  it('KV v2 subkeys of a deleted version answers 404 with null', async () => {
    await kv.call('delete', 'data/a')
    const response = await kv.read('subkeys/a')
    expect(response?.status).toBe(404)
    expect(dataOf(response)).toMatchObject({ subkeys: null, metadata: { version: 1 } })
    expect(await kv.read('subkeys/none')).toBeUndefined()
  })
})
