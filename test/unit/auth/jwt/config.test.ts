import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BackendHarness, dataOf, refusal } from '../../../support/backend-harness.js'
import { Issuer } from '../../../support/issuer.js'
import { makeJwt } from './jwt-mount.js'

const JWKS = 'https://issuer.test/keys'
const DISCOVERY = 'https://issuer.test/'
const issuer = new Issuer()

let jwt: ReturnType<typeof makeJwt>
let harness: BackendHarness
beforeEach(async () => {
  jwt = makeJwt(new Map([[JWKS, await issuer.keySet()]]))
  harness = jwt.harness
})

const DEFAULTS = {
  bound_issuer: '',
  default_role: '',
  jwks_ca_pem: '',
  jwks_pairs: [],
  jwks_url: '',
  jwt_supported_algs: [],
  jwt_validation_pubkeys: [],
  namespace_in_state: true,
  oidc_client_id: '',
  oidc_discovery_ca_pem: '',
  oidc_discovery_url: '',
  oidc_response_mode: '',
  oidc_response_types: [],
  provider_config: {},
}
const refused = async (body: object) => (await refusal(harness.write('config', { ...body }))).join(': ')

describe('the configuration of jwt', () => {
  it('the configuration does not exist before its first write', async () => {
    expect(await harness.read('config')).toBeUndefined()
  })

  it('a write replaces the whole configuration', async () => {
    await harness.write('config', {
      jwt_validation_pubkeys: issuer.publicKeyPem,
      bound_issuer: 'me',
      jwt_supported_algs: 'ES256,RS256',
      default_role: 'Dev',
    })
    expect(dataOf(await harness.read('config'))).toEqual({
      ...DEFAULTS,
      jwt_validation_pubkeys: [issuer.publicKeyPem.trim()],
      bound_issuer: 'me',
      jwt_supported_algs: ['ES256', 'RS256'],
      default_role: 'dev',
    })
    await harness.write('config', { jwks_url: JWKS })
    expect(dataOf(await harness.read('config'))).toEqual({ ...DEFAULTS, jwks_url: JWKS })
  })

  it('the configuration needs exactly one source of keys', async () => {
    const text = /exactly one of 'jwt_validation_pubkeys', 'jwks_url', 'jwks_pairs' or 'oidc_discovery_url'/
    expect(await refused({})).toMatch(text)
    expect(await refused({ jwks_url: JWKS, jwt_validation_pubkeys: issuer.publicKeyPem })).toMatch(text)
    expect(await refused({ jwks_url: JWKS, jwks_pairs: [{ jwks_url: JWKS }] })).toMatch(text)
    expect(await refused({ jwks_url: JWKS, oidc_discovery_url: DISCOVERY })).toMatch(text)
    expect(await harness.read('config')).toBeUndefined()
  })

  it('a source that is unreachable or has no key set is rejected', async () => {
    expect(await refused({ jwks_url: 'https://other.test/keys' })).toBe(
      'invalid-request: error checking jwks URL: GET https://other.test/keys: unreachable',
    )
    jwt.documents.set(JWKS, 'no JSON')
    expect(await refused({ jwks_pairs: [{ jwks_url: JWKS, jwks_ca_pem: '' }] })).toBe(
      `invalid-request: error checking jwks URL: ${JWKS} has no JSON Web Key Set`,
    )
    expect(await refused({ oidc_discovery_url: DISCOVERY })).toMatch(
      /^invalid-request: error checking oidc discovery URL/,
    )
  })

  it('a discovery document must name its own issuer and its keys', async () => {
    const wellKnown = 'https://issuer.test/.well-known/openid-configuration'
    jwt.documents.set(wellKnown, JSON.stringify({ issuer: 'https://evil.test', jwks_uri: JWKS }))
    expect(await refused({ oidc_discovery_url: DISCOVERY })).toMatch(
      /the issuer of the provider is "https:\/\/evil.test"/,
    )
    jwt.documents.set(wellKnown, JSON.stringify({ issuer: DISCOVERY }))
    expect(await refused({ oidc_discovery_url: DISCOVERY })).toMatch(/has no jwks_uri/)
    jwt.documents.set(wellKnown, JSON.stringify({ issuer: DISCOVERY, jwks_uri: JWKS }))
    await harness.write('config', { oidc_discovery_url: DISCOVERY })
    expect(jwt.fetched.slice(-2)).toEqual([wellKnown, JWKS])
  })

  it('an invalid key, certificate, pair or algorithm is rejected', async () => {
    const key = { jwt_validation_pubkeys: issuer.publicKeyPem }
    const { privateKey } = generateKeyPairSync('ed25519')
    const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    for (const wrong of ['no key', secret]) {
      expect(await refused({ jwt_validation_pubkeys: wrong })).toMatch(/error parsing public key/)
    }
    expect(await refused({ jwks_url: JWKS, jwks_ca_pem: 'x' })).toMatch(/error checking jwks_ca_pem/)
    expect(await refused({ ...key, oidc_discovery_ca_pem: 'x' })).toMatch(/error checking oidc_discovery_ca_pem/)
    for (const pairs of ['x', [1], [{ jwks_url: '' }], [{ jwks_url: JWKS, jwks_ca_pem: 1 }]]) {
      expect(await refused({ jwks_pairs: pairs })).toMatch(/jwks_pairs must be a list/)
    }
    for (const alg of ['HS256', 'none']) {
      expect(await refused({ ...key, jwt_supported_algs: alg })).toMatch(/unsupported signing algorithm "(HS256|none)"/)
    }
  })

  it('settings of logins with a browser are rejected by name, unless they are empty', async () => {
    const key = { jwt_validation_pubkeys: issuer.publicKeyPem }
    for (const [name, value] of Object.entries({
      oidc_client_id: 'a',
      oidc_client_secret: 'a',
      oidc_response_mode: 'query',
      oidc_response_types: 'code',
      provider_config: { provider: 'azure' },
      namespace_in_state: false,
    })) {
      expect(await refused({ ...key, [name]: value })).toMatch(new RegExp(`^invalid-request: ${name} is not supported`))
    }
    await harness.write('config', { ...key, oidc_client_id: '', provider_config: {}, namespace_in_state: true })
  })
})
