import 'reflect-metadata'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { X509Certificate as ParsedCertificate } from '@peculiar/x509'
import { beforeEach, describe, expect, it } from 'vitest'
import { otherNamesIn } from '../../../src/crypto/other-names.js'
import { createSigningRequest } from '../../../src/crypto/x509-signing.js'
import { requestPem } from '../../../src/crypto/pem.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { refusal } from '../../support/backend-harness.js'
import { certificateIn, isPair, PkiMount } from '../../support/pki-mount.js'

let pki: PkiMount
beforeEach(() => {
  pki = new PkiMount()
})

/** Returns the other names of the certificate in a response. */
const otherNamesOf = (data: Record<string, unknown>) => {
  const extension = new ParsedCertificate(String(data.certificate)).getExtension('2.5.29.17')
  return extension ? otherNamesIn(Buffer.from(extension.value)) : []
}

const DAY_MS = 86_400_000

const requestFor = async (commonName: string, altNames: { type: 'dns' | 'ip'; value: string }[] = []) => {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const lists = { country: [], organization: ['Acme'], ou: [], locality: [], province: [] }
  const subject = { ...lists, streetAddress: [], postalCode: [], commonName, serialNumber: '', userIds: [] }
  const content = { subject, altNames, keyUsage: 0, extKeyUsage: [] }
  return requestPem(await createSigningRequest(content, { key, hashBits: 0, usesPss: false }))
}

