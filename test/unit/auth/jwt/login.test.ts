import { CompactSign } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { type BackendHarness, makeRequest, refusal } from '../../../support/backend-harness.js'
import { Issuer } from '../../../support/issuer.js'
import { makeJwt } from './jwt-mount.js'

const JWKS = 'https://issuer.test/keys'
const issuer = new Issuer()
const ROLE = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'vault' }

let jwt: ReturnType<typeof makeJwt>
let harness: BackendHarness
beforeEach(async () => {
  jwt = makeJwt()
  harness = jwt.harness
  await harness.write('config', { jwt_validation_pubkeys: issuer.publicKeyPem, bound_issuer: 'issuer' })
})

const now = () => Math.floor(harness.clock.now() / 1000)
const claimsOf = (more: JsonObject = {}): JsonObject => ({
  iss: 'issuer',
  sub: 'joe',
  aud: 'vault',
  exp: now() + 60,
  ...more,
})
const setRole = (more: JsonObject = {}) => harness.write('role/dev', { ...ROLE, ...more })
const loginWith = (text: string, role = 'dev', remoteAddress = '127.0.0.1') =>
  harness.call('update', 'login', { role, jwt: text }, { remoteAddress })
const login = async (more: JsonObject = {}) => (await loginWith(await issuer.sign(claimsOf(more))))?.login
const refused = async (more: JsonObject = {}) => (await refusal(login(more)))[1]
const token = (why: string) => `error validating token: ${why}`

