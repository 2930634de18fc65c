import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApiAnswer } from '../../src/client/api-client.js'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'

/** AppRole on a whole server: behavior that neither the backend alone nor the recorded flows show. */
let server: OpenServerProcess

beforeAll(async () => {
  server = await startOpenServerProcess({ user_lockout: true })
  await server.client.write('sys/auth/approle', { type: 'approle' })
})
afterAll(() => server[Symbol.asyncDispose]())

const ask = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.client.send(method, `auth/approle/${path}`, body === undefined ? {} : { body })

const login = (roleId: string, secretId?: string): Promise<ApiAnswer> =>
  server.client.send('POST', 'auth/approle/login', {
    body: { role_id: roleId, secret_id: secretId ?? null },
    token: '',
  })

const field = (answer: ApiAnswer, part: 'data' | 'auth', name: string): unknown => {
  const object = answer.json?.[part]
  return typeof object === 'object' && object !== null
    ? Object.entries(object).find(([key]) => key === name)?.[1]
    : undefined
}

const makeRole = async (name: string, body: Record<string, unknown> = {}): Promise<void> => {
  expect((await ask('POST', `role/${name}`, { role_id: name, ...body })).status).toBe(204)
}

const issue = async (role: string, body: Record<string, unknown> = {}): Promise<string> =>
  String(field(await ask('POST', `role/${role}/secret-id`, body), 'data', 'secret_id'))

const tune = (lockout: Record<string, unknown>) =>
  server.client.write('sys/auth/approle/tune', { user_lockout_config: lockout })

describe('role names', () => {
  it.each(['a b', ' ', '.hidden', '_x_', 'A.b-C_d'])('%j is a valid role name', async (name) => {
    expect((await ask('POST', `role/${name}`, {})).status).toBe(204)
    expect((await ask('GET', `role/${name}/role-id`)).status).toBe(200)
    expect((await ask('DELETE', `role/${name}`)).status).toBe(204)
  })

  it.each(['a+b', 'ä', 'a%', 'a%20b', '\n', 'x'.repeat(4096)])('%j is not a valid role name', async (name) => {
    for (const [method, rest] of [
      ['POST', ''],
      ['GET', ''],
      ['GET', '/policies'],
      ['POST', '/secret-id'],
      ['LIST', '/secret-id'],
    ] as const) {
      expect((await ask(method, `role/${name}${rest}`, method === 'POST' ? {} : undefined)).status).toBe(400)
    }
  })
})

describe('uses', () => {
  it('100 concurrent logins with a SecretID of one use get one token', async () => {
    await tune({ lockout_disable: true })
    await makeRole('once')
    const secretId = await issue('once', { num_uses: 1 })
    const answers = await Promise.all(Array.from({ length: 100 }, () => login('once', secretId)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 400)).toHaveLength(99)
    await tune({ lockout_disable: false })
  })
})

describe('lockout', () => {
  it('five wrong SecretIDs lock a RoleID, until tuning disables the lockout of the mount', async () => {
    await makeRole('guessed')
    const secretId = await issue('guessed')
    for (let count = 0; count < 5; count++) expect((await login('guessed', 'wrong')).status).toBe(400)
    const locked = await login('guessed', secretId)
    expect([locked.status, locked.json]).toEqual([403, { errors: ['permission denied'] }])
    await tune({ lockout_disable: true })
    expect((await login('guessed', secretId)).status).toBe(200)
  })
})

describe('tokens', () => {
  const renew = (token: unknown) =>
    server.client.send('POST', 'auth/token/renew-self', { token: String(token), body: {} })

  it('renewal of an AppRole token uses the current role and fails after the role is deleted', async () => {
    await makeRole('renewed', { token_ttl: '10m' })
    const first = await login('renewed', await issue('renewed'))
    const token = field(first, 'auth', 'client_token')
    expect(field(first, 'auth', 'lease_duration')).toBe(600)
    await ask('POST', 'role/renewed/token-ttl', { token_ttl: '20m' })
    expect(field(await renew(token), 'auth', 'lease_duration')).toBe(1200)
    await ask('POST', 'role/renewed/period', { token_period: '30m' })
    expect(field(await renew(token), 'auth', 'lease_duration')).toBe(1800)
    await ask('DELETE', 'role/renewed')
    const refused = await renew(token)
    expect([refused.status, refused.json]).toEqual([
      400,
      { errors: ['failed to renew entry: role "renewed" does not exist during renewal'] },
    ])
    expect((await server.client.send('GET', 'auth/token/lookup-self', { token: String(token) })).status).toBe(200)
  })

  it('tokens of one RoleID share an entity, and a changed RoleID has another entity', async () => {
    await makeRole('known')
    const secretId = await issue('known')
    const entityOf = async (roleId: string) => field(await login(roleId, secretId), 'auth', 'entity_id')
    const entity = await entityOf('known')
    expect(await entityOf('known')).toBe(entity)
    await ask('POST', 'role/known/role-id', { role_id: 'changed' })
    expect(await entityOf('changed')).not.toBe(entity)
  })
})