describe('issue', () => {
  it('an issued certificate is signed by the root, and has the names, times and usages of the role', async () => {
    const root = await pki.root()
    await pki.role('web', { ou: ['b', 'a'], organization: 'Acme', country: 'NL' })
    const issued = await pki.data('issue/web', {
      common_name: 'www.example.com',
      alt_names: 'api.example.com,dev@mail.example.com',
      ip_sans: '127.0.0.1,::1,::ffff:10.1.2.3',
      ttl: '24h',
    })
    const leaf = certificateIn(issued)
    expect(leaf.verify(certificateIn(root).publicKey)).toBe(true)
    expect(leaf.checkIssued(certificateIn(root))).toBe(true)
    expect(leaf.subject.split('\n')).toEqual(['C=NL', 'O=Acme', 'OU=a + OU=b', 'CN=www.example.com'])
    expect(leaf.subjectAltName).toBe(
      'DNS:api.example.com, DNS:www.example.com, email:dev@mail.example.com, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:10.1.2.3',
    )
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
    expect(leaf.ca).toBe(false)
    expect(Date.parse(leaf.validTo) - pki.clock.now()).toBe(DAY_MS)
    expect(Date.parse(leaf.validFrom) - pki.clock.now()).toBe(-30_000)
    expect(issued.expiration).toBe((pki.clock.now() + DAY_MS) / 1000)
    expect(issued.serial_number).toBe((leaf.serialNumber.match(/../g) ?? []).join(':').toLowerCase())
    expect(issued.private_key_type).toBe('ec')
    expect(String(issued.private_key)).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n[\s\S]*-----END EC PRIVATE KEY-----$/)
    expect(isPair(issued)).toBe(true)
    expect(issued.ca_chain).toEqual([root.certificate])
    expect(issued.issuing_ca).toBe(root.certificate)
    expect(await pki.shown(`cert/${String(issued.serial_number)}`)).toMatchObject({
      certificate: issued.certificate,
      revocation_time: 0,
    })
  })

  it('roots and leaves can have RSA, EC and Ed25519 keys', async () => {
    for (const [type, bits, shown] of [
      ['rsa', 2048, 'RSA PRIVATE KEY'],
      ['ec', 384, 'EC PRIVATE KEY'],
      ['ec', 521, 'EC PRIVATE KEY'],
      ['ed25519', 0, 'PRIVATE KEY'],
    ] as const) {
      const mount = new PkiMount()
      const root = await mount.root({ key_type: type, key_bits: bits })
      await mount.role('web', { key_type: type, key_bits: bits })
      const issued = await mount.data('issue/web', { common_name: 'a.example.com' })
      expect(certificateIn(issued).verify(certificateIn(root).publicKey), type).toBe(true)
      expect(issued.private_key, type).toContain(`-----BEGIN ${shown}-----`)
      expect(isPair(issued)).toBe(true)
    }
  })

  it('the formats der, pem_bundle and pkcs8 have the same certificate and key', async () => {
    const root = await pki.root()
    await pki.role('web')
    const der = await pki.data('issue/web', {
      common_name: 'a.example.com',
      format: 'der',
      private_key_format: 'pkcs8',
    })
    const key = createPrivateKey({ key: Buffer.from(String(der.private_key), 'base64'), format: 'der', type: 'pkcs8' })
    const { X509Certificate } = await import('node:crypto')
    expect(new X509Certificate(Buffer.from(String(der.certificate), 'base64')).checkPrivateKey(key)).toBe(true)
    const bundle = await pki.data('issue/web', { common_name: 'a.example.com', format: 'pem_bundle' })
    expect(String(bundle.certificate).match(/-----BEGIN [A-Z ]+-----/g)).toEqual([
      '-----BEGIN EC PRIVATE KEY-----',
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----',
    ])
    const pkcs8 = await pki.data('issue/web', { common_name: 'a.example.com', private_key_format: 'pkcs8' })
    expect(pkcs8.private_key).toContain('-----BEGIN PRIVATE KEY-----')
    const rootless = await pki.data('issue/web', { common_name: 'a.example.com', remove_roots_from_chain: true })
    expect([rootless.ca_chain, rootless.issuing_ca]).toEqual([undefined, root.certificate])
  })

  it('TTLs end at the maximum of the role with a warning, and at the end of the issuer with an error', async () => {
    await pki.root({ ttl: '100h' })
    await pki.role('web', { max_ttl: '48h' })
    const capped = await pki.write('issue/web', { common_name: 'a.example.com', ttl: '60h' })
    expect(capped?.warnings).toEqual([
      'TTL "60h0m0s" is longer than permitted maxTTL "48h0m0s", so maxTTL is being used',
    ])
    await pki.role('long', { max_ttl: '400h' })
    expect(await refusal(pki.write('issue/long', { common_name: 'a.example.com', ttl: '200h' }))).toEqual([
      'invalid-request',
      expect.stringMatching(
        /^cannot satisfy request, as TTL would result in notAfter of \S+ that is beyond the expiration of the CA certificate at \S+$/,
      ),
    ])
    const { issuer_id: id } = (await pki.shown('issuer/default')) as { issuer_id: string }
    await pki.call('patch', `issuer/${id}`, { leaf_not_after_behavior: 'truncate' })
    const truncated = await pki.data('issue/long', { common_name: 'a.example.com', ttl: '200h' })
    expect(truncated.expiration).toBe((pki.clock.now() + 100 * 3_600_000) / 1000)
    await pki.call('patch', `issuer/${id}`, { leaf_not_after_behavior: 'permit' })
    const permitted = await pki.data('issue/long', { common_name: 'a.example.com', ttl: '200h' })
    expect(permitted.expiration).toBe((pki.clock.now() + 200 * 3_600_000) / 1000)
    const fixed = await pki.data('issue/long', { common_name: 'a.example.com', not_after: '2023-11-15T00:00:00Z' })
    expect(fixed.expiration).toBe(Date.parse('2023-11-15T00:00:00Z') / 1000)
  })

  it('names, roles and issuers that are not allowed are rejected', async () => {
    const refused = async (path: string, body = {}) => (await refusal(pki.write(path, body)))[1]
    expect(await refused('issue/none', { common_name: 'a' })).toBe('unknown role: none')
    await pki.role('web', { allow_ip_sans: false })
    expect(await refused('issue/web', { common_name: 'a.example.com' })).toBe(
      'could not fetch the CA certificate (was one set?): no default issuer currently configured',
    )
    await pki.root()
    expect(await refused('issue/web', { common_name: 'example.org' })).toBe(
      'common name example.org not allowed by this role',
    )
    expect(await refused('issue/web', { common_name: 'a.example.com', alt_names: 'b.org' })).toBe(
      'subject alternate name b.org not allowed by this role',
    )
    expect(await refused('issue/web', { common_name: 'a.example.com', ip_sans: 'fe80::1%eth0' })).toMatch(
      /not a valid IP/,
    )
    expect(await refused('issue/web', { common_name: 'a.example.com', ip_sans: '10.0.0.1' })).toBe(
      'IP Subject Alternative Names are not allowed in this role, but was provided [10.0.0.1]',
    )
    expect(await refused('issue/web')).toMatch(/^the common_name field is required/)
    expect(await refused('issue/web', { common_name: 'a.example.com', format: 'p12' })).toMatch(/"format"/)
    expect(await refused('issuer/none/issue/web', { common_name: 'a.example.com' })).toBe(
      'could not fetch the CA certificate (was one set?): unable to find PKI issuer for reference: none',
    )
    await pki.role('any', { key_type: 'any' })
    expect(await refused('issue/any', { common_name: 'a.example.com' })).toMatch(/only signing$/)
  })

  it('a role with an empty issuer uses the default issuer', async () => {
    const root = await pki.root()
    expect(await pki.role('web', { issuer_ref: '' })).toHaveProperty('issuer_ref', 'default')
    const issued = certificateIn(await pki.data('issue/web', { common_name: 'a.example.com' }))
    expect(issued.verify(certificateIn(root).publicKey)).toBe(true)
  })

  it('a caller cannot choose another issuer than that of the role, unless it is part of the path', async () => {
    await pki.root({ issuer_name: 'one' })
    const two = certificateIn(await pki.root({ issuer_name: 'two' }))
    await pki.role('web', { issuer_ref: 'two' })
    const names = { common_name: 'a.example.com' }
    const issued = certificateIn(await pki.data('issue/web', { ...names, issuer_ref: 'one' }))
    expect(issued.verify(two.publicKey)).toBe(true)
    const chosen = certificateIn(await pki.data('issuer/one/issue/web', names))
    expect(chosen.verify(two.publicKey)).toBe(false)
  })

  it('a role with no_store leaves no certificate, and URLs of the mount are in certificates', async () => {
    await pki.root()
    await pki.data('config/urls', {
      issuing_certificates: 'http://pki.test/ca',
      crl_distribution_points: 'http://pki.test/crl',
      ocsp_servers: 'http://pki.test/ocsp',
    })
    await pki.role('web', { no_store: true, policy_identifiers: '1.3.6.1.4.1.1' })
    const issued = await pki.data('issue/web', { common_name: 'a.example.com' })
    expect(certificateIn(issued).infoAccess).toBe(
      'OCSP - URI:http://pki.test/ocsp\nCA Issuers - URI:http://pki.test/ca',
    )
    expect(await pki.read(`cert/${String(issued.serial_number)}`)).toBeUndefined()
    expect(await pki.data('config/urls', { ocsp_servers: '' })).toMatchObject({ ocsp_servers: [] })
    expect(await refusal(pki.write('config/urls', { ocsp_servers: 'no url' }))).toEqual([
      'invalid-request',
      'invalid URL found in Authority Information Access (AIA) parameter ocsp_servers: no url',
    ])
  })

  it('templates in URLs name the issuer and the cluster, and fail without the address of the cluster', async () => {
    const root = await pki.root()
    await pki.data('config/urls', {
      issuing_certificates: '{{cluster_aia_path}}/issuer/{{issuer_id}}/der',
      enable_templating: true,
    })
    await pki.role('web')
    expect((await refusal(pki.write('issue/web', { common_name: 'a.example.com' })))[1]).toMatch(/\(aia_path\)$/)
    await pki.data('config/cluster', { aia_path: 'http://a.test/pki' })
    const issued = await pki.data('issue/web', { common_name: 'a.example.com' })
    expect(certificateIn(issued).infoAccess).toContain(`http://a.test/pki/issuer/${String(root.issuer_id)}/der`)
  })
})

