import { expect, it } from 'vitest'
import { startLab } from '../../src/index.js'
import { connectionTo, CREATION, createCredentials, createRole, dataOf, mountDatabase } from '../support/database.js'
import { PostgresProcess, ROOT_PASSWORD } from '../support/postgres.js'

/** The secrets engine `database` of one cluster, with a PostgreSQL server. */

const ONE = { name: 'one', about: 'one cluster', clusters: ['A'], links: [] } as const

type Fields = Record<string, unknown>

it('credentials work until their lease is revoked', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query('CREATE TABLE public.items (id int)')
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  const answer = await client.read('database/creds/app')
  expect(answer).toMatchObject({ lease_duration: 3600, renewable: true, warnings: null })
  expect(answer.lease_id).toMatch(/^database\/creds\/app\/\w{24}$/)
  const { username, password } = dataOf(answer) as { username: string; password: string }
  expect(username).toMatch(/^v-root-app-[0-9A-Za-z]{20}-\d{10}$/)
  expect(password).toMatch(/^[0-9A-Za-z-]{20}$/)
  expect(await postgres.canLogIn(username, password)).toBe(true)

  const until = async () =>
    (await postgres.query('SELECT rolvaliduntil FROM pg_roles WHERE rolname = $1', [username]))[0]
  const before = await until()
  expect(await client.write('sys/leases/renew', { lease_id: answer.lease_id, increment: 7200 })).toMatchObject({
    lease_id: answer.lease_id,
    lease_duration: 7200,
    renewable: true,
  })
  expect(await until()).not.toBe(before)

  await client.write('sys/leases/revoke', { lease_id: answer.lease_id })
  expect(await postgres.users()).toEqual([])
  expect(await postgres.canLogIn(username, password)).toBe(false)
})

it('the end of a mount during a statement fails only its request', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/roles/slow', { db_name: 'main', creation_statements: 'SELECT pg_sleep(60)' })
  const slow = client.send('GET', 'database/creds/slow')
  const sleeping = () => postgres.query(`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`)
  await expect.poll(async () => (await sleeping()).length, { timeout: 30_000 }).toBe(1)
  await client.call('DELETE', 'sys/mounts/database')
  expect((await slow).status).toBe(500)
  await client.read('sys/mounts')
})

it('users with privileges on the same tables are created and removed concurrently', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query('CREATE TABLE public.items (id int)')
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  const users = await Promise.all(Array.from({ length: 12 }, () => createCredentials(client)))
  expect((await postgres.users()).toSorted()).toEqual(users.map(({ username }) => username).toSorted())
  await client.write('sys/leases/revoke-prefix/database', { sync: true })
  expect(await postgres.users()).toEqual([])
})

it('users of two connections to one database are removed concurrently', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query('CREATE TABLE public.items (id int)')
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/config/other', connectionTo(postgres))
  await client.write('database/roles/other', { db_name: 'other', creation_statements: CREATION })
  for (let round = 0; round < 8; round++) {
    await createCredentials(client)
    await createCredentials(client, 'other')
  }
  await client.write('sys/leases/revoke-prefix/database/creds', { sync: true })
  expect(await postgres.users()).toEqual([])
})

it('a connection that ends during a statement fails only its request', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/roles/slow', { db_name: 'main', creation_statements: 'SELECT pg_sleep(600)' })
  const failed = expect(client.read('database/creds/slow')).rejects.toThrow(/terminat/)
  const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'"
  await expect.poll(() => postgres.query(end)).toEqual(['true'])
  await failed
  await createCredentials(client)
})

it('the end of a token, of a mount and of a lease remove users', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  const policy = 'path "database/creds/*" { capabilities = ["read"] }'
  await client.write('sys/policies/acl/app', { policy })
  const { client_token: token } = (await client.write('auth/token/create', { policies: ['app'] })).auth as Fields
  await createCredentials(client.with({ token: String(token) }))
  await client.write('auth/token/revoke', { token })
  await expect.poll(() => postgres.users()).toEqual([])

  await createRole(client, 'short', '2s')
  await createCredentials(client, 'short')
  await expect.poll(() => postgres.users()).toEqual([])

  await createCredentials(client)
  await client.call('DELETE', 'sys/mounts/database')
  expect(await postgres.users()).toEqual([])
})

it('credentials count against a quota, can be wrapped, and are not returned to a token with one use left', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  const policy = 'path "database/creds/*" { capabilities = ["read"] }'
  await client.write('sys/policies/acl/app', { policy })
  const clientWith = async (fields: Fields) => {
    const { auth } = await client.write('auth/token/create', { policies: ['app', 'default'], ...fields })
    return client.with({ token: String((auth as Fields).client_token) })
  }
  const single = await (await clientWith({ num_uses: 1 })).send('GET', 'database/creds/app')
  expect([single.status, String(single.json?.errors)]).toEqual([400, expect.stringContaining('one use left')])
  expect(await postgres.users()).toEqual([])

  const app = await clientWith({})
  await client.write('sys/quotas/lease-count/one', { path: 'database', max_leases: 1 })
  const headers = { 'X-Vault-Wrap-TTL': '60' }
  const wrapped = (await app.call('GET', 'database/creds/app', { headers })).wrap_info as Fields
  const { lease_id } = await client.write('sys/wrapping/unwrap', { token: wrapped.token })
  expect(lease_id).toMatch(/^database\/creds\/app\//)
  expect((await app.send('GET', 'database/creds/app')).status).toBe(429)
  expect(await postgres.users()).toHaveLength(1)
  await client.write('sys/leases/revoke', { lease_id })
  await createCredentials(app)
})

