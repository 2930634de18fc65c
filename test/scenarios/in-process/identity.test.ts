import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { operationToken } from '../../support/ceremony.js'
import { until } from '../../support/until.js'

type Fields = Record<string, unknown>

const startThree = () => startLab('pr-dr')

/** Adds the user joe, a secret, and a policy for it, on all clusters. Returns the accessor of the auth mount. */
const addUser = async (lab: Awaited<ReturnType<typeof startThree>>): Promise<unknown> => {
  const { client } = lab.A
  await client.write('sys/auth/userpass', { type: 'userpass' })
  await client.write('auth/userpass/users/joe', { password: 'correct' })
  await client.write('sys/mounts/kv', { type: 'kv' })
  await client.write('sys/policies/acl/reader', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await client.write('kv/a', { k: 'v' })
  const { accessor } = (await client.read('sys/auth/userpass')).data as Fields
  await lab.converged()
  await lab.C.takeRoot()
  return accessor
}

it('entities are written through a performance secondary, apply on every cluster, and are unavailable on a DR copy', async () => {
  await using lab = await startThree()
  const { A, B, C } = lab
  const accessor = await addUser(lab)

  const made = (await C.client.write('identity/entity', { name: 'joe', policies: ['reader'] })).data as Fields
  const body = { name: 'joe', mount_accessor: accessor, canonical_id: made.id }
  const alias = (await C.client.write('identity/entity-alias', body)).data as Fields
  expect((await A.client.read('identity/entity/name/joe')).data).toMatchObject({
    id: made.id,
    aliases: [{ id: alias.id, mount_path: 'auth/userpass/' }],
  })
  await lab.converged()
  const look = { alias_name: 'joe', alias_mount_accessor: accessor }
  expect((await C.client.write('identity/lookup/entity', look)).data).toMatchObject({
    id: made.id,
    policies: ['reader'],
  })

  const login = await C.anonymous.write('auth/userpass/login/joe', { password: 'correct' })
  const { client_token: token, entity_id, identity_policies } = login.auth as Fields & { client_token: string }
  expect([entity_id, identity_policies]).toEqual([made.id, ['reader']])
  const reading = async () => (await C.client.send('GET', 'kv/a', { token })).status
  expect(await reading()).toBe(200)

  await A.client.write('identity/entity/name/joe', { disabled: true })
  await until(async () => (await reading()) === 403)
  const refused = await C.anonymous.send('PUT', 'auth/userpass/login/joe', { body: { password: 'correct' } })
  expect(refused.status).toBe(403)
  await C.client.write('identity/entity/name/joe', { disabled: false, policies: [] })
  await lab.converged()
  const self = async () => (await C.client.send('GET', 'auth/token/lookup-self', { token })).status
  expect([await self(), await reading()]).toEqual([200, 403])

  expect((await C.client.send('DELETE', 'identity/entity/name/joe')).status).toBe(204)
  await lab.converged()
  expect((await C.client.send('GET', `identity/entity/id/${String(made.id)}`)).status).toBe(404)
  expect((await C.client.send('PUT', 'identity/lookup/entity', { body: look })).status).toBe(204)

  for (const [method, path] of [
    ['PUT', 'identity/lookup/entity'],
    ['GET', 'identity/entity/name/joe'],
    ['PUT', 'identity/entity'],
  ] as const) {
    const { status, json } = await B.anonymous.send(method, path, method === 'PUT' ? { body: look } : {})
    expect([status, json]).toEqual([400, { errors: ['path disabled in replication DR secondary mode'] }])
  }
})

it('every cluster rejects the tokens of a deleted entity, but not those of an entity that is still replicating', async () => {
  await using lab = await startThree()
  const { A, B, C } = lab
  await A.client.write('sys/auth/userpass', { type: 'userpass' })
  for (const [user, type] of Object.entries({ joe: 'service', bea: 'batch' })) {
    await A.client.write(`auth/userpass/users/${user}`, { password: 'correct', token_type: type })
  }
  await lab.converged()
  const login = async (at: typeof A, user: string) =>
    (await at.anonymous.write(`auth/userpass/login/${user}`, { password: 'correct' })).auth as Record<string, string>
  const self = async (at: typeof A, token = '') =>
    (await at.client.send('GET', 'auth/token/lookup-self', { token })).status
  const steps = (verb: string) =>
    C.anonymous.send('POST', `/_understudy/v1/states/${verb}`, { body: { state: 'apply', kind: 'performance' } })

  await steps('hold')
  const [joe, bea] = await Promise.all([login(C, 'joe'), login(C, 'bea')])
  expect(joe.entity_id).toMatch(/^[0-9a-f-]{36}$/)
  expect(await Promise.all([self(C, joe.client_token), self(C, bea.client_token)])).toEqual([200, 200])
  expect(await self(A, bea.client_token)).toBe(200)

  // The copy never gets the first entity: it is created and deleted while nothing is applied.
  for (const { entity_id } of [joe, bea]) await A.client.delete(`identity/entity/id/${entity_id}`)
  expect(await self(A, bea.client_token)).toBe(403)
  await steps('release')
  await lab.converged()
  expect(await Promise.all([self(C, joe.client_token), self(C, bea.client_token)])).toEqual([403, 403])

  const again = await login(C, 'joe')
  expect(again.entity_id).not.toBe(joe.entity_id)
  expect([await self(C, again.client_token), await self(C, joe.client_token)]).toEqual([200, 403])
  const gone = await login(A, 'joe')
  await A.client.delete(`identity/entity/id/${gone.entity_id}`)
  const here = await login(A, 'joe')
  await lab.converged()
  const dr_operation_token = await operationToken(B)
  await B.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token })
  await until(async () => (await self(B, here.client_token)) === 200)
  expect(await self(B, gone.client_token)).toBe(403)
})

