import { expect, it } from 'vitest'
import { type LabCluster, startLab } from '../../../src/index.js'

type Fields = Record<string, unknown>

const dataOf = (answer: Fields): Fields => answer.data as Fields

const verify = async ({ anonymous }: Pick<LabCluster, 'anonymous'>, otp: unknown) => {
  const { status, json } = await anonymous.send('POST', 'ssh/verify', { body: { otp } })
  return status === 200 ? dataOf(json as Fields).username : json?.errors
}

const createOtp = async ({ client }: Pick<LabCluster, 'client'>) => {
  const { lease_id: lease, data } = await client.write('ssh/creds/hosts', { ip: '10.1.1.1' })
  return { lease, key: (data as Fields).key }
}

const HOSTS = { key_type: 'otp', default_user: 'ubuntu', cidr_list: '10.0.0.0/8' }
const NOT_FOUND = ['OTP not found']

it('performance clusters sign with the same authority, and each verifies its own one-time passwords', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/mounts/ssh', { type: 'ssh' })
  await A.client.write('ssh/config/ca', { key_type: 'ed25519' })
  await A.client.write('ssh/roles/hosts', HOSTS)
  await lab.converged()
  await C.takeRoot()
  expect(dataOf(await C.client.read('ssh/config/ca'))).toEqual(dataOf(await A.client.read('ssh/config/ca')))

  const [here, there] = [await createOtp(A), await createOtp(C)]
  await lab.converged()
  expect([await verify(C, here.key), await verify(A, there.key)]).toEqual([NOT_FOUND, NOT_FOUND])
  expect([await verify(A, here.key), await verify(C, there.key)]).toEqual(['ubuntu', 'ubuntu'])

  await C.client.write('ssh/roles/made', { key_type: 'ca', allow_user_certificates: true, allowed_users: '*' })
  const issued = { key_type: 'ed25519', valid_principals: 'a' }
  expect(dataOf(await A.client.write('ssh/issue/made', issued))).toHaveProperty('signed_key')
  expect(dataOf(await C.client.write('ssh/issue/made', issued))).toHaveProperty('signed_key')
})

it('after a failover, the new primary verifies the one-time passwords, and the end of a lease deletes one', async () => {
  await using lab = await startLab('dr')
  const { A, B } = lab
  await A.client.write('sys/mounts/ssh', { type: 'ssh' })
  await A.client.write('ssh/roles/hosts', HOSTS)
  const [used, kept, revoked] = [await createOtp(A), await createOtp(A), await createOtp(A)]
  expect(await verify(A, used.key)).toBe('ubuntu')
  await lab.converged()
  await lab.failover('A', 'B')
  await B.client.write('sys/leases/revoke', { lease_id: revoked.lease, sync: true })
  expect([await verify(B, used.key), await verify(B, revoked.key)]).toEqual([NOT_FOUND, NOT_FOUND])
  expect(await verify(B, kept.key)).toBe('ubuntu')
})
