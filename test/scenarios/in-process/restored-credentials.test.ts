import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { readLosses, restoredBy } from '../../../src/lab/requests/losses.js'

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
