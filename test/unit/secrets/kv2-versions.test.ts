import { beforeEach, describe, expect, it } from 'vitest'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

describe('delete, undelete and destroy of KV version 2', () => {
  let kv: BackendHarness
  beforeEach(async () => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
    for (const k of ['1', '2', '3']) await kv.write('data/a', { data: { k } })
  })

  const statusOf = async (version: string) => (await kv.read('data/a', { version }))?.status ?? 200

  it.each([[[1, 2]], [['1', '2']], ['1,2'], ['1, 2'], [['1', 2]]])('KV version 2 deletes %j', async (versions) => {
    expect(await kv.write('delete/a', { versions })).toBeUndefined()
    expect(await Promise.all(['1', '2', '3'].map(statusOf))).toEqual([404, 404, 200])
  })

  it('delete, undelete and destroy accept a single number', async () => {
    await kv.write('delete/a', { versions: 2 })
    expect(await Promise.all(['1', '2', '3'].map(statusOf))).toEqual([200, 404, 200])
  })

  it('undelete restores deleted versions', async () => {
    await kv.write('delete/a', { versions: [1, 3] })
    await kv.write('undelete/a', { versions: ['1', '3', '9'] })
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ data: { k: '3' }, metadata: { deletion_time: '' } })
    expect(await statusOf('1')).toBe(200)
  })

  it('undelete never restores destroyed versions', async () => {
    await kv.write('destroy/a', { versions: [1] })
    await kv.write('undelete/a', { versions: [1] })
    const response = await kv.read('data/a', { version: '1' })
    expect(response?.status).toBe(404)
    expect(dataOf(response)).toMatchObject({ data: null, metadata: { destroyed: true, deletion_time: '', version: 1 } })
  })

  it('destroy removes the data of versions from storage', async () => {
    await kv.write('destroy/a', { versions: [1, 3] })
    expect(await kv.storage.keys('versions/')).toEqual(['versions/a/2'])
  })

  it('the next KV version follows a destroyed latest version', async () => {
    await kv.write('destroy/a', { versions: [3] })
    expect(dataOf(await kv.write('data/a', { data: {} }))).toMatchObject({ version: 4 })
  })

  it('delete, undelete and destroy without versions fail with their own texts', async () => {
    expect(await refusal(kv.write('delete/a', {}))).toEqual(['invalid-request', 'No version number provided'])
    expect(await refusal(kv.write('undelete/a', { versions: '' }))).toEqual([
      'invalid-request',
      'No version number provided',
    ])
    expect(await refusal(kv.write('destroy/a', { versions: [] }))).toEqual([
      'invalid-request',
      'no version number provided',
    ])
  })

  it.each([[['one']], [[-1]], [[1.5]], [[{}]]])('KV delete, undelete and destroy reject %j', async (versions) => {
    const [, text] = await refusal(kv.write('destroy/a', { versions }))
    expect(text).toMatch(/^Field validation failed: error converting input for field "versions": /)
  })

  it.each(['delete', 'undelete', 'destroy'])('%s of an unknown key does nothing', async (verb) => {
    expect(await kv.write(`${verb}/none`, { versions: [1] })).toBeUndefined()
    expect(await kv.storage.keys('metadata/none')).toEqual([])
  })

  it('delete, undelete and destroy reject a read', async () => {
    expect(await refusal(kv.read('destroy/a'))).toEqual(['unsupported-operation', 'unsupported operation'])
  })
})

describe('the window of versions', () => {
  let kv: BackendHarness
  beforeEach(() => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
  })

  const putMany = async (count: number) => {
    for (let n = 0; n < count; n++) await kv.write('data/a', { data: {} })
  }
  const numbers = async () => Object.keys((dataOf(await kv.read('metadata/a')) as { versions: object }).versions)

  it('KV version 2 keeps ten versions by default, and drops the data of older ones', async () => {
    await putMany(12)
    expect(await numbers()).toEqual(['3', '4', '5', '6', '7', '8', '9', '10', '11', '12'])
    expect(dataOf(await kv.read('metadata/a'))).toMatchObject({ oldest_version: 3, current_version: 12 })
    expect(await kv.storage.keys('versions/')).toHaveLength(10)
    expect(await kv.read('data/a', { version: '2' })).toBeUndefined()
  })

  it('the larger max_versions of key and mount applies', async () => {
    await kv.write('config', { max_versions: 3 })
    await kv.write('metadata/a', { max_versions: 2 })
    await putMany(5)
    expect(await numbers()).toEqual(['3', '4', '5'])
  })

  it('a smaller max_versions drops several versions at once', async () => {
    await putMany(6)
    await kv.write('metadata/a', { max_versions: 2 })
    await putMany(1)
    expect(await numbers()).toEqual(['6', '7'])
    expect(await kv.storage.keys('versions/')).toEqual(['versions/a/6', 'versions/a/7'])
  })

  it('oldest_version is 0 until a version was dropped', async () => {
    await putMany(10)
    expect(dataOf(await kv.read('metadata/a'))).toMatchObject({ oldest_version: 0 })
  })
})
