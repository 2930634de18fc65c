import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { certType } from '../../../../src/auth/cert/backend.js'
import type { JsonObject } from '../../../../src/logical/json.js'
import type { LoginAuth } from '../../../../src/logical/request.js'
import { BackendHarness, dataOf, EMPTY_TOKEN_FIELDS, makeRequest, refusal } from '../../../support/backend-harness.js'
import { TestCertificate, textExtension } from '../../../support/client-certificates.js'

let root: TestCertificate
let client: TestCertificate
beforeAll(async () => {
  root = await TestCertificate.authority('root')
  client = await root.issue({
    commonName: 'joe',
    units: ['dev'],
    serial: '0d',
    names: [
      { type: 'dns', value: 'joe.a.test' },
      { type: 'email', value: 'joe@a.test' },
      { type: 'url', value: 'spiffe://a/joe' },
    ],
    extensions: [textExtension('1.2.3.4', 'red'), textExtension('1.2.3.5', 'blue')],
  })
})

let cert: BackendHarness
beforeEach(() => {
  cert = new BackendHarness(certType.factory)
  cert.clock.advance(systemClock.now() - cert.clock.now())
})

const NO_CERTIFICATE = ['invalid-request', 'client certificate must be supplied']
const UNTRUSTED = ['invalid-request', 'invalid certificate or no client certificate supplied']
const NO_MATCH = ['invalid-request', 'no chain matching all constraints could be found for this login certificate']

const setRole = (name: string, body: JsonObject = {}) => cert.write(`certs/${name}`, { certificate: root.pem, ...body })
const loginWith = (sent: readonly TestCertificate[], body: JsonObject = {}, remoteAddress = '127.0.0.1') =>
  cert.call('update', 'login', body, { peerCertificates: sent.map(({ der }) => der), remoteAddress })
const login = async (...sent: readonly TestCertificate[]) => (await loginWith(sent))?.login
const refused = (...sent: readonly TestCertificate[]) => refusal(login(...sent))
const rejected = async (path: string, body: JsonObject) => (await refusal(cert.write(path, body)))[1]

describe('roles of cert', () => {
  const DEFAULTS = {
    ...EMPTY_TOKEN_FIELDS,
    allowed_common_names: null,
    allowed_dns_sans: null,
    allowed_email_sans: null,
    allowed_metadata_extensions: null,
    allowed_names: null,
    allowed_organizational_units: null,
    allowed_uri_sans: null,
    ocsp_ca_certificates: '',
    ocsp_enabled: false,
    ocsp_fail_open: false,
    ocsp_query_all_servers: false,
    ocsp_servers_override: null,
    required_extensions: null,
  }

  it('a role has defaults, and a write changes only the sent fields', async () => {
    await setRole('Web')
    const first = { ...DEFAULTS, certificate: root.pem, display_name: 'web' }
    expect(dataOf(await cert.read('certs/web'))).toEqual(first)
    await cert.write('certs/web', { allowed_common_names: 'a,b*', display_name: 'it', policies: 'dev', token_ttl: 60 })
    expect(dataOf(await cert.read('certs/WEB'))).toEqual({
      ...first,
      allowed_common_names: ['a', 'b*'],
      display_name: 'it',
      policies: ['dev'],
      token_policies: ['dev'],
      token_ttl: 60,
    })
  })

  it('a certificate without extended key usages is accepted, since nothing restricts its use', async () => {
    await setRole('r', { certificate: (await root.issue({ uses: [] })).pem })
    expect(dataOf(await cert.read('certs/r'))).toHaveProperty('certificate')
  })

  it('roles are listed and deleted', async () => {
    await setRole('b')
    await setRole('a')
    expect(dataOf(await cert.list('certs'))).toEqual({ keys: ['a', 'b'] })
    await cert.call('delete', 'certs/A')
    expect(await cert.read('certs/a')).toBeUndefined()
  })

  it('an invalid role and OCSP settings are rejected', async () => {
    for (const certificate of ['', 'no certificate', client.privateKey]) {
      expect(await rejected('certs/r', { certificate })).toBe('failed to parse certificate')
    }
    expect(await rejected('certs/r', { token_ttl: 60 })).toBe('failed to parse certificate')
    const server = await root.issue({ uses: ['1.3.6.1.5.5.7.3.1'] })
    expect(await rejected('certs/r', { certificate: server.pem })).toMatch(/^nonCA certificates should have TLS client/)
    expect(await rejected('certs/r', { certificate: root.pem, required_extensions: 'a' })).toBe(
      'required_extensions: "a" is not OID:PATTERN',
    )
    for (const [name, value] of Object.entries({
      ocsp_enabled: true,
      ocsp_fail_open: true,
      ocsp_query_all_servers: true,
      ocsp_ca_certificates: 'a',
      ocsp_servers_override: 'http://a',
    })) {
      expect(await rejected('certs/r', { certificate: root.pem, [name]: value })).toMatch(
        new RegExp(`^${name} is not supported`),
      )
    }
    expect(await cert.read('certs/r')).toBeUndefined()
  })
})

