import { beforeEach, describe, expect, it } from 'vitest'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

const TIME = '2023-11-14T22:13:20.000Z'
const FRESH = {
  cas_required: false,
  created_time: TIME,
  current_version: 0,
  custom_metadata: null,
  delete_version_after: '0s',
  max_versions: 0,
  oldest_version: 0,
  updated_time: TIME,
  versions: {},
}

describe('metadata of KV version 2', () => {
  let kv: BackendHarness
  beforeEach(() => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
  })

  const metadata = async (path = 'a') => dataOf(await kv.read(`metadata/${path}`))

  it('KV metadata can be written before the first version, and the data stays unknown', async () => {
    expect(await kv.write('metadata/a', { max_versions: 2, custom_metadata: { owner: 'ops' } })).toBeUndefined()
    expect(await metadata()).toEqual({ ...FRESH, max_versions: 2, custom_metadata: { owner: 'ops' } })
    expect(await kv.read('data/a')).toBeUndefined()
  })

  it('KV metadata shows the versions', async () => {
    await kv.write('data/a', { data: {} })
    kv.clock.advance(1000)
    await kv.write('data/a', { data: {} })
    await kv.call('delete', 'data/a')
    await kv.write('destroy/a', { versions: [1] })
    expect(await metadata()).toEqual({
      ...FRESH,
      current_version: 2,
      updated_time: '2023-11-14T22:13:21.000Z',
      versions: {
        1: { created_time: TIME, deletion_time: '', destroyed: true },
        2: { created_time: '2023-11-14T22:13:21.000Z', deletion_time: '2023-11-14T22:13:21.000Z', destroyed: false },
      },
    })
  })

  it('a write of KV metadata keeps absent fields', async () => {
    await kv.write('metadata/a', { max_versions: 2, cas_required: true, delete_version_after: '1h30m' })
    await kv.write('metadata/a', { custom_metadata: { team: 'blue' } })
    await kv.write('metadata/a', {})
    expect(await metadata()).toMatchObject({
      max_versions: 2,
      cas_required: true,
      delete_version_after: '1h30m0s',
      custom_metadata: { team: 'blue' },
    })
  })

  it('KV data shows its custom metadata', async () => {
    await kv.write('metadata/a', { custom_metadata: { n: 5 } })
    expect(dataOf(await kv.write('data/a', { data: {} }))).toMatchObject({ custom_metadata: { n: '5' } })
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ metadata: { custom_metadata: { n: '5' } } })
  })

  it.each([
    [{ ['k'.repeat(129)]: 'v' }, `length of key "${'k'.repeat(129)}" is 129 but must be 0 < len(key) <= 128`],
    [{ '': 'v' }, 'length of key "" is 0 but must be 0 < len(key) <= 128'],
    [{ k: 'v'.repeat(513) }, 'length of value for key "k" is 513 but must be 0 < len(value) <= 512'],
    [{ k: '' }, 'length of value for key "k" is 0 but must be 0 < len(value) <= 512'],
    [{ k: 'a\u0007' }, 'value for key "k" contains unprintable characters'],
    [
      Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v'])),
      'payload must contain at most 64 keys, provided 65',
    ],
  ])('KV metadata rejects custom metadata over its limits', async (custom_metadata, reason) => {
    expect(await refusal(kv.write('metadata/a', { custom_metadata }))).toEqual([
      'invalid-request',
      `1 error occurred:\n\t* custom_metadata validation failed: ${reason}\n\n`,
    ])
    expect(await kv.read('metadata/a')).toBeUndefined()
  })

  it('KV metadata accepts custom metadata up to its limits', async () => {
    const custom_metadata = Object.fromEntries(
      Array.from({ length: 64 }, (_, n) => [`${n}`.padEnd(128, 'k'), 'v'.repeat(512)]),
    )
    await kv.write('metadata/a', { custom_metadata })
    expect(await metadata()).toMatchObject({ custom_metadata })
  })

  it('KV metadata rejects a negative delete_version_after', async () => {
    const [code, text] = await refusal(kv.write('metadata/a', { delete_version_after: '-1s' }))
    expect(code).toBe('invalid-request')
    expect(text).toMatch(/^error converting input for field "delete_version_after": /)
  })

  it('a patch of KV metadata removes null keys and sets the others', async () => {
    await kv.write('metadata/a', { custom_metadata: { n: '5', tier: '1' }, cas_required: true })
    expect(
      await kv.call('patch', 'metadata/a', { custom_metadata: { tier: null, new: 'x' }, max_versions: 5 }),
    ).toBeUndefined()
    expect(await metadata()).toMatchObject({
      custom_metadata: { n: '5', new: 'x' },
      max_versions: 5,
      cas_required: true,
    })
    await kv.call('patch', 'metadata/a', { custom_metadata: null })
    expect(await metadata()).toMatchObject({ custom_metadata: null })
  })

  it('a patch of missing KV metadata is 404 without a body', async () => {
    expect(await kv.call('patch', 'metadata/none', { max_versions: 5 })).toEqual({ status: 404 })
  })

  it('deleting KV metadata removes the key with all its versions', async () => {
    await kv.write('data/a', { data: {} })
    await kv.write('data/a', { data: {} })
    expect(await kv.call('delete', 'metadata/a')).toBeUndefined()
    expect(await kv.storage.keys('')).toEqual([])
    expect(dataOf(await kv.write('data/a', { data: {} }))).toMatchObject({ version: 1 })
  })

  it('KV metadata lists keys and folders', async () => {
    for (const path of ['a', 'new', 'dir/one', 'dir/sub/two']) await kv.write(`data/${path}`, { data: {} })
    expect(dataOf(await kv.list('metadata'))).toEqual({ keys: ['a', 'dir/', 'new'] })
    expect(dataOf(await kv.list('metadata/dir'))).toEqual({ keys: ['one', 'sub/'] })
    expect(await kv.list('metadata/none')).toBeUndefined()
  })

  it('KV metadata warns if a key disables a requirement of the mount', async () => {
    await kv.write('config', { cas_required: true })
    expect(await kv.write('metadata/a', { cas_required: false })).toEqual({
      warnings: ['"cas_required" set to false, but is mandated by backend config. This value will be ignored.'],
    })
  })
})

