import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, DENIED, type Json, refusalOf } from '../support/wire.js'

/** Locked users in sys/locked-users, and how an operator unlocks them. */
let server: OpenServerProcess
let root: ReturnType<typeof as>
let accessor = ''

beforeAll(async () => {
  server = await startOpenServerProcess({ user_lockout: true })
  root = as(server.address, server.rootToken)
  await root('POST', 'sys/auth/approle', { type: 'approle' })
  accessor = String((await root('GET', 'sys/auth/approle')).json?.data.accessor)
  for (const name of ['one', 'two', 'with/slash']) {
    await root('POST', `auth/approle/role/${name.replace('/', '-')}`, { role_id: name })
  }
})
afterAll(() => server?.[Symbol.asyncDispose]())

const login = (roleId: string, secretId: string) =>
  as(server.address, '')('PUT', 'auth/approle/login', { role_id: roleId, secret_id: secretId })

const lockOut = async (roleId: string): Promise<void> => {
  for (let count = 0; count < 5; count++) await login(roleId, 'wrong')
}

const list = async (query = ''): Promise<Json | undefined> => (await root('GET', `sys/locked-users${query}`)).json?.data

it('no user is locked at first', async () => {
  expect(await list()).toEqual({ by_namespace: [], total: 0 })
})

it('a user is listed only while locked', async () => {
  await login('two', 'wrong')
  await lockOut('one')
  const row = { mount_accessor: accessor, counts: 1, alias_identifiers: ['one'] }
  const shown = {
    by_namespace: [{ namespace_id: 'root', namespace_path: '', counts: 1, mount_accessors: [row] }],
    total: 1,
  }
  expect(await list()).toEqual(shown)
  expect(await list(`?mount_accessor=${accessor}`)).toEqual(shown)
  const none = { mount_accessor: 'auth_approle_none', counts: 0, alias_identifiers: null }
  expect(await list('?mount_accessor=auth_approle_none')).toEqual({
    by_namespace: [{ namespace_id: 'root', namespace_path: '', counts: 0, mount_accessors: [none] }],
    total: 0,
  })
})

it('an unlocked user can log in, even with a slash in the name', async () => {
  await lockOut('with/slash')
  for (const [role, roleId] of [
    ['one', 'one'],
    ['with-slash', 'with/slash'],
  ] as const) {
    const secretId = String((await root('POST', `auth/approle/role/${role}/secret-id`)).json?.data.secret_id)
    expect((await login(roleId, secretId)).status).toBe(403)
    expect((await root('POST', `sys/locked-users/${accessor}/unlock/${roleId}`)).status).toBe(204)
    expect((await login(roleId, secretId)).status).toBe(200)
  }
  expect(await list()).toEqual({ by_namespace: [], total: 0 })
})

it('unlocking a user who is not locked changes nothing', async () => {
  expect((await root('POST', `sys/locked-users/${accessor}/unlock/nobody`)).status).toBe(204)
})

it('unlock at an unknown accessor changes nothing', async () => {
  expect((await root('POST', 'sys/locked-users/kv_1/unlock/a')).status).toBe(204)
})

it('locked users reject clients without permission', async () => {
  const made = await root('POST', 'auth/token/create', { policies: ['default'] })
  const weak = as(server.address, String(made.json?.auth.client_token))
  expect(refusalOf(await weak('GET', 'sys/locked-users'))).toEqual([403, [DENIED]])
  expect(refusalOf(await weak('POST', `sys/locked-users/${accessor}/unlock/one`))).toEqual([403, [DENIED]])
})