describe('login with a client certificate', () => {
  it('the login path needs no token', () => {
    expect(cert.backend.rules?.find('login')).toEqual({ access: 'open' })
  })

  it('a login describes the token that the core creates', async () => {
    await setRole('web', { token_policies: 'dev', allowed_metadata_extensions: '1.2.3.4,1.2.9', display_name: 'it' })
    const auth = await login(client)
    expect(auth).toEqual({
      displayName: 'it',
      metadata: {
        cert_name: 'web',
        common_name: 'joe',
        serial_number: '13',
        subject_key_id: expect.stringMatching(/^[0-9a-f:]{59}$/),
        authority_key_id: expect.stringMatching(/^[0-9a-f:]{59}$/),
        '1-2-3-4': 'red',
      },
      alias: { name: 'joe', metadata: {} },
      policies: ['dev'],
      tokenType: 'default',
      ttlSeconds: 0,
      maxTtlSeconds: 0,
      explicitMaxTtlSeconds: 0,
      periodSeconds: 0,
      numUses: 0,
      boundCidrs: [],
      noDefaultPolicy: false,
      internal: {
        role: 'web',
        keyId: auth?.metadata.subject_key_id,
        authorityKeyId: auth?.metadata.authority_key_id,
      },
    })
    await cert.write('config', { enable_identity_alias_metadata: true })
    expect((await login(client))?.alias?.metadata).toEqual(auth?.metadata)
  })

  it('a login needs a certificate that a role trusts', async () => {
    await setRole('web')
    expect(await refusal(cert.write('login'))).toEqual(['invalid-request', 'tls connection required'])
    expect(await refusal(loginWith([]))).toEqual(NO_CERTIFICATE)
    expect(await refused(await (await TestCertificate.authority('root')).issue())).toEqual(UNTRUSTED)
    expect(await refused(await root.issue({ from: -2, to: -1 }))).toEqual(UNTRUSTED)
    const broken = cert.call('update', 'login', {}, { peerCertificates: [Buffer.from('x')] })
    expect((await refusal(broken))[1]).toBe('the client certificate cannot be parsed')
  })

  it('a client sends the authorities between its certificate and the role', async () => {
    await setRole('web')
    const middle = await root.issue({ commonName: 'middle', isCa: true, uses: [] })
    const deep = await middle.issue({ commonName: 'deep' })
    expect((await login(deep, middle))?.alias?.name).toBe('deep')
    expect(await refused(deep)).toEqual(UNTRUSTED)
  })

  it('a role can trust one client certificate, and no other certificate of its authority', async () => {
    await setRole('pinned', { certificate: client.pem })
    expect((await login(client))?.metadata.cert_name).toBe('pinned')
    expect(await refused(await root.issue({ commonName: 'joe', serial: '0d' }))).toEqual(UNTRUSTED)
    const expired = await root.issue({ from: -2, to: -1 })
    await setRole('pinned', { certificate: expired.pem })
    expect(await refused(expired)).toEqual(UNTRUSTED)
  })

  it('a role can have several authorities', async () => {
    const other = await TestCertificate.authority('other')
    await setRole('both', { certificate: other.pem + root.pem })
    expect((await login(client))?.displayName).toBe('both')
    expect((await login(await other.issue()))?.displayName).toBe('both')
  })

  it.each<[string, string, string]>([
    ['allowed_names', '*.a.test', 'jane*'],
    ['allowed_names', 'joe@*', '*@b.test'],
    ['allowed_common_names', 'x,jo*', 'x,jo'],
    ['allowed_dns_sans', 'joe.*.test', '*.b.test'],
    ['allowed_email_sans', '*@a.test', 'joe'],
    ['allowed_uri_sans', 'spiffe://a/*', 'spiffe://b/*'],
    ['allowed_organizational_units', 'dev', 'ops'],
    ['required_extensions', '1.2.3.4:re*,1.2.3.5:blue', '1.2.3.4:red,1.2.3.5:red'],
    ['required_extensions', 'hex:1.2.3.4:0c03*', 'hex:1.2.3.4:0d*'],
    ['required_extensions', '1.2.3.4:*', '1.2.9:*'],
  ])('%s accepts %s and rejects %s', async (field, good, bad) => {
    await setRole('web', { [field]: good })
    expect((await login(client))?.alias?.name).toBe('joe')
    await setRole('web', { [field]: bad })
    expect(await refused(client)).toEqual(NO_MATCH)
  })

  it('a login uses the first role that accepts it, or only the named role', async () => {
    await setRole('a', { allowed_common_names: 'jane' })
    await setRole('b')
    await setRole('c')
    expect((await login(client))?.metadata.cert_name).toBe('b')
    expect((await loginWith([client], { name: 'C' }))?.login?.metadata.cert_name).toBe('c')
    expect(await refusal(loginWith([client], { name: 'a' }))).toEqual(NO_MATCH)
    expect(await refusal(loginWith([client], { name: 'none' }))).toEqual(UNTRUSTED)
    const find = (data: JsonObject) => cert.backend.roles?.find(makeRequest('update', 'login', data), 'login')
    expect([find({ name: 'C' }), find({ name: 'none' }), find({})]).toEqual(['c', undefined, undefined])
  })

  it('a login from outside the blocks of the role is rejected', async () => {
    await setRole('web', { token_bound_cidrs: '10.0.0.0/8' })
    expect(await refused(client)).toEqual(['permission-denied', 'permission denied'])
    expect((await loginWith([client], {}, '10.0.0.1'))?.login?.boundCidrs).toEqual(['10.0.0.0/8'])
  })
})