describe('the configuration of a version 2 mount', () => {
  let kv: BackendHarness
  beforeEach(() => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
  })

  const config = async () => dataOf(await kv.read('config'))

  it('a new KV version 2 mount has an empty configuration', async () => {
    expect(await config()).toEqual({ cas_required: false, delete_version_after: '0s', max_versions: 0 })
  })

  it('a write of the KV configuration keeps absent fields', async () => {
    expect(
      await kv.write('config', { max_versions: 3, cas_required: true, delete_version_after: '2h' }),
    ).toBeUndefined()
    await kv.write('config', { cas_required: false })
    expect(await config()).toEqual({ cas_required: false, delete_version_after: '2h0m0s', max_versions: 3 })
  })

  it('the KV configuration accepts a negative delete_version_after, which means never', async () => {
    await kv.write('config', { delete_version_after: '-1s' })
    expect(await config()).toMatchObject({ delete_version_after: '-1s' })
  })

  it.each([{ max_versions: 'many' }, { delete_version_after: 'soon' }])('the KV config rejects %j', async (body) => {
    const [code, text] = await refusal(kv.write('config', body))
    expect(code).toBe('invalid-request')
    expect(text).toMatch(/^Field validation failed: error converting input for field "/)
  })

  it('the KV configuration cannot be deleted', async () => {
    expect(await refusal(kv.call('delete', 'config'))).toEqual(['unsupported-operation', 'unsupported operation'])
  })

  it('the KV configuration is read again after replication changed it', async () => {
    await config()
    await kv.storage.write((tx) =>
      tx.put('config', Buffer.from('{"maxVersions":7,"casRequired":false,"deleteVersionAfterSeconds":0}')),
    )
    expect(await config()).toMatchObject({ max_versions: 7 })
  })
})
