import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import nodeVault from 'node-vault'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { TestCertificate } from '../support/client-certificates.js'
import { Issuer } from '../support/issuer.js'
import { freePorts } from '../support/local-config.js'
import { disposeAfterTest, Program, STARTED } from '../support/program.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'

/** Unmodified third-party clients against a running server. */
let server: ServerProcess
let rootToken = ''
let unsealKeys: readonly string[] = []

beforeAll(async () => {
  server = await startServerProcess()
})

afterAll(() => server[Symbol.asyncDispose]())

const vault = (token = rootToken) =>
  nodeVault({ endpoint: server.address, token, debug: () => undefined }) as nodeVault.client & Record<string, Method>

type Method = (args?: Record<string, unknown>) => Promise<Answer>

interface Answer {
  readonly [field: string]: unknown
  readonly data: Record<string, unknown>
  readonly auth: Record<string, unknown>
  readonly wrap_info: Record<string, unknown>
}

/** The called methods of node-vault, to check that no method is missing. */
const called = new Set<string>()

const call = (method: string, args: Record<string, unknown> = {}, token = rootToken): Promise<Answer> => {
  called.add(method)
  const found = vault(token)[method]
  if (!found) throw new Error(`node-vault has no ${method}`)
  return found(args)
}

describe('node-vault', () => {
  it('node-vault initializes and unseals a server', async () => {
    expect(await call('initialized')).toEqual({ initialized: false })
    const made = await call('init', { secret_shares: 3, secret_threshold: 2 })
    rootToken = String(made.root_token)
    unsealKeys = made.keys as string[]
    expect(unsealKeys).toHaveLength(3)
    expect(await call('status')).toMatchObject({ sealed: true, t: 2, n: 3, progress: 0 })
    expect(await call('unseal', { key: unsealKeys[0] })).toMatchObject({ sealed: true, progress: 1 })
    expect(await call('unseal', { key: unsealKeys[2] })).toMatchObject({ sealed: false })
    expect(await call('health')).toMatchObject({ initialized: true, sealed: false, standby: false })
    expect(await call('leader')).toMatchObject({ is_self: true, ha_enabled: true })
  })

  it('node-vault mounts, moves and removes secret engines', async () => {
    await call('mount', { mount_point: 'one', type: 'kv', options: { version: '1' } })
    await call('mount', { mount_point: 'secret', type: 'kv', options: { version: '2' } })
    expect(await call('mounts')).toMatchObject({
      'one/': { type: 'kv', options: { version: '1' } },
      data: { 'secret/': { options: { version: '2' } } },
    })
    await call('mount', { mount_point: 'away', type: 'kv' })
    await call('remount', { from: 'away', to: 'moved' })
    expect(Object.keys((await call('mounts')).data)).toContain('moved/')
    await call('unmount', { mount_point: 'moved' })
    expect(Object.keys((await call('mounts')).data)).not.toContain('moved/')
  })

  it('node-vault writes, reads, lists and deletes in KV version 1', async () => {
    const client = vault()
    await client.write('one/a/b', { word: 'x', n: 1 })
    await client.write('one/c', { word: 'y' })
    expect((await client.read('one/a/b')).data).toEqual({ word: 'x', n: 1 })
    expect((await client.list('one')).data.keys).toEqual(['a/', 'c'])
    const plain = nodeVault({ endpoint: server.address, token: rootToken, noCustomHTTPVerbs: true })
    expect((await plain.list('one')).data.keys).toEqual(['a/', 'c'])
    await client.delete('one/c')
    await expect(client.read('one/c')).rejects.toThrow('Status 404')
    await expect(client.update('one/a/b', { word: 'z' })).rejects.toMatchObject({ response: { statusCode: 405 } })
    expect(JSON.stringify(await client.help('one'))).toContain('help')
  })

  it('node-vault writes, patches, lists and destroys in KV version 2', async () => {
    const client = vault()
    for (const word of ['x', 'y']) await client.write('secret/data/a', { data: { word, keep: 1 } })
    await client.update('secret/data/a', { data: { word: 'z' } })
    expect((await client.read('secret/data/a')).data).toMatchObject({
      data: { word: 'z', keep: 1 },
      metadata: { version: 3, destroyed: false },
    })
    expect((await client.read('secret/data/a?version=1')).data.data.word).toBe('x')
    expect((await client.list('secret/metadata')).data.keys).toEqual(['a'])
    await call('destroySecretVersions', { path: 'a', versions: [1] })
    const { versions } = (await client.read('secret/metadata/a')).data
    expect([versions['1'].destroyed, versions['2'].destroyed]).toEqual([true, false])
    await client.delete('secret/data/a')
    await expect(client.read('secret/data/a')).rejects.toMatchObject({ response: { statusCode: 404 } })
    await client.write('secret/undelete/a', { versions: [3] })
    expect((await client.read('secret/data/a')).data.data.word).toBe('z')
    await client.delete('secret/metadata/a')
    await expect(client.list('secret/metadata')).rejects.toThrow('Status 404')
  })

  it('node-vault writes, reads and deletes policies', async () => {
    const rules = 'path "one/*" { capabilities = ["read", "list"] }'
    await call('addPolicy', { name: 'reader', rules })
    await call('addPolicy', { name: 'other', policy: rules })
    expect((await call('policies')).policies).toEqual(['default', 'other', 'reader', 'root'])
    expect(await call('getPolicy', { name: 'reader' })).toMatchObject({ name: 'reader', rules, data: { rules } })
    await call('removePolicy', { name: 'other' })
    await expect(call('getPolicy', { name: 'other' })).rejects.toThrow('Status 404')
  })

  it('node-vault makes, looks up, renews and revokes tokens', async () => {
    const { auth } = await call('tokenCreate', { policies: ['reader'], ttl: '1h', renewable: true })
    const token = String(auth.client_token)
    const { accessor } = auth
    expect((await call('tokenLookup', { token })).data).toMatchObject({ policies: ['default', 'reader'] })
    expect((await call('tokenLookupSelf', {}, token)).data).toMatchObject({ accessor, ttl: expect.any(Number) })
    expect((await call('tokenLookupAccessor', { accessor })).data).toMatchObject({ id: '', accessor })
    expect((await call('tokenRenew', { token, increment: '2h' })).auth.lease_duration).toBe(7200)
    expect((await call('tokenRenewSelf', { increment: '30m' }, token)).auth.lease_duration).toBe(1800)
    expect((await call('tokenAccessors')).data.keys).toContain(accessor)
    expect((await vault(token).read('one/a/b')).data.word).toBe('x')
    await expect(vault(token).write('one/a/b', { word: 'no' })).rejects.toThrow('permission denied')
    await call('tokenRevokeAccessor', { accessor })
    await expect(call('tokenLookupSelf', {}, token)).rejects.toMatchObject({ response: { statusCode: 403 } })

    for (const [create, args] of [
      ['tokenCreate', {}],
      ['tokenCreateOrphan', {}],
      ['tokenCreateRole', { role_name: 'maker' }],
    ] as const) {
      if (create === 'tokenCreateRole') await call('addTokenRole', { role_name: 'maker', allowed_policies: 'reader' })
      const made = String((await call(create, { ...args, policies: ['reader'] })).auth.client_token)
      if (create === 'tokenCreate') await call('tokenRevoke', { token: made })
      if (create === 'tokenCreateOrphan') await call('tokenRevokeOrphan', { token: made })
      if (create === 'tokenCreateRole') await call('tokenRevokeSelf', {}, made)
      await expect(call('tokenLookup', { token: made })).rejects.toMatchObject({ response: { statusCode: 403 } })
    }
    expect((await call('tokenRoles')).data.keys).toEqual(['maker'])
    expect((await call('getTokenRole', { role_name: 'maker' })).data).toMatchObject({ allowed_policies: ['reader'] })
    await call('removeTokenRole', { role_name: 'maker' })
    await expect(call('tokenRoles')).rejects.toThrow('Status 404')
  })

  it('node-vault enables auth methods and logs in', async () => {
    await call('enableAuth', { mount_point: 'userpass', type: 'userpass' })
    await call('enableAuth', { mount_point: 'approle', type: 'approle' })
    await call('enableAuth', { mount_point: 'gone', type: 'userpass' })
    await call('disableAuth', { mount_point: 'gone' })
    expect(Object.keys((await call('auths')).data)).toEqual(['approle/', 'token/', 'userpass/'])
    await vault().write('auth/userpass/users/ann', { password: 'pw', token_policies: 'reader' })
    const login = await call('userpassLogin', { username: 'ann', password: 'pw' })
    expect(login.auth).toMatchObject({ token_policies: ['default', 'reader'], orphan: true })
    await expect(call('userpassLogin', { username: 'ann', password: 'no' })).rejects.toThrow(
      'invalid username or password',
    )
  })

  it('node-vault logs in with a JWT', async () => {
    const issuer = new Issuer()
    await call('enableAuth', { mount_point: 'jwt', type: 'jwt' })
    await vault().write('auth/jwt/config', { jwt_validation_pubkeys: [issuer.publicKeyPem] })
    await vault().write('auth/jwt/role/app', { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['vault'] })
    const jwt = await issuer.sign({ sub: 'joe', aud: 'vault', iat: Math.floor(systemClock.now() / 1000) })
    const { auth } = await call('jwtLogin', { role: 'app', jwt })
    expect(auth).toMatchObject({ metadata: { role: 'app' }, token_policies: ['default'] })
    await expect(call('jwtLogin', { role: 'none', jwt })).rejects.toThrow('role "none" could not be found')
  })

  it('node-vault logs in with a client certificate', async () => {
    const { api } = await freePorts()
    const flags = ['-dev-tls', `-dev-listen-address=127.0.0.1:${api}`, '-dev-root-token-id=root']
    const program = disposeAfterTest(new Program(['server', ...flags]))
    await program.untilPrinted(STARTED)
    const ca = readFileSync(/VAULT_CACERT='([^']+)'/.exec(program.stdout)?.[1] ?? '', 'utf8')
    const root = await TestCertificate.authority('root')
    const { pem: cert, privateKey: key } = await root.issue({ commonName: 'joe' })
    const endpoint = `https://127.0.0.1:${api}`
    const client = nodeVault({ endpoint, token: 'root', requestOptions: { ca, cert, key } }) as nodeVault.client &
      Record<string, Method>
    await client.write('sys/auth/cert', { type: 'cert' })
    await client.write('auth/cert/certs/app', { certificate: root.pem })
    called.add('certLogin')
    const login = await client.certLogin?.()
    expect(login?.auth).toMatchObject({ metadata: { cert_name: 'app', common_name: 'joe' } })
  })

  it('node-vault manages AppRole roles and logs in by AppRole', async () => {
    const role = { role_name: 'app' }
    await call('addApproleRole', { ...role, policies: 'reader', token_ttl: 600 })
    expect((await call('approleRoles')).data.keys).toEqual(['app'])
    expect((await call('getApproleRole', role)).data).toMatchObject({ token_policies: ['reader'], token_ttl: 600 })
    await call('updateApproleRoleId', { ...role, role_id: 'chosen' })
    expect((await call('getApproleRoleId', role)).data.role_id).toBe('chosen')
    const { data: first } = await call('getApproleRoleSecret', role)
    const { data: second } = await call('getApproleRoleSecret', { ...role, metadata: '{"a":"b"}' })
    const accessors = (await call('approleSecretAccessors', role)).data.keys as string[]
    expect(accessors.sort()).toEqual([first.secret_id_accessor, second.secret_id_accessor].map(String).sort())
    const { secret_id, secret_id_accessor } = second
    expect((await call('approleSecretLookup', { ...role, secret_id })).data.metadata).toEqual({ a: 'b' })
    const looked = await call('approleSecretAccessorLookup', { ...role, secret_id_accessor })
    expect(looked.data.secret_id_accessor).toBe(secret_id_accessor)
    const { auth } = await call('approleLogin', { role_id: 'chosen', secret_id })
    expect(auth).toMatchObject({ policies: ['default', 'reader'], lease_duration: 600, metadata: { a: 'b' } })
    await call('approleSecretAccessorDestroy', { ...role, secret_id_accessor })
    await expect(call('approleLogin', { role_id: 'chosen', secret_id })).rejects.toThrow('invalid role or secret ID')
    await call('approleSecretDestroy', { ...role, secret_id: first.secret_id })
    await call('deleteApproleRole', role)
    await expect(call('getApproleRole', role)).rejects.toThrow('Status 404')
  })

  it('node-vault wraps and unwraps responses', async () => {
    const client = vault()
    const wrapped = await client.write(
      'sys/wrapping/wrap',
      { word: 'hidden' },
      { headers: { 'X-Vault-Wrap-TTL': '60s' } },
    )
    const { token, ttl } = wrapped.wrap_info
    expect(ttl).toBe(60)
    expect((await call('unwrap', { token })).data).toEqual({ word: 'hidden' })
    await expect(call('unwrap', { token })).rejects.toThrow('wrapping token is not valid or does not exist')
    const read = await client.read('one/a/b', { headers: { 'X-Vault-Wrap-TTL': '1m' } })
    expect((await call('unwrap', {}, read.wrap_info.token)).data).toEqual({ word: 'x', n: 1 })
  })

  it('node-vault manages audit devices, leases and keys', async () => {
    await call('enableAudit', { name: 'log', type: 'file', options: { file_path: 'discard' } })
    expect(await call('audits')).toMatchObject({ 'log/': { type: 'file' } })
    await call('disableAudit', { name: 'log' })
    await call('rotate')
    expect((await vault().read('sys/key-status')).data.term).toBe(2)
    const { auth } = await call('userpassLogin', { username: 'ann', password: 'pw' })
    const leases = (await vault().list('sys/leases/lookup/auth/userpass/login/ann')).data.keys as string[]
    expect(leases.length).toBeGreaterThan(0)
    const lease_id = `auth/userpass/login/ann/${leases[0]}`
    await expect(call('renew', { lease_id })).rejects.toThrow('tokens cannot be renewed through this endpoint')
    await call('revoke', { lease_id })
    await call('revokePrefix', { path_prefix: 'auth/userpass/login' })
    await expect(call('tokenLookup', { token: auth.client_token })).rejects.toThrow('bad token')
  })

  it('node-vault generates a root token from the shares', async () => {
    await call('generateRootInit')
    await call('generateRootCancel')
    const attempt = await call('generateRootInit')
    await call('generateRootUpdate', { key: unsealKeys[0], nonce: attempt.nonce })
    const done = await call('generateRootUpdate', { key: unsealKeys[1], nonce: attempt.nonce })
    expect(done.complete).toBe(true)
    const otp = Buffer.from(String(attempt.otp))
    const encoded = Buffer.from(String(done.encoded_token), 'base64')
    const token = Buffer.from(encoded.map((byte, index) => byte ^ (otp[index] ?? 0))).toString()
    expect((await call('tokenLookupSelf', {}, token)).data.policies).toEqual(['root'])
  })

  it('node-vault steps a server down, seals it and unseals it', async () => {
    await call('stepDown')
    expect(await call('health')).toMatchObject({ sealed: false })
    await call('seal')
    expect(await call('status')).toMatchObject({ sealed: true })
    await expect(call('mounts')).rejects.toThrow('Vault is sealed')
    await call('unseal', { key: unsealKeys[1] })
    await call('unseal', { key: unsealKeys[2] })
    expect((await vault().read('one/a/b')).data.word).toBe('x')
  })

  it('these tests call every method of node-vault that belongs to an implemented endpoint', () => {
    const foreign =
      /^(gcp|github|kubernetes|awsIam|ldap|okta|radius)Login$|[kK]ubernetes|^(encrypt|decrypt|rewrap)Data$|^transit|Database/
    const methods = Object.keys(vault().commands as object)
    const missing = methods.filter((method) => !foreign.test(method) && !called.has(method))
    expect(missing).toEqual([])
    console.log(`${called.size} of ${methods.length} node-vault methods; the others are of engines that are not built`)
  })
})

