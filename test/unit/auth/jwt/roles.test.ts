import { beforeEach, describe, expect, it } from 'vitest'
import { type BackendHarness, dataOf, EMPTY_TOKEN_FIELDS, refusal } from '../../../support/backend-harness.js'
import { makeJwt } from './jwt-mount.js'

let harness: BackendHarness
beforeEach(() => {
  harness = makeJwt().harness
})

const ROLE = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'me' }
const DEFAULTS = {
  ...EMPTY_TOKEN_FIELDS,
  allowed_redirect_uris: null,
  bound_audiences: null,
  bound_claims: null,
  bound_claims_type: 'string',
  bound_subject: '',
  claim_mappings: null,
  clock_skew_leeway: 0,
  expiration_leeway: 0,
  groups_claim: '',
  max_age: 0,
  not_before_leeway: 0,
  oidc_scopes: null,
  role_type: 'jwt',
  user_claim: 'sub',
  user_claim_json_pointer: false,
  verbose_oidc_logging: false,
}
const refused = async (body: object) => (await refusal(harness.write('role/r', { ...body })))[1]

describe('roles of jwt', () => {
  it('a role has defaults, and a write changes only the sent fields', async () => {
    await harness.write('role/Dev', ROLE)
    expect(dataOf(await harness.read('role/dev'))).toEqual({ ...DEFAULTS, bound_subject: 'me' })
    const more = {
      bound_audiences: ['a', 'b'],
      bound_claims: { team: ['x', 'y'] },
      bound_claims_type: 'glob',
      claim_mappings: { mail: 'email' },
      clock_skew_leeway: -1,
      expiration_leeway: 60,
      not_before_leeway: 120,
      groups_claim: 'groups',
      user_claim: '/user/name',
      user_claim_json_pointer: true,
      token_policies: ['dev'],
      token_ttl: 3600,
      token_type: 'batch',
    }
    await harness.write('role/dev', { ...more, role_type: 'jwt', not_before_leeway: '2m', token_ttl: '1h' })
    expect(dataOf(await harness.read('role/DEV'))).toEqual({ ...DEFAULTS, bound_subject: 'me', ...more })
  })

  it('deprecated names set the new names, and are shown', async () => {
    await harness.write('role/r', { ...ROLE, policies: 'a', ttl: 60, max_ttl: 120, num_uses: 3, period: 5 })
    const old = { policies: ['a'], ttl: 60, max_ttl: 120, num_uses: 3, period: 5 }
    const now = { token_policies: ['a'], token_ttl: 60, token_max_ttl: 120, token_num_uses: 3, token_period: 5 }
    expect(dataOf(await harness.read('role/r'))).toMatchObject({ ...old, ...now })
    await harness.write('role/r', { role_type: 'jwt', token_policies: 'b', bound_cidrs: '10.0.0.0/8' })
    const after = dataOf(await harness.read('role/r')) as object
    expect(after).toMatchObject({
      token_policies: ['b'],
      bound_cidrs: ['10.0.0.0/8'],
      token_bound_cidrs: ['10.0.0.0/8'],
    })
    expect(after).not.toHaveProperty('policies')
  })

  it('roles are listed and deleted', async () => {
    await harness.write('role/b', ROLE)
    await harness.write('role/a', ROLE)
    expect(dataOf(await harness.list('role'))).toEqual({ keys: ['a', 'b'] })
    await harness.call('delete', 'role/A')
    expect(await harness.read('role/a')).toBeUndefined()
    expect(dataOf(await harness.list('role'))).toEqual({ keys: ['b'] })
  })

  it('a role of the type oidc, which is the default, is rejected by name, like a log of tokens', async () => {
    for (const body of [
      { ...ROLE, role_type: 'oidc' },
      { user_claim: 'sub', bound_subject: 'me' },
    ]) {
      expect(await refused(body)).toBe('role_type "oidc" is not supported by this server: set role_type to "jwt"')
    }
    expect(await refused({ ...ROLE, role_type: 'saml' })).toBe("invalid 'role_type': saml")
    expect(await refused({ ...ROLE, verbose_oidc_logging: true })).toMatch(/^verbose_oidc_logging is not supported/)
  })

  it('a role keeps the settings of browser logins, which clients send for each role', async () => {
    const settings = { allowed_redirect_uris: ['https://a/callback'], oidc_scopes: ['profile'], max_age: 60 }
    await harness.write('role/r', { ...ROLE, ...settings })
    await harness.write('role/r', { role_type: 'jwt', groups_claim: 'groups' })
    expect(dataOf(await harness.read('role/r'))).toMatchObject({ ...settings, groups_claim: 'groups' })
  })

  it('an invalid role is rejected', async () => {
    expect(await refused({ ...ROLE, user_claim: '' })).toBe('a user claim must be defined on the role')
    expect(await refused({ ...ROLE, bound_subject: '' })).toBe(
      'must have at least one bound constraint when creating/updating a role',
    )
    expect(await refused({ ...ROLE, bound_claims_type: 'regex' })).toBe("invalid 'bound_claims_type': regex")
    const glob = { ...ROLE, bound_claims_type: 'glob' }
    expect(await refused({ ...glob, bound_claims: { a: { b: 1 } } })).toBe('claim is not a string or list: {"b":1}')
    expect(await refused({ ...glob, bound_claims: { a: ['x', 7] } })).toBe('claim is not a string: 7')
    expect(await refused({ ...ROLE, claim_mappings: { a: 'x', b: 'x' } })).toBe(
      'multiple keys are mapped to metadata key "x"',
    )
    expect(await refused({ ...ROLE, claim_mappings: { a: 'role' } })).toBe(
      'metadata key "role" is reserved and may not be a mapping destination',
    )
    expect(await refused({ ...ROLE, token_ttl: 9, token_max_ttl: 3 })).toMatch(/cannot be greater/)
    expect(await refused({ ...ROLE, clock_skew_leeway: 'long' })).toMatch(/field "clock_skew_leeway": invalid duration/)
    expect((await refusal(harness.write('role/-x', ROLE)))[0]).toBe('unsupported-path')
    expect(await harness.read('role/r')).toBeUndefined()
  })
})
