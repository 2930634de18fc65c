import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callHttp } from '../../../src/base/http-call.js'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { createApiCertificates } from '../../../src/crypto/certificates.js'
import { TestCertificate } from '../../support/client-certificates.js'
import { freePorts, localConfig } from '../../support/local-config.js'
import { startOpenServer } from '../../support/memory-server.js'

/** Logins with client certificates over TLS listeners. */

type Fields = Record<string, unknown>

const directory = mkdtempSync(path.join(os.tmpdir(), 'understudy-cert-'))
const file = (name: string) => path.join(directory, name)
let authority: TestCertificate
let client: TestCertificate
let caPem = ''
beforeAll(async () => {
  const { ca, certificate, privateKey } = await createApiCertificates(['localhost', '127.0.0.1'], systemClock.now())
  caPem = ca
  authority = await TestCertificate.authority('root')
  client = await authority.issue({ commonName: 'joe' })
  for (const [name, text] of Object.entries({
    'cert.pem': certificate,
    'key.pem': privateKey,
    'ca.pem': authority.pem,
  }))
    writeFileSync(file(name), text)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Starts a server with a role for the authority. `more` contains settings of its listener. */
const start = async (more: Fields = {}) => {
  const ports = await freePorts()
  const config = localConfig(ports)
  const tcp = {
    ...config.listener.tcp,
    tls_disable: false,
    tls_cert_file: file('cert.pem'),
    tls_key_file: file('key.pem'),
    ...more,
  }
  const address = `https://127.0.0.1:${ports.api}`
  const { server, rootToken } = await startOpenServer({}, { ...config, listener: { tcp }, api_addr: address })
  const own = { clientCertPem: client.pem, clientKeyPem: client.privateKey }
  const root = new ApiClient({ address, caPem, token: rootToken, ...own })
  await root.write('sys/auth/cert', { type: 'cert' })
  await root.write('auth/cert/certs/web', { certificate: authority.pem, token_ttl: '1h' })
  return {
    address,
    root,
    login: async (options: object) => {
      const { status, json } = await new ApiClient({ address, caPem, ...options }).send('PUT', 'auth/cert/login', {
        body: {},
      })
      return { status, errors: json?.errors, auth: json?.auth as Fields | undefined }
    },
    own,
    async [Symbol.asyncDispose]() {
      root.close()
      await server.close(0)
    },
  }
}

const MISSING = { status: 400, errors: ['client certificate must be supplied'] }

describe('a listener with TLS', () => {
  it('a listener requests client certificates by default, and needs none', async () => {
    await using server = await start()
    const { status, auth } = await server.login(server.own)
    expect([status, auth?.metadata]).toEqual([200, expect.objectContaining({ cert_name: 'web', common_name: 'joe' })])
    expect(auth).toMatchObject({ lease_duration: 3600, renewable: true, token_type: 'service' })
    expect(await server.login({})).toMatchObject(MISSING)
    const stranger = await (await TestCertificate.authority('root')).issue()
    expect(await server.login({ clientCertPem: stranger.pem, clientKeyPem: stranger.privateKey })).toMatchObject({
      status: 400,
      errors: ['invalid certificate or no client certificate supplied'],
    })
    const nameless = await authority.issue({ commonName: '' })
    expect(await server.login({ clientCertPem: nameless.pem, clientKeyPem: nameless.privateKey })).toMatchObject({
      status: 400,
      errors: ['the alias name must have 1 to 4096 bytes'],
    })
    const lookup = await server.root.write('auth/token/lookup', { token: auth?.client_token })
    expect(lookup.data).toMatchObject({ display_name: 'cert-web', path: 'auth/cert/login' })
    const { data } = await server.root.read(`identity/entity/id/${auth?.entity_id}`)
    expect(data).toMatchObject({ aliases: [{ name: 'joe', mount_type: 'cert' }] })
  })

  it('a listener with tls_disable_client_certs requests none', async () => {
    await using server = await start({ tls_disable_client_certs: true })
    expect(await server.login(server.own)).toMatchObject(MISSING)
  })

  it('a listener that requires client certificates accepts the logins of its clients', async () => {
    await using server = await start({
      tls_client_ca_file: file('ca.pem'),
      tls_require_and_verify_client_cert: true,
    })
    expect((await server.login(server.own)).status).toBe(200)
    await expect(server.login({})).rejects.toThrow()
  })

  it('a resumed TLS session keeps the authorities that the client sent', async () => {
    await using server = await start()
    const middle = await authority.issue({ commonName: 'middle', isCa: true, uses: [] })
    const deep = await middle.issue({ commonName: 'deep' })
    // Without keep-alive, the agent opens a connection per request, and resumes the TLS session.
    const agent = new Agent({ keepAlive: false, ca: caPem, cert: deep.chainPem, key: deep.privateKey })
    const login = async () => {
      const answer = await callHttp({
        method: 'PUT',
        url: `${server.address}/v1/auth/cert/login`,
        body: '{}',
        timeoutMs: 30_000,
        agent,
        tls: { ca: caPem, cert: deep.chainPem, key: deep.privateKey },
      })
      return answer.status
    }
    expect([await login(), await login(), await login()]).toEqual([200, 200, 200])
    agent.destroy()
  })
})