describe('revocation lists', () => {
  it('a listed certificate, or one of a listed authority, is rejected until the list is deleted', async () => {
    await setRole('web')
    const middle = await root.issue({ commonName: 'middle', isCa: true, uses: [] })
    const deep = await middle.issue()
    await cert.write('crls/Old', { crl: await root.revoke(client) })
    expect(dataOf(await cert.read('crls/old'))).toEqual({ cdp: null, serials: { '13': {} } })
    expect(await refused(client)).toEqual(NO_MATCH)
    expect((await login(deep, middle))?.displayName).toBe('web')
    await cert.write('crls/more', { crl: await root.revoke(middle) })
    expect(await refused(deep, middle)).toEqual(NO_MATCH)
    expect(dataOf(await cert.list('crls'))).toEqual({ keys: ['more', 'old'] })
    await cert.call('delete', 'crls/old')
    expect((await login(client))?.displayName).toBe('web')
    expect(await refusal(cert.read('crls/old'))).toEqual(['invalid-request', 'no such CRL old'])
  })

  it('a list must be in PEM, and cannot come from a URL', async () => {
    expect(await rejected('crls/a', { url: 'http://a/crl' })).toMatch(/^"url" is not supported by this server/)
    expect(await rejected('crls/a', {})).toBe("one of 'crl' or 'url' must be provided")
    expect(await refusal(cert.call('delete', 'crls/a'))).toEqual(['invalid-request', 'no such CRL a'])
    expect(await rejected('crls/a', { crl: root.pem })).toMatch(/^failed to parse CRL/)
  })
})

describe('the configuration of cert', () => {
  it('the configuration has defaults, and a write changes only the sent fields', async () => {
    const read = async () => dataOf(await cert.read('config'))
    expect(await read()).toEqual({
      disable_binding: false,
      enable_identity_alias_metadata: false,
      ocsp_cache_size: 0,
    })
    await cert.write('config', { disable_binding: true })
    await cert.write('config', { enable_identity_alias_metadata: true })
    expect(await read()).toEqual({
      disable_binding: true,
      enable_identity_alias_metadata: true,
      ocsp_cache_size: 0,
    })
    for (const name of ['ocsp_cache_size', 'role_cache_size', 'enable_metadata_on_failures']) {
      expect(await rejected('config', { [name]: 1 })).toBe(`${name} is not supported by this server`)
    }
  })
})

describe('renewal of a token of cert', () => {
  const renew = async (auth: LoginAuth, ...sent: readonly TestCertificate[]) =>
    cert.backend.renew?.(auth, { peerCertificates: sent.map(({ der }) => der) })
  const given = async () => {
    const auth = await login(client)
    if (!auth) throw new Error('no login')
    return auth
  }

  it('a renewal uses the current times of the role', async () => {
    await setRole('web')
    const auth = await given()
    await cert.write('certs/web', { token_ttl: 60, token_max_ttl: 120, token_period: 30 })
    expect(await renew(auth, client)).toEqual({ ttlSeconds: 60, maxTtlSeconds: 120, periodSeconds: 30 })
  })

  it('a renewal needs the key of the login, unless binding is disabled', async () => {
    await setRole('web')
    const auth = await given()
    expect(await refusal(renew(auth))).toEqual(NO_CERTIFICATE)
    expect((await refusal(renew(auth, await root.issue({ commonName: 'joe' }))))[1]).toBe(
      'client identity during renewal not matching client identity used during login',
    )
    await cert.write('crls/all', { crl: await root.revoke(client) })
    expect(await refusal(renew(auth, client))).toEqual(NO_MATCH)
    await cert.write('config', { disable_binding: true })
    expect(await renew(auth)).toMatchObject({ ttlSeconds: 0 })
  })

  it('a renewal fails after the policies of the role change, and without the role', async () => {
    await setRole('web', { token_policies: 'dev' })
    const auth = await given()
    await cert.write('certs/web', { token_policies: 'ops' })
    expect((await refusal(renew(auth, client)))[1]).toBe('policies have changed, not renewing')
    await cert.call('delete', 'certs/web')
    expect((await refusal(renew(auth, client)))[1]).toBe('role "web" does not exist during renewal')
  })
})