describe('other names', () => {
  const UPN = '1.3.6.1.4.1.311.20.2.3'

  it('a certificate has the other names that its role allows', async () => {
    await pki.root()
    await pki.role('web', { allowed_other_sans: `${UPN};UTF8:*@example.com,1.2.3.4;utf-8:a` })
    const namesFor = async (body: JsonObject) =>
      otherNamesOf(await pki.data('issue/web', { common_name: 'a.example.com', ...body }))
    expect(await namesFor({})).toEqual([])
    const names = [`${UPN};UTF8:joe@example.com`, '1.2.3.4;UTF-8:a']
    expect(await namesFor({ other_sans: names })).toEqual([
      { oid: UPN, text: 'joe@example.com' },
      { oid: '1.2.3.4', text: 'a' },
    ])
    await pki.role('any', { allowed_other_sans: '*' })
    const any = await pki.data('issue/any', { common_name: 'a.example.com', other_sans: '2.999.1;UTF8:ä' })
    expect(otherNamesOf(any)).toEqual([{ oid: '2.999.1', text: 'ä' }])
    expect(certificateIn(any).subjectAltName).toContain('DNS:a.example.com')
  })

  it.each([
    ['x', 'could not parse requested other SAN: expected a semicolon in other SAN "x"'],
    ['1.2;x', 'could not parse requested other SAN: expected a colon in other SAN "1.2;x"'],
    ['x;UTF8:a', 'could not parse requested other SAN: "x" is not an object identifier'],
    ['1.2.3;UTF8:a', 'other SAN OID 1.2.3 not allowed by this role'],
    [`${UPN};UTF8:b`, `other SAN b not allowed for OID ${UPN} by this role`],
  ])('the other name %s is rejected', async (name, text) => {
    await pki.root()
    await pki.role('web', { allowed_other_sans: `${UPN};UTF8:a` })
    const body = { common_name: 'a.example.com', other_sans: name }
    expect(await refusal(pki.write('issue/web', body))).toEqual(['invalid-request', text])
  })

  it('the other names of a signing request are those of the certificate, if the role allows them', async () => {
    await pki.root()
    const { csr } = await pki.data('intermediate/generate/internal', {
      common_name: 'a.example.com',
      key_type: 'ec',
      other_sans: `${UPN};UTF8:joe`,
    })
    await pki.role('web', { allowed_other_sans: `${UPN};UTF8:j*` })
    expect(otherNamesOf(await pki.data('sign/web', { csr: String(csr) }))).toEqual([{ oid: UPN, text: 'joe' }])
    await pki.role('none')
    const [, text] = await refusal(pki.write('sign/none', { csr: String(csr) }))
    expect(text).toBe(`other SAN OID ${UPN} not allowed by this role`)
  })
})

