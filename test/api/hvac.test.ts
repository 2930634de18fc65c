import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { TestCertificate } from '../support/client-certificates.js'
import { Issuer } from '../support/issuer.js'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { dataOf, type Send, type WireAnswer, wire } from '../support/wire.js'

/**
 * The requests of Python's hvac: LIST as a verb, lists as comma-separated strings, metadata as JSON text, unknown
 * fields, HEAD for health. It decodes errors only if the Content-Type is exactly `application/json`.
 */
let server: ServerProcess
let send: Send

const client = (address: string, token?: string): Send =>
  wire(address, {
    'User-Agent': 'python-requests/2.32.3',
    'Accept-Encoding': 'gzip, deflate',
    Accept: '*/*',
    'X-Vault-Request': 'true',
    ...(token === undefined ? {} : { 'X-Vault-Token': token }),
  })

const JSON_TYPE = { 'Content-Type': 'application/json' }

beforeAll(async () => {
  server = await startServerProcess()
  send = client(server.address)
})
afterAll(() => server?.[Symbol.asyncDispose]())

const post = (path: string, body: unknown, by = send) => by('POST', path, JSON.stringify(body), JSON_TYPE)

/** Returns the errors that hvac shows for a response; they depend on the media type. */
const errorsOf = ({ status, headers, json }: WireAnswer): [number, unknown] => [
  status,
  headers['content-type'] === 'application/json' ? json?.errors : 'not decoded',
]

describe('system', () => {
  it('hvac initializes and unseals a server, and checks its token', async () => {
    expect((await send('GET', 'sys/init')).json).toEqual({ initialized: false })
    expect((await send('HEAD', 'sys/health')).status).toBe(501)
    const made = await send('PUT', 'sys/init', '{"secret_shares": 3, "secret_threshold": 2}', JSON_TYPE)
    expect((await send('HEAD', 'sys/health')).status).toBe(503)
    expect(errorsOf(await send('GET', 'sys/mounts'))).toEqual([503, ['Vault is sealed']])
    for (const key of made.json?.keys.slice(0, 2) ?? []) {
      const body = JSON.stringify({ key, migrate: false })
      expect((await send('PUT', 'sys/unseal', body, JSON_TYPE)).status).toBe(200)
    }
    expect((await client(server.address)('GET', 'auth/token/lookup-self')).status).toBe(403)
    send = client(server.address, String(made.json?.root_token))
    expect((await send('GET', 'auth/token/lookup-self')).status).toBe(200)
  })

  it('hvac read_health_status sends HEAD without a body, or GET with an ignored body', async () => {
    const head = await send('HEAD', 'sys/health')
    expect([head.status, head.text]).toEqual([200, ''])
    const got = await send('GET', 'sys/health?standbyok=True', '{"a": 1}', JSON_TYPE)
    expect([got.status, got.json?.initialized]).toEqual([200, true])
  })

  it('hvac writes a policy, and enables an auth method and an audit device', async () => {
    const body = '{"policy": "path \\"secret/*\\" {capabilities = [\\"read\\"]}"}'
    expect((await send('PUT', 'sys/policy/reader', body, JSON_TYPE)).status).toBe(204)
    const policy = await send('GET', 'sys/policy/reader')
    expect(policy.json).toMatchObject({ name: 'reader', rules: expect.any(String), data: { name: 'reader' } })
    const method = { type: 'approle', description: null, config: null, plugin_name: null, local: false }
    expect((await post('sys/auth/approle', method)).status).toBe(204)
    expect(Object.keys((await send('GET', 'sys/auth')).json ?? {})).toContain('approle/')
  })
})

describe('approle', () => {
  it('hvac create_or_update_approle sends comma-separated strings and an unknown field', async () => {
    const role = {
      token_policies: 'reader,other',
      token_ttl: '10m',
      secret_id_num_uses: 5,
      bind_secret_id: true,
      enable_local_secret_ids: false,
    }
    expect((await post('auth/approle/role/app', role)).status).toBe(204)
    const read = await send('GET', 'auth/approle/role/app')
    expect(read.json?.data).toMatchObject({
      token_policies: ['reader', 'other'],
      token_ttl: 600,
      token_type: 'default',
    })
  })

  it('hvac list_roles sends LIST, or a query with strict_http', async () => {
    expect((await send('LIST', 'auth/approle/role')).json?.data.keys).toEqual(['app'])
    expect((await send('GET', 'auth/approle/role?list=True')).json?.data.keys).toEqual(['app'])
  })

  it('hvac generate_secret_id sends metadata as JSON text, and login returns the token', async () => {
    const { role_id } = dataOf(await send('GET', 'auth/approle/role/app/role-id'))
    const made = await post('auth/approle/role/app/secret-id', { metadata: '{"env": "test"}' })
    const { secret_id, secret_id_accessor } = dataOf(made)
    const login = await post('auth/approle/login', { role_id, secret_id }, client(server.address))
    expect(login.json?.auth.metadata).toEqual({ env: 'test', role_name: 'app' })
    const looked = await post('auth/approle/role/app/secret-id-accessor/lookup', { secret_id_accessor })
    expect(looked.json?.data).toMatchObject({ secret_id_num_uses: 4, metadata: { env: 'test' } })
    expect((await post('auth/approle/role/app/secret-id/destroy', { secret_id })).status).toBe(204)
    expect(errorsOf(await post('auth/approle/login', { role_id, secret_id }, client(server.address)))).toEqual([
      400,
      ['invalid role or secret ID'],
    ])
  })

  it('hvac generate_secret_id with wrap_ttl returns wrap_info', async () => {
    const wrapped = await send('POST', 'auth/approle/role/app/secret-id', '{}', {
      ...JSON_TYPE,
      'X-Vault-Wrap-TTL': '60s',
    })
    expect(wrapped.json?.wrap_info).toMatchObject({ ttl: 60, creation_path: 'auth/approle/role/app/secret-id' })
    expect((await send('DELETE', 'auth/approle/role/app')).status).toBe(204)
    expect(errorsOf(await send('LIST', 'auth/approle/role'))).toEqual([404, []])
  })
})

