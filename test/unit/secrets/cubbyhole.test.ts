import { beforeEach, describe, expect, it } from 'vitest'
import { ROOT_NAMESPACE, type TokenView } from '../../../src/logical/request.js'
import { createCubbyhole } from '../../../src/secrets/cubbyhole/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

const token = (id: string, type: TokenView['type'] = 'service'): TokenView => ({
  id,
  accessor: `accessor-${id}`,
  policies: ['default'],
  displayName: 'token',
  entityId: '',
  type,
  isRoot: false,
  namespace: ROOT_NAMESPACE,
})

describe('the cubbyhole', () => {
  let cubbyhole: BackendHarness
  beforeEach(() => {
    cubbyhole = new BackendHarness((context) => createCubbyhole(context, { storageIdOf: ({ id }) => `salted-${id}` }))
  })

  const as = (who: TokenView) => ({
    read: (path: string) => cubbyhole.call('read', path, {}, { token: who }),
    write: (path: string, body: Record<string, string | number>) =>
      cubbyhole.call('update', path, body, { token: who }),
    list: (path: string) => cubbyhole.call('list', path, {}, { token: who }),
    remove: (path: string) => cubbyhole.call('delete', path, {}, { token: who }),
  })

  it('the cubbyhole keeps what a token writes', async () => {
    const a = as(token('a'))
    expect(await a.read('x')).toBeUndefined()
    expect(await a.write('x', { k: 'v', n: 1 })).toBeUndefined()
    const response = await a.read('x')
    expect(dataOf(response)).toEqual({ k: 'v', n: 1 })
    expect(response?.leaseDurationSeconds).toBeUndefined()
  })

  it('the cubbyhole shows a token nothing that another one wrote', async () => {
    await as(token('a')).write('x', { k: 'v' })
    expect(await as(token('b')).read('x')).toBeUndefined()
    expect(await as(token('b')).list('')).toBeUndefined()
  })

  it('the cubbyhole stores data only below the storage id of its token', async () => {
    await as(token('a')).write('dir/y', { k: 'v' })
    expect(await cubbyhole.storage.keys('')).toEqual(['salted-a/dir/y'])
  })

  it('the cubbyhole lists and deletes', async () => {
    const a = as(token('a'))
    await a.write('x', { k: 'v' })
    await a.write('dir/y', { k: 'v' })
    expect(dataOf(await a.list(''))).toEqual({ keys: ['dir/', 'x'] })
    expect(dataOf(await a.list('dir/'))).toEqual({ keys: ['y'] })
    await a.remove('x')
    await a.remove('x')
    expect(await a.read('x')).toBeUndefined()
  })

  it.each([
    ['a write without data', 'missing data fields', () => as(token('a')).write('z', {})],
    ['a write without data and path', 'missing data fields', () => as(token('a')).write('', {})],
    ['a write without a path', 'missing path', () => as(token('a')).write('', { k: 'v' })],
    ['a read without a path', 'missing path', () => as(token('a')).read('')],
  ])('the cubbyhole rejects %s with a list of one error', async (_case, text, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'invalid-request', message: text, wrapped: true })
  })

  it('the cubbyhole rejects batch tokens', async () => {
    const c = as(token('c', 'batch'))
    const refused = ['invalid-request', 'cubbyhole operations are only supported by "service" type tokens']
    expect(await refusal(c.read('x'))).toEqual(refused)
    expect(await refusal(c.write('x', { k: 'v' }))).toEqual(refused)
    expect(await refusal(c.list(''))).toEqual(refused)
    expect(await refusal(c.remove('x'))).toEqual(refused)
  })

  it('the cubbyhole rejects a request without a token', async () => {
    expect(await refusal(cubbyhole.read('x'))).toEqual(['permission-denied', 'permission denied'])
  })
})
