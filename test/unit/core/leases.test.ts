import { beforeEach, describe, expect, it } from 'vitest'
import { leasePaths } from '../../../src/core/system/lease-paths.js'
import type { Backend } from '../../../src/logical/backend.js'
import { dispatch } from '../../../src/logical/dispatch.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { type NamespaceRef, ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { makeRequest, refusal } from '../../support/backend-harness.js'
import { until } from '../../support/until.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
let backend: Backend
beforeEach(async () => {
  world = await TokenWorld.open()
  const paths = leasePaths(world)
  backend = { type: 'system', paths }
})

const call = (
  operation: 'update' | 'list',
  path: string,
  body: JsonObject = {},
  namespace: NamespaceRef = ROOT_NAMESPACE,
) => dispatch(backend, makeRequest(operation, `sys/${path}`, body, { namespace }), path)
const put = (path: string, body: JsonObject = {}) => call('update', path, body)
const list = async (path: string): Promise<unknown> => {
  const response = await call('list', `${path}/`)
  return (response?.data as { keys: string[] } | undefined)?.keys
}

const login = async () => {
  const { auth } = await world.login({ ttlSeconds: 3600 })
  const lease = `auth/approle/login/${world.entry(auth.clientToken).storageId}`
  return { token: auth.clientToken, lease }
}

describe('looking up', () => {
  it('lease lookup shows issue time and expiry', async () => {
    const { lease, token } = await login()
    world.clock.advance(600_000)
    expect((await put('leases/lookup', { lease_id: lease }))?.data).toEqual({
      expire_time: '2023-11-14T23:13:19.999995000Z',
      id: lease,
      issue_time: '2023-11-14T22:13:20.000000000Z',
      last_renewal: null,
      path: 'auth/approle/login',
      renewable: true,
      ttl: 3000,
    })
    await world.tokens.renew(world.entry(token), { incrementSeconds: 60, presented: token, request: {} })
    expect((await put('leases/lookup', { lease_id: lease }))?.data).toMatchObject({
      last_renewal: '2023-11-14T22:23:20.000000000Z',
      ttl: 60,
    })
  })

  it('lease lookup rejects an unknown lease and one of another namespace', async () => {
    const { lease } = await login()
    const wrong = ['auth/approle/login/none', 'none', lease.replace('approle', 'other'), `${lease}x`]
    for (const lease_id of wrong) {
      expect(await refusal(put('leases/lookup', { lease_id }))).toEqual(['invalid-request', 'invalid lease'])
    }
    expect((await refusal(call('update', 'leases/lookup', { lease_id: lease }, TEAM)))[1]).toBe('invalid lease')
    expect((await refusal(put('leases/lookup')))[1]).toBe('lease_id must be specified')
  })

  it('a root token without expiry has no lease', async () => {
    const { storageId } = world.entry(world.root)
    expect((await refusal(put('leases/lookup', { lease_id: `auth/token/root/${storageId}` })))[1]).toBe('invalid lease')
  })
})

describe('listing', () => {
  it('lease listing descends the creation paths', async () => {
    const { lease } = await login()
    expect(await list('leases/lookup')).toEqual(['auth/'])
    expect(await list('leases/lookup/auth')).toEqual(['approle/'])
    expect(await list('leases/lookup/auth/approle/login')).toEqual([lease.slice('auth/approle/login/'.length)])
    expect(await list('leases/lookup/none')).toBeUndefined()
  })

  it('lease listing shows no empty folder for a list path', async () => {
    const wrapping = await world.tokens.issueWrapping({
      ttlSeconds: 60,
      creationPath: 'kv/',
      namespace: ROOT_NAMESPACE,
      records: {},
    })
    expect(await list('leases/lookup/kv')).toEqual([wrapping.storageId])
    expect(wrapping.path).toBe('kv/')
  })
})