it('groups written through a performance secondary add policies on every cluster, also after a failover', async () => {
  await using lab = await startThree()
  const { A, B, C } = lab
  const accessor = await addUser(lab)
  const login = async (at: typeof A) =>
    (await at.anonymous.write('auth/userpass/login/joe', { password: 'correct' })).auth as {
      readonly client_token: string
      readonly entity_id: string
    }
  const reading = async (at: typeof A, token: string) => (await at.client.send('GET', 'kv/a', { token })).status

  const [here, there] = [await login(A), await login(C)]
  expect(here.entity_id).toBe(there.entity_id)
  const body = { name: 'inner', member_entity_ids: [here.entity_id] }
  const { id: inner } = (await C.client.write('identity/group', body)).data as Fields
  await C.client.write('identity/group/name/outer', { policies: ['reader'], member_group_ids: [inner] })
  const external = (await C.client.write('identity/group', { name: 'external', type: 'external' })).data as Fields
  const alias = { name: 'devs', mount_accessor: accessor, canonical_id: external.id }
  await C.client.write('identity/group-alias', alias)
  expect((await A.client.read('identity/group/name/inner')).data).toMatchObject({ id: inner })
  expect(await reading(A, here.client_token)).toBe(200)
  await lab.converged()
  expect(await reading(C, there.client_token)).toBe(200)
  const look = { alias_name: 'devs', alias_mount_accessor: accessor }
  expect((await C.client.write('identity/lookup/group', look)).data).toMatchObject({ id: external.id })
  expect((await C.client.read(`identity/entity/id/${here.entity_id}`)).data).toMatchObject({
    direct_group_ids: [inner],
  })
  const cycle = await C.client.send('POST', `identity/group/id/${String(inner)}`, { body: { member_group_ids: inner } })
  expect(cycle.status).toBe(400)
  const refused = await B.anonymous.send('PUT', 'identity/group', { body: {} })
  expect([refused.status, refused.json]).toEqual([400, { errors: ['path disabled in replication DR secondary mode'] }])

  await A.client.write('identity/group/name/inner', { member_entity_ids: [] })
  await until(async () => (await reading(C, there.client_token)) === 403)
  await C.client.write('identity/group/name/inner', { member_entity_ids: [here.entity_id] })
  await lab.converged()
  const dr_operation_token = await operationToken(B)
  await B.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token })
  await until(async () => (await reading(B, here.client_token)) === 200)
  expect(await reading(C, there.client_token)).toBe(200)
  const after = (await B.client.send('GET', 'auth/token/lookup-self', { token: here.client_token })).json?.data
  expect(after).toMatchObject({ identity_policies: ['reader'] })
})
