import { describe, expect, it } from 'vitest'
import { PathRuleTable } from '../../../src/logical/path-rules.js'
import { createPkiType } from '../../../src/secrets/pki/backend.js'
import { altNameOf, isNameAllowed } from '../../../src/secrets/pki/name-rules.js'
import { OPEN_ROLE, type Role } from '../../../src/secrets/pki/role-paths.js'
import { extKeyUsageOids, keyUsageBits } from '../../../src/secrets/pki/usages.js'
import { decideValidity } from '../../../src/secrets/pki/validity.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

const roleWith = (settings: Partial<Role>): Role => ({
  ...OPEN_ROLE,
  allow_any_name: false,
  allow_localhost: false,
  enforce_hostnames: true,
  ...settings,
})

describe('names', () => {
  it.each<[Partial<Role>, readonly string[], readonly string[]]>([
    [{ allowed_domains: ['example.com'] }, [], ['example.com', 'a.example.com']],
    [
      { allowed_domains: ['example.com'], allow_bare_domains: true },
      ['example.com', 'EXAMPLE.com', 'me@example.com'],
      ['a.example.com', 'example.org', '@example.com'],
    ],
    [
      { allowed_domains: ['example.com'], allow_subdomains: true },
      ['a.example.com', 'b.a.example.com', '*.example.com', 'a*.example.com', 'me@a.example.com'],
      ['example.com', 'aexample.com', '*.*.example.com', 'a..example.com', '-a.example.com', 'me@example.com'],
    ],
    [
      { allowed_domains: ['example.com'], allow_subdomains: true, allow_wildcard_certificates: false },
      ['a.example.com'],
      ['*.example.com'],
    ],
    [
      { allowed_domains: ['ftp*.example.com'], allow_glob_domains: true },
      ['ftp1.example.com', 'ftp.a.example.com'],
      ['a.example.com'],
    ],
    [{ allow_localhost: true }, ['localhost', 'localdomain'], ['a.localhost', 'example.com']],
    [{ allow_localhost: true, allow_subdomains: true }, ['a.localhost'], ['localhost.example.com']],
    [{ allow_any_name: true }, ['a', 'a.b', 'me@b'], ['a b', 'a@b@c', '*']],
    [{ allow_any_name: true, enforce_hostnames: false }, ['a b'], ['a@b@c']],
  ])('the role %j allows only its names', (settings, allowed, denied) => {
    const role = roleWith(settings)
    expect(allowed.filter((name) => !isNameAllowed(role, name))).toEqual([])
    expect(denied.filter((name) => isNameAllowed(role, name))).toEqual([])
  })

  it('a common name is repeated as an alternative name only if it is a host name or an email address', () => {
    expect(altNameOf('a.example.com')).toEqual({ type: 'dns', value: 'a.example.com' })
    expect(altNameOf('*.example.com')).toEqual({ type: 'dns', value: '*.example.com' })
    expect(altNameOf('me@example.com')).toEqual({ type: 'email', value: 'me@example.com' })
    expect(altNameOf('Any Name')).toBeUndefined()
  })
})

describe('validity', () => {
  const mount = { defaultLeaseTtlSeconds: 100, maxLeaseTtlSeconds: 1000 }
  const role = { ttl: 0, max_ttl: 0, not_after: '' }
  const decide = (values: object, settings: object = {}) =>
    decideValidity({ nowMs: 0, ttl: 0, notAfter: '', mount, ...values, role: { ...role, ...settings } })

  it('a TTL comes from the request, the role or the mount, and ends at the maximum', () => {
    expect(decide({}).notAfterMs).toBe(100_000)
    expect(decide({}, { ttl: 200 }).notAfterMs).toBe(200_000)
    expect(decide({ ttl: 300 }, { ttl: 200 }).notAfterMs).toBe(300_000)
    expect(decide({}, { max_ttl: 50 }).notAfterMs).toBe(50_000)
    expect(decide({ ttl: 2000 })).toEqual({
      notAfterMs: 1_000_000,
      warnings: ['TTL "33m20s" is longer than permitted maxTTL "16m40s", so maxTTL is being used'],
    })
    expect(decide({ ttl: 2000 }, { max_ttl: 3000 })).toEqual({ notAfterMs: 2_000_000, warnings: [] })
  })

  it('a fixed end replaces the TTL, and must be a time in UTC', () => {
    expect(decide({ notAfter: '1970-01-01T00:01:00Z' }).notAfterMs).toBe(60_000)
    expect(decide({}, { not_after: '9999-12-31T23:59:59Z' }).notAfterMs).toBe(Date.parse('9999-12-31T23:59:59Z'))
    expect(decide({ notAfter: '1970-01-01T00:01:00Z' }, { max_ttl: 10 })).toMatchObject({ notAfterMs: 10_000 })
    expect(() => decide({ notAfter: 'tomorrow' })).toThrow('is not a time')
    expect(() => decide({ notAfter: '1970-01-01T00:01:00Z', ttl: 5 })).toThrow('Both should not be provided')
  })
})

