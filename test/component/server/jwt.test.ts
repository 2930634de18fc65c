import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { ApiClient } from '../../../src/client/api-client.js'
import { createApiCertificates } from '../../../src/crypto/certificates.js'
import { Issuer } from '../../support/issuer.js'
import { type DevServer, startDevServer } from '../../support/memory-server.js'

/** Logins with JWTs over HTTP: keys from an HTTPS issuer, tokens, groups, quotas and renewal. */

type Fields = Record<string, unknown>

const issuer = new Issuer()
const soon = () => Math.floor(systemClock.now() / 1000) + 60

let server: DevServer
let root: ApiClient
let issuerCa = ''
let keysUrl = ''
let accessor = ''
let closeIssuer = () => {}
beforeAll(async () => {
  server = await startDevServer()
  root = server.client
  const { ca, certificate, privateKey } = await createApiCertificates(['localhost', '127.0.0.1'], systemClock.now())
  issuerCa = ca
  const keySet = await issuer.keySet()
  const https = createServer({ cert: certificate, key: privateKey }, ({ url }, response) => {
    response.writeHead(url === '/keys' ? 200 : 404).end(keySet)
  })
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve))
  closeIssuer = () => https.close()
  keysUrl = `https://127.0.0.1:${(https.address() as AddressInfo).port}/keys`
  await root.write('sys/auth/jwt', { type: 'jwt' })
  accessor = String(((await root.read('sys/auth/jwt')).data as Fields).accessor)
  await root.write('auth/jwt/config', { jwks_url: keysUrl, jwks_ca_pem: issuerCa })
})
afterAll(async () => {
  closeIssuer()
  await server[Symbol.asyncDispose]()
})

const setRole = (name: string, body: Fields = {}) =>
  root.write(`auth/jwt/role/${name}`, { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'vault', ...body })
const login = async (role: string, claims: object = {}) => {
  const jwt = await issuer.sign({ sub: 'joe', aud: 'vault', exp: soon(), ...claims })
  return root.send('PUT', 'auth/jwt/login', { token: '', body: { role, jwt } })
}
const authOf = async (role: string, claims: object = {}): Promise<Fields> => {
  const { status, json } = await login(role, claims)
  expect([status, json?.errors]).toEqual([200, undefined])
  return json?.auth as Fields
}

it('the type oidc is rejected by name, and the catalog lists the type jwt', async () => {
  const { status, json } = await root.send('POST', 'sys/auth/oidc', { body: { type: 'oidc' } })
  expect([status, json]).toEqual([400, { errors: ['plugin not found in the catalog: oidc'] }])
  expect((await root.read('sys/plugins/catalog/auth/jwt')).data).toMatchObject({ builtin: true, name: 'jwt' })
  expect((await root.read('sys/auth/jwt')).data).toMatchObject({ type: 'jwt', deprecation_status: 'supported' })
})

it('keys over HTTPS need a trusted certificate and the status 200', async () => {
  const refused = async (body: object) => (await root.send('PUT', 'auth/jwt/config', { body })).json?.errors as string[]
  expect(String(await refused({ jwks_url: keysUrl }))).toMatch(/error checking jwks URL: GET .*x509/)
  const missing = { jwks_url: keysUrl.replace('keys', 'none'), jwks_ca_pem: issuerCa }
  expect(String(await refused(missing))).toMatch(/the status is 404/)
  expect(String(await refused({ jwks_url: 'file:///etc/passwd' }))).toMatch(/is not a URL/)
  expect((await root.read('auth/jwt/config')).data).toMatchObject({ jwks_url: keysUrl })
})

it('a login issues a token with the settings of the role, and the token can be renewed while the role exists', async () => {
  await setRole('dev', { token_policies: 'dev', token_ttl: '1h', claim_mappings: { mail: 'email' } })
  const auth = await authOf('dev', { mail: 'joe@a' })
  expect(auth).toMatchObject({
    policies: ['default', 'dev'],
    token_policies: ['default', 'dev'],
    metadata: { role: 'dev', email: 'joe@a' },
    lease_duration: 3600,
    renewable: true,
    token_type: 'service',
  })
  const token = String(auth.client_token)
  expect((await root.write('auth/token/lookup', { token })).data).toMatchObject({
    display_name: 'jwt-joe',
    path: 'auth/jwt/login',
  })
  const entity = (await root.read(`identity/entity/id/${auth.entity_id}`)).data
  expect(entity).toMatchObject({ aliases: [{ name: 'joe', mount_accessor: accessor, metadata: { email: 'joe@a' } }] })
  await setRole('dev', { token_ttl: 120 })
  const renewed = await root.call('PUT', 'auth/token/renew-self', { token })
  expect(renewed.auth).toMatchObject({ lease_duration: 120 })
  await root.call('DELETE', 'auth/jwt/role/dev')
  const refused = await root.send('PUT', 'auth/token/renew-self', { token })
  expect([refused.status, String(refused.json?.errors)]).toEqual([400, 'role dev does not exist during renewal'])
})

it('a role can issue batch tokens', async () => {
  await setRole('batch', { token_type: 'batch' })
  expect(await authOf('batch')).toMatchObject({ token_type: 'batch', renewable: false })
})

it('the groups of a login join external groups, and their policies apply to its tokens', async () => {
  await setRole('grouped', { groups_claim: 'groups' })
  await root.write('sys/policies/acl/reader', { policy: 'path "secret/data/*" { capabilities = ["read"] }' })
  await root.write('secret/data/a', { data: { k: 'v' } })
  const { id } = (await root.write('identity/group', { name: 'devs', type: 'external', policies: 'reader' }))
    .data as Fields
  await root.write('identity/group-alias', { name: 'team', mount_accessor: accessor, canonical_id: id })
  const auth = await authOf('grouped', { groups: ['team', 'other'] })
  expect(auth).toMatchObject({ identity_policies: ['reader'], policies: ['default', 'reader'] })
  const reading = async () => (await root.send('GET', 'secret/data/a', { token: String(auth.client_token) })).status
  expect(await reading()).toBe(200)
  expect((await root.read('identity/group/name/devs')).data).toMatchObject({ member_entity_ids: [auth.entity_id] })
  await authOf('grouped', { groups: [] })
  expect(await reading()).toBe(403)
})

it('quotas can limit the logins and the tokens of one role', async () => {
  await setRole('few')
  await root.write('sys/quotas/lease-count/few', { path: 'auth/jwt', role: 'few', max_leases: 1 })
  await setRole('many')
  await authOf('few')
  const { client_token: parent } = (await root.write('auth/token/create', { policies: ['default'] })).auth as Fields
  const jwt = await issuer.sign({ sub: 'joe', aud: 'vault', exp: soon() })
  const status = async (role: string) =>
    (await root.send('PUT', 'auth/jwt/login', { token: String(parent), body: { role, jwt } })).status
  expect([await status('few'), await status('many')]).toEqual([429, 200])
  await root.call('DELETE', 'sys/quotas/lease-count/few')
})

it('a rejected login creates no entity and reports the reason', async () => {
  await setRole('strict', { bound_claims: { team: 'red' } })
  const { status, json } = await login('strict', { sub: 'eve', team: 'blue' })
  expect([status, String(json?.errors)]).toEqual([
    400,
    'error validating claims: claim "team" does not match any associated bound claim values',
  ])
  const lookup = await root.send('PUT', 'identity/lookup/entity', {
    body: { alias_name: 'eve', alias_mount_accessor: accessor },
  })
  expect(lookup.status).toBe(204)
})
