import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ApiClient } from '../../../src/client/api-client.js'
import { type DevServer, startDevServer } from '../../support/memory-server.js'

/** Entities and groups: their effect on the permissions of tokens. */

type Fields = Record<string, unknown>
interface Auth {
  readonly client_token: string
  readonly entity_id: string
  readonly policies: string[]
  readonly token_policies: string[]
  readonly identity_policies?: string[]
}

let server: DevServer
let root: ApiClient
let accessor = ''
beforeAll(async () => {
  server = await startDevServer()
  root = server.client
  await root.write('sys/auth/userpass', { type: 'userpass' })
  accessor = String((await data(root.read('sys/auth/userpass'))).accessor)
  await root.write('sys/policies/acl/reader', { policy: 'path "secret/data/*" { capabilities = ["read"] }' })
  await root.write('secret/data/a', { data: { k: 'v' } })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const data = async (answer: Promise<Fields>): Promise<Fields> => (await answer).data as Fields
const login = async (user: string, body: Fields = {}): Promise<Auth> => {
  await root.write(`auth/userpass/users/${user}`, { password: 'correct', ...body })
  return (await root.write(`auth/userpass/login/${user}`, { password: 'correct' })).auth as Auth
}
const reading = async (token: string) => (await root.send('GET', 'secret/data/a', { token })).status

it('the policies of an entity apply to existing tokens and are shown separately', async () => {
  const before = await login('joe')
  expect(before).not.toHaveProperty('identity_policies')
  expect(await reading(before.client_token)).toBe(403)
  await root.write(`identity/entity/id/${before.entity_id}`, { policies: ['Reader'] })
  expect(await reading(before.client_token)).toBe(200)
  const after = await login('joe')
  expect(after).toMatchObject({
    policies: ['default', 'reader'],
    token_policies: ['default'],
    identity_policies: ['reader'],
    entity_id: before.entity_id,
  })
  const lookup = await data(root.write('auth/token/lookup', { token: after.client_token }))
  expect(lookup).toMatchObject({ policies: ['default'], identity_policies: ['reader'] })
  const renewed = await root.call('PUT', 'auth/token/renew-self', { token: after.client_token })
  expect(renewed.auth).toMatchObject({ identity_policies: ['reader'], token_policies: ['default'] })
  const seen = root.write('sys/capabilities', { token: after.client_token, paths: ['secret/data/a'] })
  expect(await data(seen)).toMatchObject({ 'secret/data/a': ['read'] })
  await root.write(`identity/entity/id/${before.entity_id}`, { policies: [] })
  expect(await reading(after.client_token)).toBe(403)
})

it('the policies of an entity apply to batch tokens and to child tokens, which have the same entity', async () => {
  const batch = await login('bob', { token_type: 'batch' })
  await root.write(`identity/entity/id/${batch.entity_id}`, { policies: ['reader'] })
  expect(await reading(batch.client_token)).toBe(200)
  await root.write('sys/policies/acl/parent', { policy: 'path "auth/token/create" { capabilities = ["update"] }' })
  const parent = await login('bea', { token_policies: ['parent'] })
  await root.write(`identity/entity/id/${parent.entity_id}`, { policies: ['reader'] })
  const child = await root.call('PUT', 'auth/token/create', { token: parent.client_token, body: {} })
  expect(child.auth).toMatchObject({ entity_id: parent.entity_id, identity_policies: ['reader'] })
  expect(await reading((child.auth as Auth).client_token)).toBe(200)
})

it('tokens of a disabled entity are invalid until it is enabled, and it cannot log in', async () => {
  const { client_token: token, entity_id } = await login('eve')
  const self = () => root.send('GET', 'auth/token/lookup-self', { token })
  await root.write(`identity/entity/id/${entity_id}`, { disabled: true })
  expect(await self()).toMatchObject({
    status: 403,
    json: { errors: ['permission denied'] },
  })
  const again = await root.send('PUT', 'auth/userpass/login/eve', { body: { password: 'correct' } })
  expect([again.status, again.json]).toEqual([403, { errors: ['permission denied'] }])
  expect((await root.write('auth/token/lookup', { token })).data).toMatchObject({ entity_id })
  await root.write(`identity/entity/id/${entity_id}`, { disabled: false })
  expect((await self()).status).toBe(200)
})

it('tokens of a deleted entity are invalid, including children, and the next login creates another entity', async () => {
  const { client_token: token, entity_id } = await login('dan', { token_policies: ['parent'] })
  const batch = await login('dan', { token_type: 'batch' })
  const child = (await root.call('PUT', 'auth/token/create', { token, body: {} })).auth as Auth
  expect([batch.entity_id, child.entity_id]).toEqual([entity_id, entity_id])
  expect((await root.send('DELETE', `identity/entity/id/${entity_id}`)).status).toBe(204)
  for (const { client_token } of [{ client_token: token }, batch, child]) {
    expect(await root.send('GET', 'auth/token/lookup-self', { token: client_token })).toMatchObject({
      status: 403,
      json: { errors: ['permission denied'] },
    })
  }
  expect((await root.write('auth/token/lookup', { token })).data).toMatchObject({ entity_id })
  const seen = root.send('PUT', 'sys/capabilities', { body: { token, paths: ['secret/data/a'] } })
  expect(await seen).toMatchObject({ status: 400, json: { errors: ['1 error occurred:\n\t* invalid token\n\n'] } })
  const next = await login('dan')
  expect(next.entity_id).not.toBe(entity_id)
  const self = async (shown: string) => (await root.send('GET', 'auth/token/lookup-self', { token: shown })).status
  expect([await self(next.client_token), await self(token)]).toEqual([200, 403])
})

it('a login with an alias created by an operator gets its entity, and can read it with the default policy', async () => {
  const { id } = await data(root.write('identity/entity', { name: 'ann', policies: ['reader'] }))
  await root.write('identity/entity-alias', { name: 'ann', mount_accessor: accessor, canonical_id: id })
  const auth = await login('ann')
  expect(auth.entity_id).toBe(id)
  expect(await reading(auth.client_token)).toBe(200)
  const own = (method: string, at: string) => root.send(method, at, { token: auth.client_token })
  expect((await own('GET', `identity/entity/id/${id}`)).status).toBe(200)
  expect((await own('GET', 'identity/entity/name/ann')).status).toBe(200)
  expect((await own('DELETE', `identity/entity/id/${id}`)).status).toBe(403)
})

it('an entity lookup answers 200 with the entity, or 204 if there is none, for PUT and POST', async () => {
  const { entity_id } = await login('lou')
  const body = { alias_name: 'lou', alias_mount_accessor: accessor }
  for (const method of ['PUT', 'POST']) {
    const found = await root.send(method, 'identity/lookup/entity', { body })
    expect([found.status, (found.json?.data as Fields | undefined)?.id]).toEqual([200, entity_id])
    const none = await root.send(method, 'identity/lookup/entity', { body: { ...body, alias_name: 'nobody' } })
    expect([none.status, none.bytes.length]).toEqual([204, 0])
  }
})

it.each(['identity/oidc/config', 'identity/mfa/method'])('%s is an unsupported path', async (at) => {
  const { status, json } = await root.send('POST', at, { body: {} })
  expect([status, json]).toEqual([404, { errors: ['1 error occurred:\n\t* unsupported path\n\n'] }])
})

it('the policies of groups and of the groups that contain them apply to existing tokens of all members', async () => {
  const [first, second] = [await login('gil'), await login('gus', { token_type: 'batch' })]
  const member_entity_ids = [first.entity_id, second.entity_id]
  const { id: inner } = await data(root.write('identity/group', { name: 'inner', member_entity_ids }))
  const body = { policies: ['reader'], member_group_ids: [inner] }
  const { id: outer } = await data(root.write('identity/group', { name: 'outer', ...body }))
  const { entity_id } = first
  const both = () => Promise.all([first, second].map(({ client_token }) => reading(client_token)))
  expect(await both()).toEqual([200, 200])
  expect(await data(root.read(`identity/entity/id/${entity_id}`))).toMatchObject({
    direct_group_ids: [inner],
    group_ids: [inner, outer],
    inherited_group_ids: [outer],
  })
  const after = await login('gil')
  expect(after).toMatchObject({ policies: ['default', 'reader'], identity_policies: ['reader'], entity_id })
  const lookup = await data(root.write('auth/token/lookup', { token: first.client_token }))
  expect(lookup).toMatchObject({ policies: ['default'], identity_policies: ['reader'] })
  const seen = root.write('sys/capabilities', { token: first.client_token, paths: ['secret/data/a'] })
  expect(await data(seen)).toMatchObject({ 'secret/data/a': ['read'] })

  await root.write('identity/group/name/inner', { member_entity_ids: [second.entity_id] })
  expect(await both()).toEqual([403, 200])
  await root.write('identity/group/name/outer', { policies: [] })
  expect(await both()).toEqual([403, 403])
  await root.write('identity/group/name/outer', { policies: ['reader'] })
  expect(await both()).toEqual([403, 200])
  await root.delete('identity/group/name/inner')
  expect(await both()).toEqual([403, 403])
  expect(await data(root.read('identity/group/name/outer'))).toMatchObject({ member_group_ids: null })
})

it('a policy template uses the groups of the entity, including inherited ones, until the entity leaves them', async () => {
  const policy = `path "secret/data/{{identity.groups.names.writers.id}}" { capabilities = ["create", "update"] }
    path "secret/data/{{identity.groups.names.editors.metadata.desk}}" { capabilities = ["create", "update"] }`
  await root.write('sys/policies/acl/by-group', { policy })
  const { client_token: token, entity_id } = await login('tom', { token_policies: ['by-group'] })
  const { id } = await data(root.write('identity/group', { name: 'writers', member_entity_ids: entity_id }))
  await root.write('identity/group', { name: 'editors', metadata: { desk: 'seven' }, member_group_ids: id })
  const writing = async (name: unknown) =>
    (await root.send('POST', `secret/data/${String(name)}`, { token, body: { data: {} } })).status
  expect([await writing(id), await writing('seven'), await writing('eight')]).toEqual([200, 200, 403])
  await root.write('identity/group/name/editors', { metadata: { desk: 'eight' } })
  expect([await writing('seven'), await writing('eight')]).toEqual([403, 200])
  await root.write('identity/group/name/writers', { member_entity_ids: [] })
  expect([await writing(id), await writing('eight')]).toEqual([403, 403])
})

it('the server responds to group requests with 200, 204, 400, 403 and 404, and warns about unknown fields', async () => {
  const made = await root.send('POST', 'identity/group', { body: { name: 'codes', color: 'red' } })
  const { id } = (made.json?.data ?? {}) as Fields
  expect([made.status, JSON.stringify(made.json?.warnings)]).toEqual([200, expect.stringContaining('color')])
  const status = async (method: string, at: string, body?: Fields) =>
    (await root.send(method, at, body && { body })).status
  expect(await status('POST', 'identity/group/name/codes', { policies: 'a' })).toBe(204)
  expect(await status('GET', `identity/group/id/${String(id)}`)).toBe(200)
  expect(await status('LIST', 'identity/group/id')).toBe(200)
  expect(await status('GET', 'identity/group/name/none')).toBe(404)
  expect(await status('GET', 'identity/group-alias/id/none')).toBe(404)
  expect(await status('POST', 'identity/lookup/group', { name: 'none' })).toBe(204)
  expect(await status('POST', `identity/group/id/${String(id)}`, { member_group_ids: id })).toBe(400)
  expect(await status('POST', 'identity/group', { metadata: 7 })).toBe(400)
  const alias = await root.send('POST', 'identity/group-alias', { body: { name: 'a', mount_accessor: accessor } })
  expect([alias.status, (await root.send('LIST', 'identity/group-alias/id')).status]).toEqual([200, 200])
  const { client_token: token } = await login('pat')
  expect((await root.send('GET', 'identity/group/name/codes', { token })).status).toBe(403)
  expect(await status('DELETE', `identity/group/id/${String(id)}`)).toBe(204)
  expect(await status('DELETE', `identity/group/id/${String(id)}`)).toBe(204)
})

it('deleting a namespace deletes its entities and groups', async () => {
  await root.write('sys/namespaces/team')
  const inside = root.with({ namespace: 'team' })
  const { id } = await data(inside.write('identity/entity', { name: 'joe' }))
  await inside.write('identity/group', { name: 'devs', member_entity_ids: id })
  expect((await root.send('GET', 'identity/group/name/devs')).status).toBe(404)
  expect((await root.send('GET', `identity/entity/id/${id}`)).status).toBe(404)
  const count = async () =>
    ((await data(root.read('sys/internal/counters/entities'))).counters as { entities: { total: number } }).entities
      .total
  const before = await count()
  await root.delete('sys/namespaces/team')
  expect(await count()).toBe(before - 1)
  await root.write('sys/namespaces/team')
  expect((await inside.send('LIST', 'identity/group/id')).status).toBe(404)
  inside.close()
})

it('an audit entry contains the identity policies of the token', async () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'understudy-audit-'))
  const file = path.join(directory, 'audit.log')
  try {
    const { client_token: token, entity_id } = await login('amy')
    await root.write(`identity/entity/id/${entity_id}`, { policies: ['reader'] })
    await root.write('sys/audit/file', { type: 'file', options: { file_path: file } })
    expect(await reading(token)).toBe(200)
    await root.delete('sys/audit/file')
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as { auth: Fields; request: { path: string } })
    expect(entries.find(({ request }) => request.path === 'secret/data/a')?.auth).toMatchObject({
      policies: ['default', 'reader'],
      token_policies: ['default'],
      identity_policies: ['reader'],
      policy_results: { allowed: true, granting_policies: [{ name: 'reader' }] },
    })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
