import { beforeEach, describe, expect, it } from 'vitest'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { BackendHarness, dataOf, refusal, textOf } from '../../support/backend-harness.js'

describe('KV version 1', () => {
  let kv: BackendHarness
  beforeEach(() => {
    kv = new BackendHarness(kvType.factory)
  })

  it('a KV mount without a version is KV version 1', () => {
    expect(kv.backend.type).toBe('kv')
    expect(kv.backend.fallback).toBeUndefined()
  })

  it('KV version 1 answers nothing for an unknown path', async () => {
    expect(await kv.read('a')).toBeUndefined()
    expect(await kv.list('')).toBeUndefined()
    expect(await kv.call('delete', 'a')).toBeUndefined()
  })

  it('KV version 1 reads back what was written, with the lease time of the mount', async () => {
    expect(await kv.write('a', { k: 'v', deep: { x: [1, null] } })).toBeUndefined()
    const response = await kv.read('a')
    expect(dataOf(response)).toEqual({ k: 'v', deep: { x: [1, null] } })
    expect(response?.leaseDurationSeconds).toBe(2_764_800)
  })

  it('KV version 1 replaces the whole object with each write', async () => {
    await kv.write('a', { k: 'v' })
    await kv.write('a', { other: '1' })
    expect(dataOf(await kv.read('a'))).toEqual({ other: '1' })
  })

  it('KV version 1 keeps the text of every number', async () => {
    const body = '{"big":12345678901234567890,"frac":1.50,"exp":1e3,"small":0.10,"zero":-0}'
    await kv.write('num', body)
    const response = await kv.read('num')
    expect(response && textOf(response)).toContain(`"data":${body}`)
  })

  it('KV version 1 keeps a field with the name of the path parameter', async () => {
    await kv.write('a', { path: 'mine' })
    expect(dataOf(await kv.read('a'))).toEqual({ path: 'mine' })
  })

  it('KV version 1 rejects a write without data or without a path', async () => {
    expect(await refusal(kv.write('a', {}))).toEqual(['invalid-request', 'missing data fields'])
    expect(await refusal(kv.write('', { k: 'v' }))).toEqual(['invalid-request', 'missing path'])
  })

  it.each([
    [{ ttl: '90s' }, 90],
    [{ ttl: 3600 }, 3600],
    [{ ttl: '120' }, 120],
    [{ lease: '2h' }, 7200],
    [{ ttl: '1h', lease: '2h' }, 3600],
    [{ ttl: '' }, 0],
    [{ ttl: 'soon' }, 2_764_800],
    [{ ttl: 1.5 }, 2_764_800],
    [{ ttl: ['1h'] }, 2_764_800],
    [{ ttl: '-5s' }, 2_764_800],
    [{ deep: { ttl: '90s' } }, 2_764_800],
  ])('KV version 1 takes the lease time from the fields ttl and lease: %j gives %i', async (body, seconds) => {
    await kv.write('a', body)
    expect((await kv.read('a'))?.leaseDurationSeconds).toBe(seconds)
  })

  it('KV version 1 lists the names of one level, folders with a slash', async () => {
    for (const path of ['dir/one', 'dir/sub/two', 'dir', 'a']) await kv.write(path, { k: 'v' })
    expect(dataOf(await kv.list(''))).toEqual({ keys: ['a', 'dir', 'dir/'] })
    expect(dataOf(await kv.list('dir'))).toEqual({ keys: ['one', 'sub/'] })
    expect(await kv.list('dir/one')).toBeUndefined()
    expect(await kv.read('dir/')).toBeUndefined()
  })

  it('KV version 1 removes deleted secrets', async () => {
    await kv.write('a', { k: 'v' })
    await kv.call('delete', 'a')
    expect(await kv.read('a')).toBeUndefined()
  })

  it('KV version 1 rejects patch', async () => {
    expect(await refusal(kv.call('patch', 'a', { k: 'v' }))).toEqual(['unsupported-operation', 'unsupported operation'])
  })
})