describe('sign', () => {
  it('a signing request gets its own names, unless the role takes them from the parameters', async () => {
    await pki.root()
    await pki.role('web')
    const csr = await requestFor('www.example.com', [{ type: 'dns', value: 'api.example.com' }])
    const signed = certificateIn(await pki.data('sign/web', { csr, common_name: 'other.example.com' }))
    expect([signed.subject, signed.subjectAltName]).toEqual([
      'CN=www.example.com',
      'DNS:api.example.com, DNS:www.example.com',
    ])
    await pki.role('own', { use_csr_common_name: false, use_csr_sans: false })
    const own = certificateIn(await pki.data('sign/own', { csr, common_name: 'other.example.com' }))
    expect([own.subject, own.subjectAltName]).toEqual(['CN=other.example.com', 'DNS:other.example.com'])
    expect((await pki.write('sign/web', { csr }))?.data).not.toHaveProperty('private_key')
  })

  it('damaged signing requests and keys that the role does not allow are rejected', async () => {
    await pki.root()
    await pki.role('web')
    await pki.role('rsa', { key_type: 'rsa' })
    const csr = await requestFor('www.example.com')
    const refused = async (path: string, body = {}) => (await refusal(pki.write(path, body)))[1]
    expect(await refused('sign/web')).toBe('"csr" is empty')
    expect(await refused('sign/web', { csr: 'x' })).toBe('csr contains no data')
    const lines = csr.split('\n')
    const body = Buffer.from(lines.slice(1, -2).join(''), 'base64')
    body.writeUInt8(body.readUInt8(body.length - 1) ^ 1, body.length - 1)
    expect(await refused('sign/web', { csr: requestPem(body) })).toMatch(/^certificate request could not be parsed: /)
    expect(await refused('sign/rsa', { csr })).toBe('role requires keys of type rsa')
    await pki.role('large', { key_bits: 384 })
    expect(await refused('sign/large', { csr })).toBe(
      "role requires a minimum of a 384-bit key, but CSR's key is 256 bits",
    )
  })

  it('sign-verbatim takes the subject and the names of the request, and never issues an authority', async () => {
    const root = await pki.root()
    const csr = await requestFor('Any Name!', [{ type: 'dns', value: 'x.test' }])
    const signed = await pki.data('sign-verbatim', { csr, ext_key_usage: 'ServerAuth' })
    const leaf = certificateIn(signed)
    expect([leaf.subject, leaf.subjectAltName, leaf.ca]).toEqual(['O=Acme\nCN=Any Name!', 'DNS:x.test', false])
    expect(leaf.verify(certificateIn(root).publicKey)).toBe(true)
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    const intermediate = await pki.data('intermediate/generate/internal', {
      common_name: 'sub',
      key_type: 'ec',
      add_basic_constraints: true,
    })
    expect(certificateIn(await pki.data('sign-verbatim', { csr: String(intermediate.csr) })).ca).toBe(false)
  })
})
