import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ApiClient } from '../../../src/client/api-client.js'
import { startLab } from '../../../src/index.js'
import { TestCertificate } from '../../support/client-certificates.js'
import { until } from '../../support/until.js'

type Fields = Record<string, unknown>

const DR_REFUSAL = { errors: ['path disabled in replication DR secondary mode'] }

it('logins by certificate work on every node and on a performance secondary, with the certificates of the client', async () => {
  await using lab = await startLab({
    name: 'cert',
    about: '',
    clusters: ['A', 'B', 'C'],
    links: [
      { kind: 'performance', primary: 'A', secondary: 'C' },
      { kind: 'dr', primary: 'A', secondary: 'B' },
    ],
    plans: { A: { tls: true, nodes: 3 }, B: { tls: true }, C: { tls: true } },
  })
  const { A, B, C } = lab
  const root = await TestCertificate.authority('root')
  const middle = await root.issue({ commonName: 'middle', isCa: true, uses: [] })
  const leaf = await middle.issue({ commonName: 'joe' })
  await A.client.write('sys/auth/cert', { type: 'cert' })
  await lab.converged()
  await C.takeRoot()
  // The primary executes the writes of the secondary.
  await C.client.write('auth/cert/certs/web', { certificate: root.pem, token_policies: 'dev' })
  await lab.converged()

  const clients: ApiClient[] = []
  const clientOf = (address: string, certificate?: TestCertificate) => {
    const caPem = readFileSync(String(A.caFile), 'utf8')
    const own = certificate && { clientCertPem: certificate.chainPem, clientKeyPem: certificate.privateKey }
    const client = new ApiClient({ address, caPem, ...own })
    clients.push(client)
    return client
  }
  const login = async (address: string, certificate?: TestCertificate) => {
    const { status, json } = await clientOf(address, certificate).send('PUT', 'auth/cert/login', { body: {} })
    return { status, errors: json?.errors, auth: json?.auth as Fields | undefined }
  }
  const renew = async (address: string, auth: Fields | undefined, certificate?: TestCertificate) => {
    const token = String(auth?.client_token)
    const { status, json } = await clientOf(address, certificate).send('PUT', 'auth/token/renew-self', { token })
    return [status, json?.errors]
  }
  const missing = { status: 400, errors: ['client certificate must be supplied'] }

  const there = await login(C.address, leaf)
  expect(there).toMatchObject({ status: 200, auth: { token_policies: ['default', 'dev'] } })
  expect(await login(C.address)).toMatchObject(missing)
  expect(await renew(C.address, there.auth, leaf)).toEqual([200, undefined])
  expect(await renew(C.address, there.auth)).toEqual([400, missing.errors])
  expect((await renew(A.address, there.auth, leaf))[0]).toBe(403)

  // A standby sends the certificates to the active node, with the authority between client and role.
  for (const { ports } of A.nodes) {
    const address = `https://127.0.0.1:${ports.api}`
    const { auth } = await login(address, leaf)
    expect(auth).toMatchObject({ metadata: { cert_name: 'web', common_name: 'joe' }, entity_id: there.auth?.entity_id })
    expect(await login(address)).toMatchObject(missing)
    expect(await renew(address, auth, leaf)).toEqual([200, undefined])
    expect(await renew(address, auth)).toEqual([400, missing.errors])
  }

  expect((await B.anonymous.send('PUT', 'auth/cert/login', { body: {} })).json).toEqual(DR_REFUSAL)
  expect((await login(B.address, leaf)).errors).toEqual(DR_REFUSAL.errors)

  await A.client.write('auth/cert/crls/list', { crl: await root.revoke(middle) })
  await until(async () => (await login(C.address, leaf)).status === 400)
  for (const client of clients) client.close()
})
