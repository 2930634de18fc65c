import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { readLosses, restoredBy } from '../../../src/lab/requests/losses.js'
import { until } from '../../support/until.js'

it('the losses of a failover name the credentials that are valid again on the new primary', async () => {
  await using lab = await startLab('dr')
  const { client } = lab.A
  await client.write('sys/auth/approle', { type: 'approle' })
  await client.write('auth/approle/role/app', { token_policies: 'default' })
  const roleId = (await client.read('auth/approle/role/app/role-id')).data as { role_id: string }
  const newToken = async (): Promise<string> =>
    ((await client.write('auth/token/create', { policies: ['default'], ttl: '1h' })).auth as { client_token: string })
      .client_token
  const newSecretId = async (): Promise<string> =>
    ((await client.write('auth/approle/role/app/secret-id')).data as { secret_id: string }).secret_id
  const revoke = async (token: string, secret_id: string) => {
    await client.write('auth/token/revoke', { token })
    await client.write('auth/approle/role/app/secret-id/destroy', { secret_id })
  }
  const [token, secretId] = [await newToken(), await newSecretId()]
  await lab.converged()

  lab.link('A', 'B').partition()
  await revoke(token, secretId)
  // The new primary has never had these.
  const [lateToken, lateSecretId] = [await newToken(), await newSecretId()]
  await revoke(lateToken, lateSecretId)
  const lost = await lab.A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })

  const lookUp = async (presented: string) =>
    (await lab.B.anonymous.send('GET', 'auth/token/lookup-self', { token: presented })).status
  const logIn = async (secret_id: string) =>
    (await lab.B.anonymous.send('PUT', 'auth/approle/login', { body: { ...roleId, secret_id } })).status
  expect([await lookUp(token), await logIn(secretId)]).toEqual([200, 200])
  expect([await lookUp(lateToken), await logIn(lateSecretId)]).toEqual([403, 400])

  lab.link('A', 'B').heal()
  await lost.start()
  await lab.rejoin('A', 'B')
  expect(restoredBy(await readLosses(lab.A.anonymous))).toEqual({ tokens: 1, secretIds: 1 })
})

it('a root token with a limited number of uses came back even if its revocation followed a lost use', async () => {
  await using lab = await startLab('dr')
  const created = await lab.A.client.write('auth/token/create', { policies: ['root'], num_uses: 3, no_parent: true })
  const { client_token: token } = created.auth as { client_token: string }
  await lab.converged()
  lab.link('A', 'B').partition()
  expect((await lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
  await lab.A.client.write('auth/token/revoke', { token })
  const lost = await lab.A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })
  expect((await lab.B.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
  lab.link('A', 'B').heal()
  await lost.start()
  await lab.rejoin('A', 'B')
  expect(restoredBy(await readLosses(lab.A.anonymous))).toEqual({ tokens: 1, secretIds: 0 })
})

it('a SecretID that has expired did not come back', async () => {
  await using lab = await startLab('dr')
  const { client } = lab.A
  await client.write('sys/auth/approle', { type: 'approle' })
  await client.write('auth/approle/role/app', { token_policies: 'default', secret_id_ttl: '1m' })
  await client.write('auth/approle/role/app/secret-id')
  await client.write('auth/approle/role/lasting', { token_policies: 'default' })
  const lasting = (await client.write('auth/approle/role/lasting/secret-id')).data as { secret_id: string }
  await lab.converged()
  lab.link('A', 'B').partition()
  for (const { anonymous } of [lab.A, lab.B])
    expect((await anonymous.send('POST', '/_understudy/v1/clock', { body: { skew: '2m' } })).status).toBe(204)
  await client.write('auth/approle/tidy/secret-id')
  await until(async () => (await client.send('LIST', 'auth/approle/role/app/secret-id')).status === 404)
  await client.write('auth/approle/role/lasting/secret-id/destroy', { secret_id: lasting.secret_id })
  const lost = await lab.A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })
  lab.link('A', 'B').heal()
  await lost.start()
  await lab.A.anonymous.send('POST', '/_understudy/v1/clock', { body: { skew: '2m' } })
  await lab.rejoin('A', 'B')
  const removed = (await readLosses(lab.A.anonymous)).flatMap(({ entries }) =>
    entries.filter(({ path, operation }) => operation === 'delete' && path.includes('/secret_id/')),
  )
  expect(removed).toHaveLength(2)
  expect(removed.filter(({ credential }) => credential !== null)).toHaveLength(1)
})