const run = promisify(execFile)

/** Returns status and body of a curl call, run like a shell would. */
const curl = async (...args: string[]): Promise<{ status: number; body: Answer | undefined }> => {
  const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...args])
  const end = stdout.lastIndexOf('\n')
  const text = stdout.slice(0, end)
  return { status: Number(stdout.slice(end + 1)), body: text === '' ? undefined : (JSON.parse(text) as Answer) }
}

describe('curl', () => {
  const url = (path: string) => `${server.address}/v1/${path}`
  const header = () => ['-H', `X-Vault-Token: ${rootToken}`]

  it('curl sends LIST', async () => {
    const listed = await curl('-X', 'LIST', ...header(), url('one'))
    expect([listed.status, listed.body?.data]).toEqual([200, { keys: ['a/'] }])
    const asked = await curl(...header(), url('one?list=true'))
    expect([asked.status, asked.body?.data]).toEqual([200, { keys: ['a/'] }])
    const { stdout } = await run('curl', ['-sS', '-w', '\n', '-X', 'LIST', ...header(), url('one'), url('one/a')])
    const keys = stdout
      .trim()
      .split(/\n+/)
      .map((line) => (JSON.parse(line) as Answer).data.keys)
    expect(keys, 'two on one connection').toEqual([['a/'], ['b']])
    expect((await curl('-X', 'LIST', ...header(), url('one/none'))).status).toBe(404)
  })

  it('curl sends JSON with the content type of a form, forms, and null', async () => {
    expect((await curl('-d', '{"word":"json"}', ...header(), url('one/curl'))).status).toBe(204)
    expect((await curl(...header(), url('one/curl'))).body?.data).toEqual({ word: 'json' })
    expect((await curl('-d', 'word=form&n=1', ...header(), url('one/curl'))).status).toBe(204)
    expect((await curl(...header(), url('one/curl'))).body?.data).toEqual({ word: 'form', n: '1' })
    const authorised = ['-H', `Authorization: Bearer ${rootToken}`]
    expect((await curl(...authorised, url('one/curl'))).body?.data).toEqual({ word: 'form', n: '1' })
    const forced = await curl('-X', 'PUT', '-d', 'null', ...header(), url('auth/token/create'))
    expect([forced.status, forced.body?.auth.policies]).toEqual([200, ['root']])
    const empty = await curl('-X', 'POST', ...header(), url('auth/token/create'))
    expect(empty.status).toBe(200)
    const json = ['-H', 'Content-Type: application/json']
    const nothing = await curl('-X', 'PUT', ...json, '-d', 'null', ...header(), url('one/curl'))
    expect([nothing.status, nothing.body?.errors]).toEqual([400, ['missing data fields']])
  })

  it('curl sends chunked bodies from standard input, deletes, patches, and requests only headers', async () => {
    const put = await curl(
      '-X',
      'PUT',
      '-H',
      'Transfer-Encoding: chunked',
      '-d',
      '{"a":"b"}',
      ...header(),
      url('one/d'),
    )
    expect(put.status).toBe(204)
    expect((await curl('-X', 'DELETE', ...header(), url('one/d'))).status).toBe(204)
    expect((await curl(...header(), url('one/d'))).status).toBe(404)
    await curl('-d', '{"data":{"a":1}}', ...header(), url('secret/data/p'))
    const mergePatch = ['-X', 'PATCH', '-H', 'Content-Type: application/merge-patch+json']
    const patched = await curl(...mergePatch, '-d', '{"data":{"b":2}}', ...header(), url('secret/data/p'))
    expect(patched.status).toBe(200)
    const { stdout } = await run('curl', ['-sSI', url('sys/health')])
    expect(stdout).toMatch(/^HTTP\/1\.1 200/)
  })
})