describe('usages', () => {
  it('usages are found in any case, with or without the prefix of Go', () => {
    expect(keyUsageBits(['DigitalSignature', 'keyusageCRLSign', 'unknown'])).toBe(1 + 64)
    const none = { ext_key_usage: [], ext_key_usage_oids: [] }
    expect(extKeyUsageOids({ ...none, server_flag: true, ext_key_usage: ['ServerAuth', 'ExtKeyUsageAny'] })).toEqual([
      '1.3.6.1.5.5.7.3.1',
      '2.5.29.37.0',
    ])
  })
})

const mount = () => new BackendHarness(createPkiType().factory)

describe('roles', () => {
  it('a role is stored as a whole by an update, in part by a patch, and deleted', async () => {
    const pki = mount()
    const made = await pki.write('roles/web', { allowed_domains: 'a.test,b.test', ttl: '1h', key_usage: '' })
    expect(made?.warnings).toEqual([expect.stringContaining('no default issuing certificate')])
    expect(dataOf(await pki.read('roles/web'))).toMatchObject({
      allowed_domains: ['a.test', 'b.test'],
      allow_localhost: true,
      issuer_ref: 'default',
      key_bits: 2048,
      signature_bits: 256,
      key_type: 'rsa',
      key_usage: [],
      cn_validations: ['email', 'hostname'],
      not_before_duration: 30,
      require_cn: true,
      ttl: 3600,
    })
    await pki.call('patch', 'roles/web', { max_ttl: '2h' })
    expect(dataOf(await pki.read('roles/web'))).toMatchObject({ ttl: 3600, max_ttl: 7200, key_usage: [] })
    await pki.write('roles/web')
    expect(dataOf(await pki.read('roles/web'))).toMatchObject({
      ttl: 0,
      key_usage: ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
    })
    expect(dataOf(await pki.list('roles'))).toEqual({ keys: ['web'] })
    await pki.call('delete', 'roles/web')
    expect(await pki.read('roles/web')).toBeUndefined()
    expect((await refusal(pki.call('patch', 'roles/web')))[1]).toBe('Unable to fetch role entry to patch')
  })

  it.each([
    [{ ttl: '2h', max_ttl: '1h' }, '"ttl" value must be less than "max_ttl" value'],
    [{ key_type: 'dsa' }, 'unknown key type dsa'],
    [{ key_bits: 1024 }, 'RSA keys < 2048 bits are unsafe and not supported: got 1024'],
    [{ key_bits: 2049 }, 'unsupported bit length for RSA key: 2049'],
    [{ key_type: 'ec', key_bits: 224 }, 'keys of the curve P-224 are not supported: use 256, 384 or 521'],
    [{ signature_bits: 1 }, 'unsupported hash signature algorithm: 1'],
    [{ allowed_other_sans: 'x' }, 'error parsing allowed_other_sans: expected a semicolon in other SAN "x"'],
    [{ allowed_other_sans: '1.2;oct:a' }, /^error parsing allowed_other_sans: only utf8 other SANs are supported/],
    [{ policy_identifiers: 'x' }, 'Policy Identifier "x" is not a valid OID'],
    [{ ext_key_usage_oids: '1.2,x' }, '"x" could not be parsed as a valid oid for an extended key usage'],
    [{ cn_validations: 'x' }, 'cn_validations value incorrect: unknown type: `x`'],
    [{ cn_validations: 'disabled,email' }, /cannot specify `disabled`/],
  ])('a role with %j is rejected', async (body, text) => {
    const [code, message] = await refusal(mount().write('roles/web', body))
    expect(code).toBe('invalid-request')
    if (typeof text === 'string') expect(message).toBe(text)
    else expect(message).toMatch(text)
  })
})

describe('rules of paths', () => {
  it('a rule with a variable segment applies to this number of segments only', () => {
    const table = new PathRuleTable({ 'issuer/+/pem': { access: 'open' }, 'issuer/*': { access: 'sudo' } })
    const accessOf = (path: string) => table.find(path).access
    expect(accessOf('issuer/a/pem')).toBe('open')
    for (const path of ['issuer/a', 'issuer/a/b/pem', 'issuer/a/pem/x', 'issuer//pem']) {
      expect(accessOf(path), path).toBe('sudo')
    }
  })

  it('only certificates and revocation lists need no token, and dangerous paths need sudo', () => {
    const rules = mount().backend.rules
    const accessOf = (path: string) => rules?.find(path).access
    for (const path of [
      'ca',
      'ca/pem',
      'crl',
      'cert/ca',
      'cert/00/raw/pem',
      'issuers',
      'issuer/x/json',
      'issuer/x/crl/pem',
    ]) {
      expect(accessOf(path), path).toBe('open')
    }
    for (const path of [
      'issuer/x',
      'issuer/x/issue/r',
      'certs',
      'roles',
      'issue/r',
      'crl/rotate',
      'keys',
      'config/ca',
    ]) {
      expect(accessOf(path), path).toBeUndefined()
    }
    expect(accessOf('root')).toBe('sudo')
  })
})
