import { beforeEach, describe, expect, it } from 'vitest'
import { createApproleType } from '../../../../src/auth/approle/backend.js'
import type { JsonObject } from '../../../../src/logical/json.js'
import type { Operation } from '../../../../src/logical/request.js'
import { APPROLE_OPTIONS, ApproleMount, type Issued } from './approle-mount.js'

/** 503 stands for the error on which the pipeline forwards the request to the performance primary. */
const FORWARDED = { status: 503, errors: ['cannot write to readonly storage'] }

describe('on a performance secondary', () => {
  let approle: ApproleMount
  let normal: Issued
  let limited: Issued
  let local: Issued
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('l', { local_secret_ids: true })
    await approle.makeRole('free', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })
    normal = await approle.issue('r')
    limited = await approle.issue('r', { num_uses: 5 })
    local = await approle.issue('l', { num_uses: 2 })
    approle.isReadOnly = true
  })

  /** The requests that contract 12 executes on the primary, even if this cluster would reject them or find nothing. */
  const ON_PRIMARY: readonly (readonly [Operation, string, JsonObject])[] = [
    ['update', 'role/r', { token_ttl: 60 }],
    ['update', 'role/r', { bind_secret_id: false }],
    ['update', 'role/new', {}],
    ['delete', 'role/r', {}],
    ['delete', 'role/l', {}],
    ['delete', 'role/unknown', {}],
    ['update', 'role/r/role-id', { role_id: 'x' }],
    ['update', 'role/unknown/role-id', { role_id: 'x' }],
    ['update', 'role/r/policies', { token_policies: 'a' }],
    ['delete', 'role/r/token-ttl', {}],
    ['update', 'role/l/secret-id-num-uses', { secret_id_num_uses: 1 }],
    ['update', 'role/r/secret-id', {}],
    ['update', 'role/unknown/secret-id', {}],
    ['update', 'role/r/custom-secret-id', { secret_id: 's' }],
    ['update', 'role/r/secret-id/destroy', { secret_id: 'not-here-yet' }],
    ['update', 'role/r/secret-id-accessor/destroy', { secret_id_accessor: 'not-here-yet' }],
  ]

  it.each(ON_PRIMARY)('the primary decides the AppRole request %s %s %j', async (operation, path, body) => {
    const { writes } = approle.localStorage
    expect(await approle.ask(operation, path, body)).toEqual(FORWARDED)
    expect(approle.localStorage.writes).toBe(writes)
  })

  it('the primary decides a login with a limited SecretID, before the secondary writes anything', async () => {
    expect(await approle.login('r', limited.secretId)).toEqual(FORWARDED)
    expect((await approle.lookup('r', limited.secretId)).data?.secret_id_num_uses).toBe(5)
    expect(approle.localStorage.writes).toBe(1)
  })

  it('a secondary answers logins with an unlimited SecretID or without one', async () => {
    expect(await approle.login('r', normal.secretId)).toMatchObject({ status: 200 })
    expect(await approle.login('free')).toMatchObject({ status: 200 })
  })

  it('a SecretID that has not arrived yet is unknown', async () => {
    expect(await approle.login('r', 'not-here-yet')).toEqual({ status: 400, errors: ['invalid role or secret ID'] })
  })

  it('a secondary forwards a login with an incompletely replicated SecretID', async () => {
    for (const key of await approle.storage.keys('accessor/')) await approle.storage.write((tx) => tx.delete(key))
    expect(await approle.login('r', normal.secretId)).toEqual(FORWARDED)
    expect(await approle.storage.keys('secret_id/')).toHaveLength(2)
  })

  it('a secondary answers AppRole reads, lists and lookups', async () => {
    for (const path of ['role/r', 'role/r/role-id', 'role/r/policies']) {
      expect(await approle.read(path)).toMatchObject({ status: 200 })
    }
    for (const path of ['role', 'role/r/secret-id']) expect(await approle.list(path)).toMatchObject({ status: 200 })
    expect(await approle.lookup('r', normal.secretId)).toMatchObject({ status: 200 })
    const lookup = { secret_id_accessor: normal.accessor }
    expect(await approle.write('role/r/secret-id-accessor/lookup', lookup)).toMatchObject({ status: 200 })
  })

  describe('a role with local_secret_ids', () => {
    it('a role with local_secret_ids uses, issues and destroys SecretIDs on the secondary', async () => {
      expect(await approle.login('l', local.secretId)).toMatchObject({ status: 200 })
      expect(await approle.login('l', local.secretId)).toMatchObject({ status: 200 })
      expect(await approle.login('l', local.secretId)).toMatchObject({ status: 400 })
      const { accessor, secretId } = await approle.issue('l')
      expect((await approle.list('role/l/secret-id')).data?.keys).toEqual([accessor])
      expect(await approle.write('role/l/secret-id/destroy', { secret_id: secretId })).toEqual({ status: 204 })
      const { status } = await approle.write('role/l/custom-secret-id', { secret_id: 'mine' })
      expect(status).toBe(200)
    })

    it('a role with local_secret_ids stores no SecretID in replicated storage', async () => {
      const before = await approle.storage.keys('')
      await approle.issue('l')
      expect(await approle.storage.keys('')).toEqual(before)
      expect((await approle.localStorage.keys('')).map((key) => key.split('/')[0])).toEqual([
        'accessor_local',
        'accessor_local',
        'secret_id_local',
        'secret_id_local',
      ])
    })
  })
})

describe('on the primary', () => {
  it('deleting a role with local_secret_ids removes its local SecretIDs', async () => {
    const approle = new ApproleMount()
    await approle.makeRole('l', { local_secret_ids: true })
    await approle.issue('l')
    await approle.remove('role/l')
    expect(await approle.localStorage.keys('')).toEqual([])
  })

  it('a salt that replication replaces is read again', async () => {
    const approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.issue('r')
    expect(await approle.read('role/r')).toMatchObject({ status: 200 })
    const other = new ApproleMount()
    await other.makeRole('r')
    const { secretId } = await other.issue('r')
    for (const key of await approle.storage.keys('')) await approle.storage.write((tx) => tx.delete(key))
    for (const key of await other.storage.keys('')) {
      await approle.storage.write((tx) => tx.put(key, other.storage.get(key) ?? Buffer.alloc(0)))
    }
    expect(await approle.login('r', secretId)).toMatchObject({ status: 200 })
  })
})

it('the backend type declares the key prefixes of its local data', () => {
  expect(createApproleType(APPROLE_OPTIONS).localPrefixes).toEqual(['secret_id_local/', 'accessor_local/'])
})
