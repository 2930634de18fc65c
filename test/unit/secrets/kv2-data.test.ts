import { beforeEach, describe, expect, it } from 'vitest'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { BackendHarness, dataOf, refusal, textOf } from '../../support/backend-harness.js'

const MISMATCH = ['invalid-request', 'check-and-set parameter did not match the current version']
const REQUIRED = ['invalid-request', 'check-and-set parameter required for this call']
const TIME = '2023-11-14T22:13:20.000Z'

describe('data of KV version 2', () => {
  let kv: BackendHarness
  beforeEach(() => {
    kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
  })

  const put = (data: Record<string, string>, path = 'a') => kv.write(`data/${path}`, { data })

  it('KV version 2 numbers versions from 1 and shows their time', async () => {
    const first = { created_time: TIME, custom_metadata: null, deletion_time: '', destroyed: false, version: 1 }
    expect(dataOf(await put({ k: '1' }))).toEqual(first)
    kv.clock.advance(1500)
    expect(dataOf(await put({ k: '2' }))).toEqual({ ...first, created_time: '2023-11-14T22:13:21.500Z', version: 2 })
  })

  it('KV version 2 reads the latest or the requested version', async () => {
    await put({ k: '1' })
    await put({ k: '2' })
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ data: { k: '2' }, metadata: { version: 2 } })
    expect(dataOf(await kv.read('data/a', { version: '0' }))).toMatchObject({ data: { k: '2' } })
    expect(dataOf(await kv.read('data/a', { version: '1' }))).toMatchObject({
      data: { k: '1' },
      metadata: { version: 1 },
    })
    expect(await kv.read('data/a', { version: '9' })).toBeUndefined()
    expect(await kv.read('data/none')).toBeUndefined()
  })

  it('KV version 2 writes metadata and version in one transaction', async () => {
    await put({ k: '1' })
    expect(kv.storage.writes).toBe(1)
  })

  it('KV version 2 keeps the text of data', async () => {
    await kv.write('data/a', '{"data":{"n":1.50,"big":12345678901234567890}}')
    const response = await kv.read('data/a')
    expect(response && textOf(response)).toContain('{"n":1.50,"big":12345678901234567890}')
  })

  it('KV version 2 accepts null and an empty object as data, but not missing data', async () => {
    expect(await refusal(kv.write('data/a', {}))).toEqual(['invalid-request', 'no data provided'])
    expect(dataOf(await kv.write('data/a', { data: null }))).toMatchObject({ version: 1 })
    const response = await kv.read('data/a')
    expect(response?.status).toBeUndefined()
    expect(dataOf(response)).toMatchObject({ data: null, metadata: { version: 1 } })
    expect(dataOf(await kv.write('data/a', { data: {} }))).toMatchObject({ version: 2 })
  })

  it('KV version 2 rejects data that is not an object with its own error text', async () => {
    const [code, text] = await refusal(kv.write('data/a', { data: 'text' }))
    expect(code).toBe('invalid-request')
    expect(text).toMatch(/^error converting input for field "data": /)
  })

  it('KV version 2 replaces only the version that check-and-set names', async () => {
    const cas = (value: unknown, path = 'a') =>
      kv.write(`data/${path}`, `{"options":{"cas":${JSON.stringify(value)}},"data":{}}`)
    expect(await refusal(cas(1))).toEqual(MISMATCH)
    expect(dataOf(await cas(0))).toMatchObject({ version: 1 })
    expect(await refusal(cas(0))).toEqual(MISMATCH)
    expect(dataOf(await cas('1'))).toMatchObject({ version: 2 })
    expect(await refusal(cas('x'))).toEqual(['invalid-request', 'error parsing check-and-set parameter'])
    expect(await refusal(cas(1.5))).toEqual(['invalid-request', 'error parsing check-and-set parameter'])
  })

  it('check-and-set with 0 fails for a deleted version', async () => {
    await put({ k: '1' })
    await kv.call('delete', 'data/a')
    expect(await refusal(kv.write('data/a', { options: { cas: 0 }, data: {} }))).toEqual(MISMATCH)
  })

  it('check-and-set with one version lets one of many concurrent writers succeed', async () => {
    await put({ k: '1' })
    const writes = Array.from({ length: 20 }, () => kv.write('data/a', { options: { cas: 1 }, data: { k: 'x' } }))
    const outcomes = await Promise.allSettled(writes)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(dataOf(await kv.read('metadata/a'))).toMatchObject({ current_version: 2 })
  })

  it('concurrent KV version 2 writes get separate versions', async () => {
    const answers = await Promise.all(Array.from({ length: 9 }, (_, index) => put({ k: `${index}` })))
    const versions = answers.map((answer) => (dataOf(answer) as { version: number }).version)
    expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('KV version 2 requires check-and-set if the key or the mount does', async () => {
    await kv.write('metadata/a', { cas_required: true })
    expect(await refusal(put({ k: '1' }))).toEqual(REQUIRED)
    await kv.write('config', { cas_required: true })
    expect(await refusal(put({ k: '1' }, 'b'))).toEqual(REQUIRED)
    expect(dataOf(await kv.write('data/b', { options: { cas: 0 }, data: {} }))).toMatchObject({ version: 1 })
  })

  it('KV version 2 answers a deleted version with 404 and its metadata', async () => {
    await put({ k: '1' })
    kv.clock.advance(1000)
    await kv.call('delete', 'data/a')
    const response = await kv.read('data/a')
    expect(response?.status).toBe(404)
    expect(dataOf(response)).toEqual({
      data: null,
      metadata: {
        created_time: TIME,
        custom_metadata: null,
        deletion_time: '2023-11-14T22:13:21.000Z',
        destroyed: false,
        version: 1,
      },
    })
  })

  it('a version that is deleted twice keeps its first deletion time', async () => {
    await put({ k: '1' })
    await kv.call('delete', 'data/a')
    kv.clock.advance(5000)
    await kv.call('delete', 'data/a')
    expect(dataOf(await kv.read('data/a'))).toMatchObject({ metadata: { deletion_time: TIME } })
    expect(await kv.call('delete', 'data/none')).toBeUndefined()
  })

  it('a version can be read until its deletion time', async () => {
    await kv.write('config', { delete_version_after: '10s' })
    await put({ k: '1' })
    expect(dataOf(await kv.read('data/a'))).toMatchObject({
      data: { k: '1' },
      metadata: { deletion_time: '2023-11-14T22:13:30.000Z' },
    })
    kv.clock.advance(9999)
    expect((await kv.read('data/a'))?.status).toBeUndefined()
    kv.clock.advance(1)
    expect((await kv.read('data/a'))?.status).toBe(404)
  })

  it('the shorter version ttl of key and mount applies, and none if the mount disables it', async () => {
    await kv.write('config', { delete_version_after: '2h' })
    await kv.write('metadata/a', { delete_version_after: '1h' })
    expect(dataOf(await put({ k: '1' }))).toMatchObject({ deletion_time: '2023-11-14T23:13:20.000Z' })
    expect(dataOf(await put({ k: '1' }, 'b'))).toMatchObject({ deletion_time: '2023-11-15T00:13:20.000Z' })
    await kv.write('config', { delete_version_after: '-1s' })
    expect(dataOf(await put({ k: '2' }))).toMatchObject({ deletion_time: '' })
  })

  it('KV version 2 warns about unknown parameters', async () => {
    const response = await kv.write('data/a', { data: {}, zeta: 1, alpha: 2 })
    expect(response?.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [alpha zeta]'])
  })

  it('a folder is an invalid path of data', async () => {
    const folders = [
      kv.list('data'),
      kv.list('data/a'),
      kv.read('data/'),
      kv.read('data/a/'),
      kv.call('delete', 'data/a/'),
    ]
    for (const answer of await Promise.all(folders))
      expect(answer).toMatchObject({ status: 404, warnings: [/^Invalid path/] })
  })
})

describe('paths of version 1 on a version 2 mount', () => {
  const kv = new BackendHarness(kvType.factory, { options: { version: '2' } })
  const HINT =
    'Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. If using the Vault CLI, use '

  it.each([
    ['read', 'a', "'vault kv get'"],
    ['update', 'a', "'vault kv put'"],
    ['delete', 'a', "'vault kv delete'"],
    ['list', '', "'vault kv list'"],
  ] as const)('%s of %j names the correct command', async (operation, path, command) => {
    expect(await kv.call(operation, path)).toMatchObject({
      status: 404,
      warnings: [`${HINT}${command} for this operation.`],
    })
  })

  it('an error states that the roots of the endpoints can only be listed', async () => {
    expect(await kv.write('data', { data: {} })).toMatchObject({
      status: 404,
      warnings: ['Non-listing operations on the root of a K/V v2 mount are not supported.'],
    })
  })
})
