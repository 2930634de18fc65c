import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'

type Fields = Record<string, unknown>

it('entities are written through a performance secondary, count on every cluster, and are closed on a DR copy', async () => {
  await using lab = await startLab('pr-dr')
  const { A, B, C } = lab
  await A.client.write('sys/auth/userpass', { type: 'userpass' })
  await A.client.write('auth/userpass/users/joe', { password: 'correct' })
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('sys/policies/acl/reader', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await A.client.write('kv/a', { k: 'v' })
  const { accessor } = (await A.client.read('sys/auth/userpass')).data as Fields
  await lab.converged()
  await C.takeRoot()

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