describe.each(['leases/renew', 'renew'])('%s', (path) => {
  it('lease renewal rejects token leases, and names other errors', async () => {
    const { lease } = await login()
    const text = async (promise: Promise<unknown>) => (await refusal(promise))[1]
    expect(await text(put(path, { lease_id: lease }))).toBe('tokens cannot be renewed through this endpoint')
    expect(await text(put(`${path}/${lease}`))).toBe('tokens cannot be renewed through this endpoint')
    expect(await text(put(path, { lease_id: 'auth/approle/login/none' }))).toBe('lease not found')
    expect(await text(put(path))).toBe('lease_id must be specified')
  })
})

describe.each(['leases/revoke', 'revoke'])('%s', (path) => {
  it('lease revocation ends the token, with the lease in the body or in the path', async () => {
    const [one, two] = [await login(), await login()]
    expect(await put(path, { lease_id: one.lease })).toBeUndefined()
    expect(await put(`${path}/${two.lease}`)).toBeUndefined()
    expect([one.token, two.token].map((token) => world.tokens.find(token))).toEqual([undefined, undefined])
    expect(await list('leases/lookup/auth')).toBeUndefined()
  })

  it('lease revocation accepts an unknown lease, but needs a name', async () => {
    expect(await put(path, { lease_id: 'auth/approle/login/none', sync: true })).toBeUndefined()
    expect((await refusal(put(path)))[1]).toBe('lease_id must be specified')
  })

  it('lease revocation without sync answers 202', async () => {
    const { lease } = await login()
    expect(await put(path, { lease_id: lease, sync: false })).toEqual({ status: 202 })
  })
})

describe.each(['leases/revoke-prefix', 'revoke-prefix', 'leases/revoke-force', 'revoke-force'])('%s', (path) => {
  it('lease revocation by prefix ends every token below it', async () => {
    const [one, two] = [await login(), await login()]
    const other = await world.create({ policies: ['default'] })
    expect(await put(`${path}/auth/approle`)).toBeUndefined()
    expect([one.token, two.token].map((token) => world.tokens.find(token))).toEqual([undefined, undefined])
    expect(world.tokens.find(other.clientToken)).toBeDefined()
    expect(await put(`${path}/auth/none`, { sync: true })).toBeUndefined()
    expect(await put(`${path}/auth/token`, { sync: false })).toEqual({ status: 202 })
  })
})

describe('tidy of tokens and leases', () => {
  const begin = { leases: () => put('leases/tidy'), 'auth/token': () => world.call('update', 'tidy') }

  it.each(['leases', 'auth/token'] as const)(
    '%s/tidy removes expired tokens and tokens of removed mounts',
    async (path) => {
      await world.login({ ttlSeconds: 60 })
      const { auth } = await world.login({ ttlSeconds: 7200 }, { accessor: 'auth_approle_2' })
      const kept = await world.create({ policies: ['default'] })
      const folders = async () => [...((await list('leases/lookup/auth')) as string[])]
      expect(await folders()).toEqual(['approle/', 'token/'])
      world.clock.advance(3_600_000)
      expect(world.tokens.find(auth.clientToken)).toBeDefined()
      world.unmounted.add('auth_approle_2')
      const answer = await begin[path]()
      expect(answer).toMatchObject({
        status: 202,
        warnings: [expect.stringMatching(/^Tidy operation successfully started/)],
      })
      expect(await begin[path]()).toEqual({ warnings: ['Tidy operation already in progress.'] })
      await until(async () => (await folders()).length === 1)
      expect(await folders()).toEqual(['token/'])
      expect(world.tokens.find(kept.clientToken)).toBeDefined()
    },
  )
})

it('sys/leases lists and counts no irrevocable leases, and knows no other type', async () => {
  await login()
  const read = (path: string, data: JsonObject = {}) =>
    dispatch(backend, makeRequest('read', `sys/${path}`, data), path)
  expect(await read('leases/count', { type: 'irrevocable' })).toEqual({ data: { lease_count: 0, counts: {} } })
  expect(await read('leases', { type: 'irrevocable' })).toEqual({ data: { lease_count: 0, leases: [] } })
  expect(await read('leases/count')).toBeUndefined()
})
