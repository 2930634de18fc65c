import { beforeEach, describe, expect, it } from 'vitest'
import { decideWriteOperation } from '../../../../src/logical/dispatch.js'
import { makeRequest } from '../../../support/backend-harness.js'
import { ApproleMount } from './approle-mount.js'

describe('roles', () => {
  let approle: ApproleMount
  beforeEach(() => {
    approle = new ApproleMount()
  })

  it('a write of an unknown role creates it with a RoleID', async () => {
    expect(await approle.write('role/r', {})).toEqual({ status: 204 })
    const { data } = await approle.read('role/r/role-id')
    expect(data?.role_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  it('a write of an existing role keeps RoleID and SecretIDs', async () => {
    await approle.makeRole('r')
    const { secretId } = await approle.issue('r')
    expect(await approle.write('role/r', { token_ttl: 60 })).toEqual({ status: 204 })
    expect(await approle.login('r', secretId)).toMatchObject({ status: 200 })
  })

  it('deletion of a role removes its RoleID, SecretIDs and accessors', async () => {
    await approle.makeRole('r')
    const { secretId, accessor } = await approle.issue('r')
    expect(await approle.remove('role/r')).toEqual({ status: 204 })
    expect(await approle.read('role/r')).toEqual({ status: 404, errors: [] })
    expect(await approle.login('r', secretId)).toEqual({ status: 400, errors: ['invalid role or secret ID'] })
    await approle.makeRole('other')
    expect(await approle.write('role/other/secret-id-accessor/lookup', { secret_id_accessor: accessor })).toMatchObject(
      {
        status: 404,
      },
    )
    expect(await approle.storage.keys('secret_id/')).toEqual([])
    expect(await approle.storage.keys('accessor/')).toEqual([])
  })

  it('deletion of an unknown role is 204', async () => {
    expect(await approle.remove('role/none')).toEqual({ status: 204 })
  })

  it('a role that is created again with the same name and RoleID accepts no old SecretID', async () => {
    await approle.makeRole('r')
    await approle.write('role/r/custom-secret-id', { secret_id: 's' })
    await approle.remove('role/r')
    await approle.makeRole('r')
    expect(await approle.login('r', 's')).toMatchObject({ status: 400 })
    expect(await approle.write('role/r/custom-secret-id', { secret_id: 's' })).toMatchObject({ status: 200 })
  })

  it('LIST shows roles in lower case and ascending order', async () => {
    expect(await approle.list('role')).toEqual({ status: 404, errors: [] })
    for (const name of ['b', 'A', 'a-1', '0']) await approle.makeRole(name)
    expect(await approle.list('role')).toEqual({ status: 200, data: { keys: ['0', 'a', 'a-1', 'b'] } })
  })

  it('the name of a role ignores case everywhere', async () => {
    await approle.makeRole('MixedCase')
    expect(await approle.read('role/MIXEDCASE')).toMatchObject({ status: 200 })
    const { secretId } = await approle.issue('mixedCASE')
    expect((await approle.auth('MixedCase', secretId)).metadata).toEqual({ role_name: 'mixedcase' })
    expect(await approle.remove('role/mixedcase')).toEqual({ status: 204 })
    expect(await approle.list('role')).toEqual({ status: 404, errors: [] })
  })

  it('a role read shows neither the RoleID nor the key of its SecretIDs', async () => {
    await approle.makeRole('r')
    expect(Object.keys((await approle.read('role/r')).data ?? {}).sort()).toEqual([
      'bind_secret_id',
      'local_secret_ids',
      'secret_id_bound_cidrs',
      'secret_id_num_uses',
      'secret_id_ttl',
      'token_bound_cidrs',
      'token_explicit_max_ttl',
      'token_max_ttl',
      'token_no_default_policy',
      'token_num_uses',
      'token_period',
      'token_policies',
      'token_ttl',
      'token_type',
    ])
  })

  it('the first write of a role needs create, and later ones update', async () => {
    const decide = () => decideWriteOperation(approle.harness.backend, makeRequest('update', 'role/r'), 'role/r')
    expect(decide()).toBe('create')
    await approle.makeRole('r')
    expect(decide()).toBe('update')
  })

  it('an update does not create a role that was deleted between check and write', async () => {
    await approle.makeRole('r')
    const [removed, updated] = await Promise.all([approle.remove('role/r'), approle.write('role/r', { token_ttl: 60 })])
    expect(removed).toEqual({ status: 204 })
    expect(updated).toEqual({ status: 400, errors: ['role name "r" not found during update operation'] })
  })

  it('a role write reports unknown fields only beside another warning', async () => {
    expect(await approle.write('role/r', { enable_local_secret_ids: true })).toEqual({ status: 204 })
    const { warnings } = await approle.write('role/r', { token_type: 'default-service', colour: 'red', role_name: 'x' })
    expect(warnings).toEqual([
      'default-service has no useful meaning; adjusting to service',
      'Endpoint ignored these unrecognized parameters: [colour]',
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [role_name]",
    ])
  })

  it('a role write warns of token types of other methods', async () => {
    expect(await approle.write('role/r', { token_type: 'default-batch' })).toEqual({
      status: 200,
      warnings: ['default-batch has no useful meaning; adjusting to batch'],
    })
    expect((await approle.read('role/r')).data?.token_type).toBe('batch')
  })

  it('each role write warns of a token_max_ttl over the mount maximum, but property writes do not', async () => {
    const warnings = [
      "token_max_ttl is greater than the backend mount's maximum TTL value; issued tokens' max TTL value will be truncated",
    ]
    expect(await approle.write('role/r', { token_max_ttl: '10000h' })).toEqual({ status: 200, warnings })
    expect(await approle.write('role/r', {})).toEqual({ status: 200, warnings })
    expect(await approle.write('role/r/token-ttl', { token_ttl: 60 })).toEqual({ status: 204 })
  })
})

describe('role_name', () => {
  const approle = new ApproleMount()
  const TEXTS = ['a', '9', 'a b', ' ', '-', '_x_', '.hidden', 'a.b-c_d e', '..a', 'x'.repeat(4095)]

  it.each(TEXTS)('%j is accepted', async (name) => {
    expect(await approle.write(`role/${name}`, {})).toEqual({ status: 204 })
    expect(await approle.read(`role/${name}/role-id`)).toMatchObject({ status: 200 })
  })

  const CHARACTERS = 'role_name may only consist of letters, digits, spaces, hyphens, underscores and periods'
  const REFUSED: readonly (readonly [string, string])[] = [
    ['a+b', CHARACTERS],
    ['ä', CHARACTERS],
    ['a\nb', CHARACTERS],
    ['a%', CHARACTERS],
    ['.', 'relative paths not supported'],
    ['..', 'relative paths not supported'],
    ['x'.repeat(4096), 'role_name must be shorter than 4096 bytes'],
  ]
  const ENDPOINTS = [
    ['read', ''],
    ['update', ''],
    ['delete', ''],
    ['read', '/role-id'],
    ['update', '/role-id'],
    ['update', '/secret-id'],
    ['list', '/secret-id'],
    ['update', '/custom-secret-id'],
    ['update', '/secret-id/lookup'],
    ['update', '/secret-id/destroy'],
    ['update', '/secret-id-accessor/lookup'],
    ['update', '/secret-id-accessor/destroy'],
    ['read', '/policies'],
    ['update', '/token-ttl'],
    ['delete', '/period'],
  ] as const

  describe.each(REFUSED)('%j', (name, message) => {
    it.each(ENDPOINTS)('%s of role/:role_name%s rejects an invalid role name', async (operation, rest) => {
      const body = { secret_id: 's', secret_id_accessor: 'a', role_id: 'i', token_ttl: 1 }
      expect(await approle.ask(operation, `role/${name}${rest}`, body)).toEqual({ status: 400, errors: [message] })
    })
  })
})