describe('jwt and cert', () => {
  it('hvac configures jwt, manages its roles and logs in', async () => {
    const issuer = new Issuer()
    expect((await post('sys/auth/jwt', { type: 'jwt', description: null, config: null, local: false })).status).toBe(
      204,
    )
    expect((await post('auth/jwt/config', { jwt_validation_pubkeys: [issuer.publicKeyPem] })).status).toBe(204)
    const role = {
      name: 'app',
      role_type: 'jwt',
      bound_audiences: ['vault'],
      user_claim: 'sub',
      groups_claim: 'groups',
      allowed_redirect_uris: [],
      bound_claims_type: 'string',
      verbose_oidc_logging: false,
      token_policies: ['dev'],
    }
    expect((await post('auth/jwt/role/app', role)).status).toBe(204)
    expect((await send('LIST', 'auth/jwt/role')).json?.data.keys).toEqual(['app'])
    const iat = Math.floor(systemClock.now() / 1000)
    const jwt = await issuer.sign({ sub: 'joe', aud: 'vault', iat, groups: ['a'] })
    const login = await post('auth/jwt/login', { role: 'app', jwt }, client(server.address))
    expect(login.json?.auth.token_policies).toEqual(['default', 'dev'])
    expect((await send('DELETE', 'auth/jwt/role/app')).status).toBe(204)
  })

  it('hvac manages the roles and the configuration of cert', async () => {
    const { pem } = await TestCertificate.authority('root')
    expect((await post('sys/auth/cert', { type: 'cert', description: null, config: null, local: false })).status).toBe(
      204,
    )
    const role = { name: 'web', certificate: pem, token_policies: ['ops'] }
    expect((await post('auth/cert/certs/web', role)).status).toBe(204)
    expect((await send('GET', 'auth/cert/certs/web')).json?.data.display_name).toBe('web')
    expect((await send('LIST', 'auth/cert/certs')).json?.data.keys).toEqual(['web'])
    expect((await post('auth/cert/config', { disable_binding: true })).status).toBe(204)
    const login = await post('auth/cert/login', { name: 'web' }, client(server.address))
    expect(errorsOf(login)).toEqual([400, ['tls connection required']])
    expect((await send('DELETE', 'auth/cert/certs/web')).status).toBe(204)
  })
})

describe('kv version 2', () => {
  it('hvac handles the life cycle of a KV version 2 secret', async () => {
    const mount = {
      type: 'kv',
      description: null,
      config: null,
      options: { version: 2 },
      local: false,
      seal_wrap: false,
    }
    expect((await post('sys/mounts/secret', mount)).status).toBe(204)
    const write = (data: unknown, cas: number) => post('secret/data/a', { options: { cas }, data })
    expect((await write({ word: 'one' }, 0)).json?.data.version).toBe(1)
    expect(errorsOf(await write({ word: 'no' }, 0))).toEqual([
      400,
      ['check-and-set parameter did not match the current version'],
    ])
    expect((await write({ word: 'two' }, 1)).json?.data.version).toBe(2)
    expect((await send('GET', 'secret/data/a?version=1')).json?.data.data).toEqual({ word: 'one' })
    expect((await send('LIST', 'secret/metadata/')).json?.data.keys).toEqual(['a'])
    for (const [action, version] of [
      ['delete', 1],
      ['undelete', 1],
      ['destroy', 1],
    ] as const) {
      expect((await post(`secret/${action}/a`, { versions: [version] })).status).toBe(204)
    }
    const gone = await send('GET', 'secret/data/a?version=1')
    expect([gone.status, gone.json?.data]).toMatchObject([
      404,
      { data: null, metadata: { destroyed: true, version: 1 } },
    ])
    expect((await send('DELETE', 'secret/metadata/a')).status).toBe(204)
    expect(errorsOf(await send('GET', 'secret/data/a'))).toEqual([404, []])
    expect((await send('PUT', 'secret/data/a')).status).toBe(400)
  })
})
