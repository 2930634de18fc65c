import { X509Certificate } from 'node:crypto'
import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

type Fields = Record<string, unknown>

const dataOf = (answer: Fields): Fields => answer.data as Fields

interface Api {
  read(path: string): Promise<Fields>
  write(path: string, body?: object): Promise<Fields>
}

const issue = async (client: Api, mount = 'pki') => {
  const issued = dataOf(await client.write(`${mount}/issue/web`, { common_name: 'a.example.com' }))
  return { certificate: String(issued.certificate), serial: String(issued.serial_number) }
}

const prepare = async (client: Api, mount = 'pki') => {
  const root = await client.write(`${mount}/root/generate/internal`, { common_name: 'root.test', key_type: 'ec' })
  await client.write(`${mount}/roles/web`, { allow_any_name: true, key_type: 'ec', max_ttl: '72h' })
  return new X509Certificate(String(dataOf(root).certificate))
}

/** Returns whether the list of the default issuer contains a certificate. A serial number is in a list as it is. */
const isListed = async (client: Api, serial: string): Promise<boolean> => {
  const { certificate } = dataOf(await client.read('pki/cert/crl'))
  const der = Buffer.from(String(certificate).replaceAll(/-----.+-----|\s/g, ''), 'base64')
  return der.includes(Buffer.from(serial.replaceAll(':', ''), 'hex'))
}

it('each performance cluster issues, lists and revokes its own pki certificates with the same issuer', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/mounts/pki', { type: 'pki' })
  const root = await prepare(A.client)
  await lab.converged()
  await C.takeRoot()

  const [here, there] = [await issue(A.client), await issue(C.client)]
  for (const { certificate } of [here, there]) {
    expect(new X509Certificate(certificate).verify(root.publicKey)).toBe(true)
  }
  await lab.converged()
  const statusOf = async (cluster: typeof A, serial: string) =>
    (await cluster.client.send('GET', `pki/cert/${serial}`)).status
  expect([await statusOf(A, here.serial), await statusOf(A, there.serial)]).toEqual([200, 404])
  expect([await statusOf(C, here.serial), await statusOf(C, there.serial)]).toEqual([404, 200])
  expect(dataOf(await C.client.call('LIST', 'pki/certs'))).toEqual({ keys: [there.serial] })

  const stranger = await C.client.send('POST', 'pki/revoke', { body: { serial_number: here.serial } })
  expect([stranger.status, stranger.json?.errors]).toEqual([400, [`certificate with serial ${here.serial} not found.`]])
  await C.client.write('pki/revoke', { serial_number: there.serial })
  expect([await isListed(C.client, there.serial), await isListed(A.client, there.serial)]).toEqual([true, false])
  await A.client.write('pki/revoke', { serial_number: here.serial })
  await lab.converged()
  expect([await isListed(C.client, here.serial), await isListed(A.client, here.serial)]).toEqual([false, true])

  // A lease belongs to the cluster that issued the certificate.
  await A.client.write('pki/roles/leased', {
    allow_any_name: true,
    key_type: 'ec',
    max_ttl: '72h',
    generate_lease: true,
  })
  await lab.converged()
  const leased = await C.client.write('pki/issue/leased', { common_name: 'a.example.com' })
  const leasedSerial = String(dataOf(leased).serial_number)
  expect(leased).toMatchObject({ lease_id: expect.stringMatching(/^pki\/issue\/leased\/\w+$/), renewable: false })
  await C.client.write('sys/leases/revoke', { lease_id: leased.lease_id, sync: true })
  expect([await isListed(C.client, leasedSerial), await isListed(A.client, leasedSerial)]).toEqual([true, false])

  // Changes of the mount are made by the primary, and arrive at the secondary.
  await C.client.write('pki/roles/made', { allow_any_name: true })
  const made = dataOf(await C.client.write('pki/root/rotate/internal', { common_name: 'next.test', key_type: 'ec' }))
  expect(dataOf(await A.client.read('pki/issuer/next'))).toMatchObject({ issuer_id: made.issuer_id })
  expect(dataOf(await A.client.read('pki/roles/made'))).toMatchObject({ allow_any_name: true })
  await C.client.write('pki/config/crl', { disable: true })
  await lab.converged()
  expect([await isListed(C.client, there.serial), await isListed(A.client, here.serial)]).toEqual([false, false])
  // The address of a cluster is its own.
  await C.client.write('pki/config/cluster', { path: 'https://c.test/v1/pki' })
  await lab.converged()
  expect(dataOf(await A.client.read('pki/config/cluster'))).toMatchObject({ path: '' })
})

it('a DR secondary serves nothing, and has all pki certificates of its primary after a failover', async () => {
  await using lab = await startLab('dr')
  const { A, B } = lab
  await A.client.write('sys/mounts/pki', { type: 'pki' })
  await prepare(A.client)
  const [kept, revoked] = [await issue(A.client), await issue(A.client)]
  await A.client.write('pki/revoke', { serial_number: revoked.serial })
  await lab.converged()
  expect((await B.anonymous.send('GET', 'pki/ca/pem')).status).not.toBe(200)
  await lab.failover('A', 'B')
  expect(dataOf(await B.client.read(`pki/cert/${kept.serial}`))).toMatchObject({ certificate: kept.certificate })
  expect([await isListed(B.client, revoked.serial), await isListed(B.client, kept.serial)]).toEqual([true, false])
  expect((await issue(B.client)).serial).not.toBe(kept.serial)
})

it('a local mount of pki stays on its cluster', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/mounts/own', { type: 'pki', local: true })
  await prepare(A.client, 'own')
  await lab.converged()
  await C.takeRoot()
  expect((await C.client.send('GET', 'own/ca/pem')).status).toBe(404)
  await C.client.write('sys/mounts/here', { type: 'pki', local: true })
  await prepare(C.client, 'here')
  const { serial } = await issue(C.client, 'here')
  expect(dataOf(await C.client.read(`here/cert/${serial}`))).toMatchObject({ revocation_time: 0 })
  expect((await A.client.send('GET', 'here/ca/pem')).status).toBe(404)
})
