import { beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { as, authOf, dataOf, refusalOf, type WireAnswer } from '../support/wire.js'

/**
 * A performance pair as its clients see it: log states, and the effect of the primary's changes on tokens of the
 * secondary.
 */
const clusters = openClusters()
let primary: Cluster
let secondary: Cluster
const on = (cluster: Cluster, token = cluster.rootToken, headers = {}) => as(cluster.apiAddress, token, headers)

beforeAll(async () => {
  ;[primary, secondary] = await Promise.all([clusters.add('A', { hasLink: true }), clusters.add('B')])
  await clusters.join(primary, secondary, 'performance')
  await on(secondary)('POST', 'sys/mounts/kv', { type: 'kv' })
  const policy = 'path "auth/token/create" { capabilities = ["update"] }'
  await on(secondary)('PUT', 'sys/policies/acl/maker', { policy })
})
const indexOf = (answer: WireAnswer): string => answer.headers['x-vault-index'] ?? ''
const partsOf = (index: string): string[] => Buffer.from(index, 'base64').toString().split(':')
const idOf = async (cluster: Cluster) => (await on(cluster)('GET', 'sys/health')).json?.cluster_id

describe('X-Vault-Index', () => {
  it('responses to writes have X-Vault-Index, responses to reads and errors do not', async () => {
    for (const cluster of [primary, secondary]) {
      const shared = await on(cluster)('PUT', 'kv/a', { word: 'x' })
      expect([shared.status, partsOf(indexOf(shared))]).toEqual([
        204,
        ['v1', await idOf(primary), expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/), expect.any(String)],
      ])
      const local = await on(cluster)('PUT', 'cubbyhole/a', { word: 'x' })
      expect(partsOf(indexOf(local))[1]).toBe(await idOf(cluster))
      for (const [method, target] of [
        ['GET', 'kv/a'],
        ['LIST', 'kv'],
        ['PUT', 'kv/'],
        ['PUT', 'none/a'],
      ] as const) {
        const answer = await on(cluster)(method, target, method === 'PUT' ? { a: 1 } : undefined)
        expect({ method, target, index: indexOf(answer) }).toEqual({ method, target, index: '' })
      }
    }
  })

  it('a state that is not reached is 412, or waits with await-state until it is reached', async () => {
    const { link } = primary
    link.partition()
    const written = await on(primary)('PUT', 'kv/late', { word: 'late' })
    const state = { 'X-Vault-Index': indexOf(written) }
    const read = (more = {}) => on(secondary)('GET', 'kv/late', undefined, { ...state, ...more })
    expect(refusalOf(await read())).toEqual([412, ['required index state not present']])
    expect(refusalOf(await read({ 'X-Vault-Inconsistent': 'fail' }))[0]).toBe(412)
    expect(refusalOf(await read({ 'X-Vault-Inconsistent': 'forward-active-node' }))[0]).toBe(400)
    expect((await on(primary)('GET', 'kv/late', undefined, state)).status).toBe(200)
    const held = read({ 'X-Vault-Inconsistent': 'await-state' })
    link.heal()
    const first = await held
    expect([200, 412]).toContain(first.status)
    await secondary.until('reach the state', async () => {
      const { status } = await read({ 'X-Vault-Inconsistent': 'await-state' })
      return status === 200 ? undefined : `status ${status}`
    })
    expect(dataOf(await read())).toEqual({ word: 'late' })
  })

  it('a state that no member of the set created is ignored', async () => {
    const text = Buffer.from(`v1:${await idOf(primary)}:999999:999999:${'0'.repeat(64)}`).toString('base64')
    for (const index of ['x', '', text]) {
      const answer = await on(secondary)('GET', 'kv/a', undefined, { 'X-Vault-Index': index })
      expect({ index, status: answer.status }).toEqual({ index, status: 200 })
    }
  })
})

describe('sys/remount on the secondary', () => {
  it.each([
    ['kv-old', 'kv-new'],
    ['auth/old', 'auth/new'],
  ])('a secondary returns the status of a move of %s on the primary', async (from, to) => {
    const type = from.startsWith('auth/') ? 'userpass' : 'kv'
    expect(
      (await on(secondary)('POST', from === 'kv-old' ? `sys/mounts/${from}` : `sys/${from}`, { type })).status,
    ).toBe(204)
    const { migration_id } = dataOf(await on(secondary)('POST', 'sys/remount', { from, to }))
    expect(dataOf(await on(secondary)('GET', `sys/remount/status/${migration_id}`))).toEqual({
      migration_id,
      migration_info: { source_mount: `${from}/`, target_mount: `${to}/`, status: 'success' },
    })
    expect((await on(secondary)('GET', 'sys/remount/status/none')).status).toBe(404)
  })
})

describe('tokens of the secondary', () => {
  const isGood = async (token: string, headers = {}): Promise<boolean> =>
    (await on(secondary, token, headers)('GET', 'auth/token/lookup-self')).status === 200

  const loginAt = async (mount: string): Promise<string> => {
    const answer = await on(secondary, '')('PUT', `auth/${mount}/login/ann`, { password: 'pw' })
    return String(authOf(answer).client_token)
  }

  const enable = async (mount: string) => {
    await on(secondary)('POST', `sys/auth/${mount}`, { type: 'userpass' })
    await on(secondary)('POST', `auth/${mount}/users/ann`, { password: 'pw', token_policies: 'maker' })
  }

  it.each([
    ['disabled', (mount: string) => ['DELETE', `sys/auth/${mount}`, undefined] as const],
    ['moved', (mount: string) => ['POST', 'sys/remount', { from: `auth/${mount}`, to: `auth/${mount}-new` }] as const],
  ])(
    'tokens of the secondary end with their leases when their auth method is %s on the primary',
    async (what, make) => {
      await enable(what)
      const token = await loginAt(what)
      const child = String(authOf(await on(secondary, token)('POST', 'auth/token/create', {})).client_token)
      expect([await isGood(token), await isGood(child)]).toEqual([true, true])
      const [method, target, body] = make(what)
      expect((await on(primary)(method, target, body)).status).toBeLessThan(300)
      await secondary.until('refuse the token', async () => ((await isGood(token)) ? 'it is good' : undefined))
      expect(await isGood(child)).toBe(false)
      await secondary.until('have no lease of it', async () => {
        const { status } = await on(secondary)('LIST', `sys/leases/lookup/auth/${what}/login/ann`)
        return status === 404 ? undefined : `status ${status}`
      })
    },
  )

  it('tokens of the secondary end when their namespace is deleted on the primary, even if it is created again', async () => {
    const team = { 'X-Vault-Namespace': 'team' }
    await on(secondary)('POST', 'sys/namespaces/team')
    const made = await on(secondary, secondary.rootToken, team)('POST', 'auth/token/create', { policies: ['default'] })
    const token = String(authOf(made).client_token)
    expect(await isGood(token, team)).toBe(true)
    expect((await on(primary)('DELETE', 'sys/namespaces/team')).status).toBe(204)
    await secondary.until('lose the namespace', async () => {
      // Its mounts are removed first.
      const { status } = await on(secondary)('GET', 'sys/namespaces/team')
      return status === 404 ? undefined : `status ${status}`
    })
    expect(await isGood(token)).toBe(false)
    await on(secondary)('POST', 'sys/namespaces/team')
    expect(await isGood(token, team)).toBe(false)
    expect(refusalOf(await on(secondary)('POST', 'auth/token/lookup', { token }))).toEqual([403, ['bad token']])
  })
})