it('a lease of a database that is down is revoked when it is up again, and a mount stays meanwhile', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await createRole(client, 'short', '1s')
  const [expiring, lasting] = [await createCredentials(client, 'short'), await createCredentials(client)]
  await postgres.stop()
  const failed = await client.send('GET', 'database/creds/app')
  expect(failed.status).toBe(500)
  const refused = await client.send('DELETE', 'sys/mounts/database')
  expect(refused.status).toBe(400)
  expect((await client.send('POST', 'sys/leases/revoke', { body: { lease_id: lasting.lease } })).status).toBe(400)
  // The lease has expired, and its revocation fails.
  await expect
    .poll(async () => dataOf(await client.write('sys/leases/lookup', { lease_id: expiring.lease })).ttl)
    .toBeLessThan(0)
  await postgres.start()
  expect(await postgres.users()).toHaveLength(2)
  await expect.poll(() => postgres.users()).toEqual([lasting.username])
  await client.write('sys/leases/revoke-prefix/database', {})
  expect(await postgres.users()).toEqual([])
})

it('a failed creation leaves no user, and its statements are rolled back', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/roles/bad', {
    db_name: 'main',
    creation_statements: [...CREATION, 'GRANT SELECT ON none TO "{{name}}"'],
  })
  const answer = await client.send('GET', 'database/creds/bad')
  expect([answer.status, JSON.stringify(answer.json)]).toEqual([500, expect.stringContaining('does not exist')])
  expect(await postgres.users()).toEqual([])
})

it('statements of a role create, renew and revoke a user in place of the default ones', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query('CREATE ROLE readers NOLOGIN')
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres, {
    password_authentication: 'scram-sha-256',
    username_template: '{{.RoleName}}-x',
  })
  await client.write('database/roles/own', {
    db_name: 'main',
    creation_statements: `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}'; GRANT readers TO "{{name}}";`,
    renew_statements: `COMMENT ON ROLE "{{name}}" IS '{{expiration}}'`,
    revocation_statements: 'ALTER ROLE "{{name}}" NOLOGIN',
  })
  const { username, password, lease } = await createCredentials(client, 'own')
  expect(username).toBe('own-x')
  // The database received only a verifier of the password.
  expect(await postgres.canLogIn(username, password)).toBe(true)
  await client.write('sys/leases/renew', { lease_id: lease })
  const comment = `SELECT description FROM pg_shdescription`
  expect((await postgres.query(comment)).join()).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+0000/)
  await client.write('sys/leases/revoke', { lease_id: lease })
  expect(await postgres.canLogIn(username, password)).toBe(false)
  expect(await postgres.users()).toEqual(['own-x', 'readers'])
})

it('rotation of the root password takes it from the operator, and connections continue', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/rotate-root/main', {})
  expect(await postgres.canLogIn('admin', ROOT_PASSWORD)).toBe(false)
  const { username, password } = await createCredentials(client)
  expect(await postgres.canLogIn(username, password)).toBe(true)
  await client.write('database/rotate-root/main', {})
  await client.write('database/reset/main', {})
  expect(dataOf(await client.write('database/reload/postgresql-database-plugin', {}))).toEqual({
    connections: ['main'],
    count: 1,
  })
  await client.write('sys/leases/revoke-prefix/database', {})
  expect(await postgres.canLogIn(username, password)).toBe(false)
  expect(JSON.stringify(await client.read('database/config/main'))).not.toMatch(/"password"/)
})

it('the password of a static role is rotated at its creation, on request, and periodically', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query(`CREATE ROLE fixed LOGIN PASSWORD 'first'`)
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  await client.write('database/static-roles/fixed', { db_name: 'main', username: 'fixed', rotation_period: '1h' })
  expect(await postgres.canLogIn('fixed', 'first')).toBe(false)
  const current = async () => String(dataOf(await client.read('database/static-creds/fixed')).password)
  const one = await current()
  expect(await postgres.canLogIn('fixed', one)).toBe(true)
  await client.write('database/rotate-role/fixed', {})
  const two = await current()
  expect(two).not.toBe(one)
  expect([await postgres.canLogIn('fixed', one), await postgres.canLogIn('fixed', two)]).toEqual([false, true])

  await client.write('database/static-roles/fixed', { rotation_period: '5s' })
  await expect.poll(current).not.toBe(two)
  await expect.poll(async () => postgres.canLogIn('fixed', await current())).toBe(true)
  expect(await postgres.canLogIn('fixed', two)).toBe(false)
})

it('a connection is verified before it is stored', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab(ONE)
  const { client } = lab.A
  await mountDatabase(client, postgres)
  const settings = connectionTo(postgres)
  const wrong = await client.send('POST', 'database/config/wrong', { body: { ...settings, password: 'no' } })
  expect([wrong.status, JSON.stringify(wrong.json)]).toEqual([
    400,
    expect.stringContaining('error verifying connection'),
  ])
  expect(dataOf(await client.call('LIST', 'database/config'))).toEqual({ keys: ['main'] })
  await client.write('database/config/wrong', { ...settings, password: 'no', verify_connection: false })
  expect(dataOf(await client.call('LIST', 'database/config'))).toEqual({ keys: ['main', 'wrong'] })
})
