import { expect, it } from 'vitest'
import { startLab } from '../../src/index.js'
import { createCredentials, createRole, dataOf, mountDatabase } from '../support/database.js'
import { PostgresProcess } from '../support/postgres.js'

/** Which cluster revokes the leases of database users, and when, in a replication set with one PostgreSQL server. */

it('a planned failover takes the leases along: the new primary renews them and revokes them at their expiry', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab('dr')
  const { A, B } = lab
  await mountDatabase(A.client, postgres)
  await createRole(A.client, 'short', '8s')
  const long = await createCredentials(A.client)
  await createCredentials(A.client, 'short')
  await lab.converged()
  await lab.switchover('A', 'B')

  expect(dataOf(await B.client.write('sys/leases/lookup', { lease_id: long.lease }))).toMatchObject({ id: long.lease })
  await expect.poll(() => postgres.users()).toEqual([long.username])
  expect(await B.client.write('sys/leases/renew', { lease_id: long.lease, increment: 600 })).toMatchObject({
    lease_duration: 600,
  })
  await B.client.write('sys/leases/revoke', { lease_id: long.lease })
  expect(await postgres.users()).toEqual([])
  const fresh = await createCredentials(B.client)
  expect(await postgres.users()).toEqual([fresh.username])
})

it('a forced failover takes the replicated leases along, and revokes only these', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab('dr')
  const { A, B } = lab
  await mountDatabase(A.client, postgres)
  await createRole(A.client, 'short', '8s')
  const { client_token: token } = (await A.client.write('auth/token/create', { policies: ['root'], ttl: '8s' }))
    .auth as Record<string, unknown>
  const ofToken = await createCredentials(A.client.with({ token: String(token) }))
  const expiring = await createCredentials(A.client, 'short')
  const lasting = await createCredentials(A.client)
  await lab.converged()
  lab.link('A', 'B').partition()
  const lost = await createCredentials(A.client)
  const former = await A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })

  // The new primary does not know the lost lease, so it never removes its user.
  const left = [lasting.username, lost.username].sort()
  await expect.poll(() => postgres.users()).toEqual(left)
  expect([expiring, ofToken].filter(({ username }) => left.includes(username))).toEqual([])
  expect((await B.client.send('POST', 'sys/leases/lookup', { body: { lease_id: lost.lease } })).status).toBe(400)

  // The former primary becomes a secondary, and discards the lost lease.
  lab.link('A', 'B').heal()
  await former.start()
  await lab.rejoin('A', 'B')
  expect(await postgres.users()).toEqual(left)
  await B.client.write('sys/leases/revoke-prefix/database', {})
  expect(await postgres.users()).toEqual([lost.username])
})

it('a performance secondary creates, lists and revokes its own leases with the settings of the primary', async () => {
  const postgres = await PostgresProcess.start()
  await postgres.query(`CREATE ROLE fixed LOGIN PASSWORD 'first'`)
  await using lab = await startLab('pr')
  const { A, C } = lab
  await mountDatabase(A.client, postgres)
  await lab.converged()
  await C.takeRoot()
  // The secondary forwards this write.
  await createRole(C.client, 'short', '3s')
  await lab.converged()
  const [there, here] = [await createCredentials(A.client), await createCredentials(C.client)]
  const keysOf = async ({ client }: typeof A) =>
    (dataOf(await client.call('LIST', 'sys/leases/lookup/database/creds/app')).keys as string[]).map(
      (key) => `database/creds/app/${key}`,
    )
  expect([await keysOf(A), await keysOf(C)]).toEqual([[there.lease], [here.lease]])
  const status = async ({ client }: typeof A, lease_id: string) =>
    (await client.send('POST', 'sys/leases/lookup', { body: { lease_id } })).status
  expect([await status(A, here.lease), await status(C, there.lease)]).toEqual([400, 400])
  await createCredentials(C.client, 'short')
  await expect.poll(() => postgres.users()).toEqual(['fixed', there.username, here.username].sort())

  // Rotations run on the primary, and the secondary serves the result.
  await C.client.write('database/static-roles/fixed', { db_name: 'main', username: 'fixed', rotation_period: '1h' })
  await C.client.write('database/rotate-role/fixed', {})
  await C.client.write('database/rotate-root/main', {})
  await lab.converged()
  const passwordAt = async ({ client }: typeof A) =>
    String(dataOf(await client.read('database/static-creds/fixed')).password)
  const password = await passwordAt(C)
  expect([await passwordAt(A), await postgres.canLogIn('fixed', password)]).toEqual([password, true])

  await C.client.write('sys/leases/revoke', { lease_id: here.lease })
  expect(await postgres.canLogIn(here.username, here.password)).toBe(false)
  expect(await postgres.canLogIn(there.username, there.password)).toBe(true)
})

it('leases of a mount that the primary removes become irrevocable on its performance secondary', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab('pr')
  const { A, C } = lab
  await mountDatabase(A.client, postgres)
  await createRole(A.client, 'short', '3s')
  await lab.converged()
  await C.takeRoot()
  const [there, here] = [await createCredentials(A.client), await createCredentials(C.client, 'short')]
  await A.client.call('DELETE', 'sys/mounts/database')
  expect(await postgres.canLogIn(there.username, there.password)).toBe(false)
  const irrevocable = async () => dataOf(await C.client.call('GET', 'sys/leases', { query: { type: 'irrevocable' } }))
  await expect.poll(irrevocable).toMatchObject({ lease_count: 1, leases: [{ lease_id: here.lease }] })
  await C.client.write('sys/leases/revoke-force/database', {})
  expect(await irrevocable()).toEqual({ lease_count: 0, leases: [] })
})

it('a local mount of a performance secondary has its own settings and leases', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab('pr')
  const { A, C } = lab
  await C.takeRoot()
  await C.client.write('sys/mounts/database', { type: 'database', local: true })
  await C.client.write('database/config/main', {
    plugin_name: 'postgresql-database-plugin',
    connection_url: postgres.url,
    username: 'admin',
    password: 'root-password',
    allowed_roles: 'app',
  })
  await createRole(C.client, 'app', '1h')
  const { username } = await createCredentials(C.client)
  expect(await postgres.users()).toEqual([username])
  expect((await A.client.send('GET', 'database/creds/app')).status).toBe(404)
  await C.client.call('DELETE', 'sys/mounts/database')
  expect(await postgres.users()).toEqual([])
})

it('credentials requested from a standby node are created once, by the active node', async () => {
  const postgres = await PostgresProcess.start()
  await using lab = await startLab({ name: 'one', about: 'one cluster', clusters: ['A'], links: [] }, { nodes: 3 })
  await mountDatabase(lab.A.client, postgres)
  const active = await lab.A.active()
  const standbys = lab.A.nodes.filter((node) => node.name !== active.name)
  for (const [at, standby] of standbys.entries()) {
    const { lease } = await createCredentials(standby.client)
    expect(await postgres.users()).toHaveLength(at + 1)
    expect(dataOf(await lab.A.client.write('sys/leases/lookup', { lease_id: lease }))).toMatchObject({ id: lease })
  }
})