describe('login with a JWT', () => {
  it('the login path needs no token', () => {
    expect(harness.backend.rules?.find('login')).toEqual({ access: 'open' })
  })

  it('a login describes the token that the core creates', async () => {
    await setRole({
      groups_claim: '/realm/groups',
      claim_mappings: { mail: 'email', '/realm/id': 'realm', missing: 'none' },
      token_policies: 'dev',
      token_ttl: '1h',
      token_num_uses: 4,
    })
    const { writes } = harness.storage
    const metadata = { email: 'joe@a', realm: 'r1' }
    const text = await issuer.sign(claimsOf({ mail: 'joe@a', realm: { id: 'r1', groups: ['a', 'b'] } }))
    expect((await loginWith(text, 'DEV'))?.login).toEqual({
      displayName: 'joe',
      metadata: { ...metadata, role: 'dev' },
      alias: { name: 'joe', metadata, groups: ['a', 'b'] },
      policies: ['dev'],
      tokenType: 'default',
      ttlSeconds: 3600,
      maxTtlSeconds: 0,
      explicitMaxTtlSeconds: 0,
      periodSeconds: 0,
      numUses: 4,
      boundCidrs: [],
      noDefaultPolicy: false,
      internal: { role: 'dev' },
    })
    expect(harness.storage.writes).toBe(writes)
  })

  it('a login uses the default role, and reports a missing role, token and configuration', async () => {
    await setRole()
    const text = await issuer.sign(claimsOf())
    expect((await refusal(loginWith(text, '')))[1]).toBe('missing role')
    expect((await refusal(loginWith(text, 'ops')))[1]).toBe('role "ops" could not be found')
    expect((await refusal(loginWith('')))[1]).toBe('missing token')
    await harness.write('config', { jwt_validation_pubkeys: issuer.publicKeyPem, default_role: 'dev' })
    expect((await loginWith(text, ''))?.login?.metadata).toEqual({ role: 'dev' })
    const other = makeJwt().harness
    expect((await refusal(other.write('login', { role: 'dev', jwt: text })))[1]).toBe('could not load configuration')
  })

  it('a login with another key, algorithm or form is rejected', async () => {
    await setRole()
    const unsigned = token('error verifying token signature: no known key successfully validated the token signature')
    expect((await refusal(loginWith(await new Issuer().sign(claimsOf()))))[1]).toBe(unsigned)
    const malformed = token(
      'error verifying token signature: the token is malformed, or its signature algorithm is not supported',
    )
    expect(await refusal(loginWith('a.b.c'))).toEqual(['invalid-request', malformed])
    await harness.write('config', { jwt_validation_pubkeys: issuer.publicKeyPem, jwt_supported_algs: 'RS256' })
    expect(await refused()).toBe(
      token('invalid algorithm (alg) header parameter: token signed with unexpected algorithm'),
    )
  })

  it('issuer, subject and audience must match', async () => {
    await setRole({ bound_subject: 'joe' })
    expect(await refused({ iss: 'other' })).toBe(token('invalid issuer (iss) claim'))
    expect(await refused({ sub: 'jane' })).toBe(token('invalid subject (sub) claim'))
    const audience = token('invalid audience (aud) claim: audience claim does not match any expected audience')
    expect(await refused({ aud: ['a', 'b'] })).toBe(audience)
    expect(await refused({ aud: [] })).toBe(audience)
    expect((await login({ aud: ['a', 'vault'] }))?.displayName).toBe('joe')
    await setRole({ bound_audiences: [] })
    expect(await refused()).toBe('audience claim found in JWT but no audiences bound to the role')
    expect((await login({ aud: [] }))?.displayName).toBe('joe')
  })

  it('the user must be a text, and the groups a list of texts', async () => {
    await setRole()
    expect(await refused({ sub: null })).toBe('claim "sub" not found in token')
    expect(await refused({ sub: 7 })).toBe('claim "sub" could not be converted to string')
    expect((await login())?.alias?.groups).toEqual([])
    await setRole({ groups_claim: 'groups' })
    expect(await refused()).toBe('failed to fetch groups: "groups" claim not found in token')
    expect(await refused({ groups: [1] })).toBe('"groups" claim could not be converted to string list')
    expect((await login({ groups: 'one' }))?.alias?.groups).toEqual(['one'])
    expect((await login({ groups: [] }))?.alias?.groups).toEqual([])
    await setRole({ groups_claim: '', user_claim: '/a~1b/0', user_claim_json_pointer: true })
    expect((await login({ 'a/b': ['zero'] }))?.displayName).toBe('zero')
    await setRole({ user_claim: '/a~1b/0', user_claim_json_pointer: false })
    expect((await login({ '/a~1b/0': 'plain' }))?.displayName).toBe('plain')
    await setRole({ user_claim: 'constructor' })
    expect(await refused()).toBe('claim "constructor" not found in token')
  })

  it('bound claims match a value or a list of the same type, or a glob', async () => {
    await setRole({ bound_claims: { team: ['red', 'blue'], '/a/level': 7, admin: true } })
    const good = { team: ['green', 'blue'], a: { level: 7 }, admin: true }
    expect((await login(good))?.displayName).toBe('joe')
    const claims = (why: string) => `error validating claims: ${why}`
    const none = (name: string) => claims(`claim "${name}" does not match any associated bound claim values`)
    expect(await refused({ ...good, team: 'green' })).toBe(none('team'))
    expect(await refused({ ...good, admin: false })).toBe(none('admin'))
    expect(await refused({ ...good, admin: 'true' })).toBe(none('admin'))
    expect(await refused({ ...good, a: {} })).toBe(claims('claim "/a/level" is missing'))
    expect(await refused({ ...good, team: { red: 1 } })).toBe(
      claims('received claim is not a string, bool, int or list: {"red":1}'),
    )
    await setRole({ bound_claims: { team: 're*' } })
    expect(await refused({ team: 'red' })).toBe(none('team'))
    await setRole({ bound_claims_type: 'glob' })
    expect((await login({ team: 'red' }))?.displayName).toBe('joe')
  })

  it('a login from outside the blocks of the role is rejected', async () => {
    await setRole({ token_bound_cidrs: '10.0.0.0/8' })
    const text = await issuer.sign(claimsOf())
    expect(await refusal(loginWith(text))).toEqual(['permission-denied', 'permission denied'])
    expect((await loginWith(text, 'dev', '10.0.0.1'))?.login?.boundCidrs).toEqual(['10.0.0.0/8'])
  })

  it('quotas see the role of a login if it exists', async () => {
    await setRole()
    const find = (data: JsonObject, path = 'login') =>
      harness.backend.roles?.find(makeRequest('update', path, data), path)
    expect([find({ role: 'DEV' }), find({ role: 'ops' }), find({}), find({ role: 'dev' }, 'config')]).toEqual([
      'dev',
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('the times of a JWT', () => {
  const EXPIRED = token('invalid expiration time (exp) claim: token is expired')
  const EARLY = token('invalid not before (nbf) claim: token not yet valid')
  const FUTURE = token('invalid issued at (iat) claim: token issued in the future')
  const NONE = token('no issued at (iat), not before (nbf), or expiration time (exp) claims in token')
  /** Offsets from now in seconds; undefined if the claim is absent. */
  const at = (exp?: number, nbf?: number, iat?: number): JsonObject => {
    const { exp: _, ...rest } = claimsOf()
    const times = Object.entries({ exp, nbf, iat }).flatMap(([name, offset]) =>
      offset === undefined ? [] : [[name, now() + offset]],
    )
    return { ...rest, ...Object.fromEntries(times) }
  }
  const outcome = async (claims: JsonObject) => {
    const text = await issuer.sign(claims)
    return loginWith(text).then(
      () => 'valid',
      (error: Error) => error.message,
    )
  }

  it('the clock skew widens all limits, by default by 60 seconds', async () => {
    await setRole()
    expect(await outcome(at(-59))).toBe('valid')
    expect(await outcome(at(-61))).toBe(EXPIRED)
    expect(await outcome(at(100, 59))).toBe('valid')
    expect(await outcome(at(100, 61))).toBe(EARLY)
    expect(await outcome(at(100, 0, 61))).toBe(FUTURE)
    await setRole({ clock_skew_leeway: -1 })
    expect([await outcome(at(-1)), await outcome(at(1)), await outcome(at(100, 1))]).toEqual([EXPIRED, 'valid', EARLY])
    await setRole({ clock_skew_leeway: 10 })
    expect([await outcome(at(-9)), await outcome(at(-11))]).toEqual(['valid', EXPIRED])
  })

  it('a token without exp expires a leeway after its other times, and one without nbf is valid a leeway before exp', async () => {
    await setRole({ clock_skew_leeway: -1 })
    expect([await outcome(at(undefined, undefined, -149)), await outcome(at(undefined, undefined, -151))]).toEqual([
      'valid',
      EXPIRED,
    ])
    expect([await outcome(at(149)), await outcome(at(151))]).toEqual(['valid', EARLY])
    await setRole({ expiration_leeway: 20, not_before_leeway: 30 })
    expect([await outcome(at(undefined, -19)), await outcome(at(undefined, -21))]).toEqual(['valid', EXPIRED])
    expect([await outcome(at(29)), await outcome(at(31))]).toEqual(['valid', EARLY])
    await setRole({ expiration_leeway: -1 })
    expect(await outcome(at(undefined, undefined, -1))).toBe(EXPIRED)
  })

  it('a token needs a time, and its times must be numbers', async () => {
    await setRole()
    expect(await outcome(at())).toBe(NONE)
    for (const exp of ['soon', true, [1]]) {
      const payload = { ...at(), exp } as JsonObject
      const text = await new CompactSign(Buffer.from(JSON.stringify(payload)))
        .setProtectedHeader({ alg: 'ES256' })
        .sign(issuer.privateKey)
      expect((await refusal(loginWith(text)))[1]).toBe(token('invalid exp claim'))
    }
  })
})

describe('keys from a URL', () => {
  it('keys are fetched once, and again for an unknown signature or a new configuration', async () => {
    jwt.documents.set(JWKS, await issuer.keySet())
    await harness.write('config', { jwks_url: JWKS })
    await setRole()
    jwt.fetched.length = 0
    await login()
    await login()
    expect(jwt.fetched).toEqual([JWKS])
    const next = new Issuer('k2')
    expect((await refusal(loginWith(await next.sign(claimsOf()))))[1]).toMatch(/no known key/)
    jwt.documents.set(JWKS, await next.keySet())
    expect((await loginWith(await next.sign(claimsOf())))?.login?.displayName).toBe('joe')
    expect(jwt.fetched).toEqual([JWKS, JWKS, JWKS])
    await harness.write('config', { jwt_validation_pubkeys: issuer.publicKeyPem })
    expect((await refusal(loginWith(await next.sign(claimsOf()))))[1]).toMatch(/no known key/)
    expect((await login())?.displayName).toBe('joe')
  })

  it('concurrent logins share one fetch, and a failed fetch is reported and not remembered', async () => {
    jwt.documents.set(JWKS, await issuer.keySet())
    await harness.write('config', { jwks_url: JWKS })
    await setRole()
    jwt.fetched.length = 0
    jwt.documents.clear()
    expect(await refused()).toBe(token(`error verifying token signature: GET ${JWKS}: unreachable`))
    jwt.documents.set(JWKS, await issuer.keySet())
    await Promise.all([login(), login(), login()])
    expect(jwt.fetched).toEqual([JWKS, JWKS])
  })
})

describe('renewal of a token of jwt', () => {
  it('a renewal uses the current times of the role, and fails without the role', async () => {
    await setRole()
    const auth = await login()
    if (!auth) throw new Error('no login')
    await setRole({ token_ttl: 60, token_max_ttl: 120, token_period: 30 })
    const renew = async () => harness.backend.renew?.(auth, {})
    expect(await renew()).toEqual({ ttlSeconds: 60, maxTtlSeconds: 120, periodSeconds: 30 })
    await harness.call('delete', 'role/dev')
    expect((await refusal(renew()))[1]).toBe('role dev does not exist during renewal')
  })
})
