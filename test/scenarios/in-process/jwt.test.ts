import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { startLab } from '../../../src/index.js'
import { Issuer } from '../../support/issuer.js'
import { until } from '../../support/until.js'

type Fields = Record<string, unknown>

const issuer = new Issuer()
const now = () => Math.floor(systemClock.now() / 1000)
const jwtOf = (claims: object = {}) =>
  issuer.sign({ sub: 'joe', aud: 'vault', iat: now(), exp: now() + 600, ...claims })

it('JWT logins run on the performance secondary, and the groups that they report replicate through the primary', async () => {
  await using lab = await startLab('pr-dr')
  const { A, B, C } = lab
  await A.client.write('sys/auth/jwt', { type: 'jwt' })
  await lab.converged()
  await C.takeRoot()

  // The primary executes the writes of the secondary.
  await C.client.write('auth/jwt/config', { jwt_validation_pubkeys: issuer.publicKeyPem })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'vault', groups_claim: 'groups' }
  const claim_mappings = { aud: 'audience' }
  await C.client.write('auth/jwt/role/dev', { ...role, claim_mappings, token_policies: 'dev' })
  expect((await A.client.read('auth/jwt/role/dev')).data).toMatchObject({ groups_claim: 'groups' })
  const { accessor } = (await A.client.read('sys/auth/jwt')).data as Fields
  const { id } = (await A.client.write('identity/group', { name: 'g', type: 'external', policies: 'reader' }))
    .data as Fields
  await A.client.write('identity/group-alias', { name: 'team', mount_accessor: accessor, canonical_id: id })
  await lab.converged()

  const send = async (at: typeof A, groups: string[]) =>
    at.anonymous.send('PUT', 'auth/jwt/login', { body: { role: 'dev', jwt: await jwtOf({ groups }) } })
  const login = async (at: typeof A, groups: string[]): Promise<Fields> => {
    const { status, json } = await send(at, groups)
    expect([status, json?.errors]).toEqual([200, undefined])
    return json?.auth as Fields
  }
  const membersAt = async (at: typeof A) =>
    ((await at.client.read('identity/group/name/g')).data as Fields).member_entity_ids

  const there = await login(C, ['team'])
  expect(there).toMatchObject({ identity_policies: ['reader'], token_policies: ['default', 'dev'] })
  expect(await membersAt(A)).toEqual([there.entity_id])
  const self = async (at: typeof A) =>
    (await at.anonymous.send('GET', 'auth/token/lookup-self', { token: String(there.client_token) })).status
  expect([await self(C), await self(A)]).toEqual([200, 403])
  // The metadata of the alias stays when a login changes only the groups.
  expect((await login(C, [])).identity_policies).toBeUndefined()
  expect(await membersAt(A)).toEqual([])
  expect((await A.client.read(`identity/entity/id/${there.entity_id}`)).data).toMatchObject({
    aliases: [{ name: 'joe', metadata: { audience: 'vault' } }],
  })

  // Without the primary, only a login with changed groups fails.
  const link = lab.link('A', 'C')
  link.partition()
  await until(async () => (await C.status('performance')).connection_state !== 'ready')
  expect((await send(C, [])).status).toBe(200)
  expect((await send(C, ['team'])).status).toBe(503)
  link.heal()

  // A DR secondary rejects logins, and serves them after its promotion.
  const refused = await send(B, [])
  expect([refused.status, refused.json]).toEqual([400, { errors: ['path disabled in replication DR secondary mode'] }])
  await lab.converged()
  await lab.failover('A', 'B')
  expect((await login(B, ['team'])).identity_policies).toEqual(['reader'])
})

it('a simulated lab verifies JWTs without virtual time, and cannot reach the URL of an issuer', async () => {
  await using lab = await startLab('single', { simulated: true })
  const { client, anonymous } = lab.A
  await client.write('sys/auth/jwt', { type: 'jwt' })
  await client.write('auth/jwt/config', { jwt_validation_pubkeys: issuer.publicKeyPem })
  await client.write('auth/jwt/role/dev', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'vault',
    clock_skew_leeway: '87600h',
  })
  const login = await anonymous.write('auth/jwt/login', { role: 'dev', jwt: await jwtOf() })
  expect(login.auth).toMatchObject({ metadata: { role: 'dev' } })
  const { status } = await client.send('PUT', 'auth/jwt/config', { body: { jwks_url: 'http://127.0.0.1:1/keys' } })
  expect(status).toBe(400)
})
