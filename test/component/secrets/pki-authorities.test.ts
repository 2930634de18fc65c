import { constants, createPrivateKey, verify, X509Certificate } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { encodeDer, readDerSequence } from '../../../src/crypto/der.js'
import { derOf } from '../../../src/crypto/pem.js'
import { dataOf, refusal } from '../../support/backend-harness.js'
import { certificateIn, isPair, PkiMount } from '../../support/pki-mount.js'

let pki: PkiMount
beforeEach(() => {
  pki = new PkiMount()
})

const refused = async (path: string, body = {}) => (await refusal(pki.write(path, body)))[1]

describe('roots', () => {
  it('a root is an authority that signs itself, and becomes the default issuer with its key', async () => {
    const response = await pki.write('root/generate/exported', {
      common_name: 'root.test',
      key_type: 'ec',
      issuer_name: 'one',
      key_name: 'k',
      permitted_dns_domains: 'example.com',
      max_path_length: 1,
    })
    const root = dataOf(response) as Record<string, unknown>
    const certificate = certificateIn(root)
    expect([certificate.ca, certificate.verify(certificate.publicKey)]).toEqual([true, true])
    expect(isPair(root)).toBe(true)
    expect(root).toMatchObject({ issuer_name: 'one', key_name: 'k', private_key_type: 'ec' })
    expect(response?.warnings).toEqual([expect.stringContaining("hasn't configured any authority information access")])
    expect(await pki.shown('config/issuers')).toEqual({ default: root.issuer_id, default_follows_latest_issuer: false })
    expect(await pki.shown('config/keys')).toEqual({ default: root.key_id })
    expect(await pki.shown('issuer/one')).toMatchObject({
      issuer_id: root.issuer_id,
      key_id: root.key_id,
      leaf_not_after_behavior: 'err',
      manual_chain: null,
      revocation_signature_algorithm: 'ECDSAWithSHA256',
      usage: 'crl-signing,issuing-certificates,ocsp-signing,read-only',
    })
    expect(dataOf(await pki.list('certs'))).toEqual({ keys: [root.serial_number] })
    expect(dataOf(await pki.list('issuers'))).toMatchObject({
      keys: [root.issuer_id],
      key_info: { [String(root.issuer_id)]: { issuer_name: 'one', is_default: true } },
    })
  })

  it('root/rotate and root/replace switch to the next root', async () => {
    await pki.root()
    const next = await pki.data('root/rotate/internal', { common_name: 'root.test', key_type: 'ec' })
    expect(next.issuer_name).toBe('next')
    expect(await pki.data('root/replace')).toMatchObject({ default: next.issuer_id })
  })

  it('names, sources of keys and types of keys that are not valid are rejected', async () => {
    await pki.root({ issuer_name: 'one', key_name: 'k' })
    expect(await refused('root/generate/kms', { common_name: 'a' })).toMatch(/^managed keys are not supported/)
    expect(await refused('root/generate/x', { common_name: 'a' })).toMatch(/^the "exported" path parameter must be/)
    const body = { common_name: 'a', key_type: 'ec' }
    expect(await refused('root/generate/internal', { ...body, issuer_name: 'one' })).toBe('issuer name already in use')
    expect(await refused('root/generate/internal', { ...body, key_name: 'k' })).toBe('key name already in use')
    expect(await refused('root/generate/internal', { ...body, issuer_name: 'default' })).toMatch(/^reserved keyword/)
    expect(await refused('root/generate/internal', { ...body, key_type: 'dsa' })).toBe('unknown key type dsa')
    expect(await refused('root/generate/internal', { ...body, key_bits: 224 })).toMatch(/P-224/)
    expect(await refused('root/generate/internal', { common_name: 'a', key_bits: 1024 })).toBe(
      'RSA keys < 2048 bits are unsafe and not supported: got 1024',
    )
  })

  it('the deletion of all issuers and keys leaves an empty mount', async () => {
    await pki.root()
    await pki.call('delete', 'root')
    expect(await pki.list('issuers')).toBeUndefined()
    expect(await pki.list('keys')).toBeUndefined()
    expect(await refusal(pki.read('issuer/default'))).toEqual(['internal', 'no default issuer currently configured'])
  })

  it('an unknown reference is an internal error, and its deletion succeeds', async () => {
    await pki.root()
    for (const [path, kind] of [
      ['issuer/none', 'issuer'],
      ['issuer/none/json', 'issuer'],
      ['key/none', 'key'],
    ] as const) {
      expect(await refusal(pki.read(path))).toEqual(['internal', `unable to find PKI ${kind} for reference: none`])
    }
    expect(await pki.call('delete', 'issuer/none')).toEqual({})
    expect(await pki.call('delete', 'key/none')).toBeUndefined()
  })

  it('the certificate and the chain of a mount without a default issuer are invalid requests', async () => {
    for (const serial of ['ca', 'ca_chain', 'crl']) {
      expect(await refusal(pki.read(`cert/${serial}`))).toEqual([
        'invalid-request',
        'no default issuer currently configured',
      ])
    }
  })

  it('a root with RSA keys can sign with PSS and other hashes', async () => {
    const root = await pki.root({ key_type: 'rsa', signature_bits: 384 })
    expect(certificateIn(root).verify(certificateIn(root).publicKey)).toBe(true)
    await pki.role('pss', { use_pss: true, signature_bits: 512 })
    const issued = certificateIn(await pki.data('issue/pss', { common_name: 'a.example.com' }))
    expect(issued.verify(certificateIn(root).publicKey)).toBe(true)
  })
})

describe('intermediates', () => {
  const createIntermediate = async (body = {}) => {
    const sub = new PkiMount()
    const { csr } = await sub.data('intermediate/generate/internal', { common_name: 'sub.test', key_type: 'ec' })
    const signed = await pki.data('root/sign-intermediate', { csr: String(csr), common_name: 'sub.test', ...body })
    return { sub, signed, csr: String(csr) }
  }

  it('an intermediate that the root signs issues certificates with the whole chain', async () => {
    const root = await pki.root()
    const { sub, signed } = await createIntermediate({ ttl: '1000h' })
    const imported = await sub.data('intermediate/set-signed', {
      certificate: `${String(signed.certificate)}\n${String(root.certificate)}`,
    })
    const [id] = imported.imported_issuers as string[]
    expect(imported).toMatchObject({ imported_keys: null, existing_issuers: null, existing_keys: null })
    expect((imported.imported_issuers as string[]).length).toBe(2)
    await sub.role('web')
    const issued = await sub.data('issue/web', { common_name: 'a.example.com' })
    const [leaf, intermediate, top] = [issued.certificate, ...(issued.ca_chain as string[])].map(
      (pem) => new X509Certificate(String(pem)),
    )
    if (!leaf || !intermediate || !top) throw new Error('the chain is incomplete')
    expect([leaf.verify(intermediate.publicKey), intermediate.verify(top.publicKey)]).toEqual([true, true])
    expect(top.raw.equals(certificateIn(root).raw)).toBe(true)
    expect(await sub.shown('config/issuers')).toMatchObject({ default: id })
    const bundle = await sub.data('issue/web', { common_name: 'a.example.com', format: 'pem_bundle' })
    expect(String(bundle.certificate).match(/BEGIN CERTIFICATE/g)).toHaveLength(3)
  })

  it('an intermediate takes its common name from the signing request if the caller sends none', async () => {
    await pki.root()
    const { csr } = await createIntermediate()
    expect(certificateIn(await pki.data('root/sign-intermediate', { csr })).subject).toBe('CN=sub.test')
    expect(certificateIn(await pki.data('root/sign-intermediate', { csr, common_name: 'own' })).subject).toBe('CN=own')
  })

  it('the path length of the root limits its intermediates', async () => {
    await pki.root({ max_path_length: 1 })
    const { signed } = await createIntermediate()
    expect(certificateIn(signed).ca).toBe(true)
    const low = new PkiMount()
    await low.data('root/generate/internal', { common_name: 'low', key_type: 'ec', max_path_length: 0 })
    const { csr } = await createIntermediate()
    expect(await refusal(low.write('root/sign-intermediate', { csr, common_name: 'x' }))).toEqual([
      'invalid-request',
      'signing certificate has a max path length of zero, and cannot issue further CA certificates',
    ])
    const zero = await pki.write('root/sign-intermediate', { csr, common_name: 'x' })
    expect(zero?.warnings).toContainEqual(expect.stringMatching(/^Max path length of the signed certificate is zero/))
  })

  it('an intermediate can outlive its root with a warning, and its CSR values are used on request', async () => {
    await pki.root({ ttl: '100h' })
    const { signed, csr } = await createIntermediate({ ttl: '700h' })
    expect(signed.expiration).toBe((pki.clock.now() + 700 * 3_600_000) / 1000)
    const late = await pki.write('root/sign-intermediate', { csr, common_name: 'late', ttl: '700h' })
    expect(late?.warnings?.[0]).toMatch(/^The expiration time for the signed certificate is after/)
    const strict = { csr, common_name: 'late', ttl: '700h', enforce_leaf_not_after_behavior: true }
    expect(await refused('root/sign-intermediate', strict)).toMatch(/^cannot satisfy request/)
    const own = certificateIn(
      await pki.data('root/sign-intermediate', { csr, common_name: 'no', use_csr_values: true }),
    )
    expect(own.subject).toBe('CN=sub.test')
  })
})

describe('imports', () => {
  it('a bundle is imported with its keys once', async () => {
    const root = await pki.data('root/generate/exported', { common_name: 'root.test', key_type: 'ec' })
    const other = new PkiMount()
    const bundle = `${String(root.private_key)}\n${String(root.certificate)}`
    const first = await other.data('config/ca', { pem_bundle: bundle })
    const [issuer, key] = [(first.imported_issuers as string[])[0], (first.imported_keys as string[])[0]]
    expect(first.mapping).toEqual({ [String(issuer)]: key })
    expect(await other.data('issuers/import/bundle', { pem_bundle: bundle })).toMatchObject({
      imported_issuers: null,
      imported_keys: null,
      existing_issuers: [issuer],
      existing_keys: [key],
    })
    await other.role('web')
    const issued = certificateIn(await other.data('issue/web', { common_name: 'a.example.com' }))
    expect(issued.verify(certificateIn(root).publicKey)).toBe(true)
    expect((await refusal(other.write('issuers/import/cert', { pem_bundle: bundle })))[1]).toMatch(/private keys/)
    expect((await refusal(other.write('config/ca', { pem_bundle: String(issued) })))[1]).toMatch(/non-CA certificate\n/)
    expect((await refusal(other.write('config/ca', { pem_bundle: 'x' })))[1]).toMatch(/too short/)
    expect((await refusal(other.write('config/ca', { pem_bundle: 'x'.repeat(80) })))[1]).toMatch(/no data$/)
  })

  it('an issuer without a key gets the key that is imported later', async () => {
    const root = await pki.data('root/generate/exported', { common_name: 'root.test', key_type: 'ec' })
    const other = new PkiMount()
    await other.data('issuers/import/cert', { pem_bundle: String(root.certificate) })
    await other.role('web')
    expect((await refusal(other.write('issue/web', { common_name: 'a.example.com' })))[1]).toMatch(
      /^unable to fetch corresponding key for issuer/,
    )
    const { key_id: id } = await other.data('keys/import', { pem_bundle: String(root.private_key), key_name: 'late' })
    expect(await other.shown('issuer/default')).toMatchObject({ key_id: id })
    expect(certificateIn(await other.data('issue/web', { common_name: 'a.example.com' })).ca).toBe(false)
  })
})

describe('keys', () => {
  it('keys are generated, listed, renamed and deleted unless an issuer uses them', async () => {
    const made = await pki.data('keys/generate/exported', { key_name: 'one', key_type: 'ed25519' })
    expect(createPrivateKey(String(made.private_key)).asymmetricKeyType).toBe('ed25519')
    expect(await pki.data('key/one', { key_name: 'two' })).toEqual({
      key_id: made.key_id,
      key_name: 'two',
      key_type: 'ed25519',
    })
    const root = await pki.data('root/generate/existing', { common_name: 'root.test', key_ref: 'two' })
    expect(root.key_id).toBe(made.key_id)
    expect((await refusal(pki.call('delete', 'key/two')))[1]).toContain(String(root.issuer_id))
    const removed = await pki.call('delete', `issuer/${String(root.issuer_id)}`)
    expect(removed?.warnings).toEqual([expect.stringContaining('this was configured as the default issuer')])
    await pki.call('delete', 'key/two')
    expect(await pki.list('keys')).toBeUndefined()
  })
})

describe('issuers', () => {
  it('an issuer is changed as a whole by an update, and in part by a patch', async () => {
    const root = await pki.root({ issuer_name: 'one' })
    const id = String(root.issuer_id)
    await pki.data(`issuer/${id}`, { issuer_name: 'two', usage: 'crl-signing', leaf_not_after_behavior: 'truncate' })
    expect(await pki.shown('issuer/two')).toMatchObject({
      usage: 'crl-signing,read-only',
      leaf_not_after_behavior: 'truncate',
    })
    await pki.role('web')
    expect(await refused('issue/web', { common_name: 'a.example.com' })).toMatch(
      /requested usage issuing-certificates for issuer \[id:.* \/ name:two\] but only had usage crl-signing,read-only$/,
    )
    await pki.call('patch', 'issuer/two', { usage: 'issuing-certificates,crl-signing' })
    expect(await pki.shown('issuer/two')).toMatchObject({
      issuer_name: 'two',
      usage: 'crl-signing,issuing-certificates,read-only',
      leaf_not_after_behavior: 'truncate',
    })
    await pki.call('patch', 'issuer/two', { manual_chain: 'self' })
    expect(await pki.shown('issuer/two')).toMatchObject({ manual_chain: [id] })
    expect(await refused(`issuer/${id}`, { usage: 'x' })).toMatch(/^Unable to parse specified usages: \[x\]/)
    expect(await refused(`issuer/${id}`, { revocation_signature_algorithm: 'SHA256WithRSA' })).toMatch(/is ec$/)
    expect(await refused(`issuer/${id}`, { revocation_signature_algorithm: 'x' })).toMatch(/^Unknown signature algo/)
  })

  it('the list of an issuer with RSA keys has the selected signature', async () => {
    const root = await pki.root({ key_type: 'rsa', signature_bits: 384 })
    const id = String(root.issuer_id)
    expect(await pki.shown(`issuer/${id}`)).toMatchObject({ revocation_signature_algorithm: 'SHA384WithRSA' })
    const algorithm = 'SHA512WithRSAPSS'
    const changed = await pki.data(`issuer/${id}`, { revocation_signature_algorithm: algorithm.toLowerCase() })
    expect(changed).toMatchObject({ revocation_signature_algorithm: algorithm })
    await pki.shown('crl/rotate')
    const { certificate: list } = await pki.shown('cert/crl')
    const [content, , signature] = readDerSequence(derOf(String(list)))
    const key = { key: certificateIn(root).publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }
    const signed = encodeDer(0x30, [content?.content ?? Buffer.alloc(0)])
    expect(verify('sha512', signed, key, signature?.content.subarray(1) ?? Buffer.alloc(0))).toBe(true)
  })
})

describe('self-issued certificates', () => {
  it('another issuer signs a self-issued certificate with its serial number, names and key', async () => {
    const [old, next] = [
      await pki.root({ issuer_name: 'old' }),
      await new PkiMount().root({ common_name: 'next.test' }),
    ]
    const signed = await pki.data('root/sign-self-issued', { certificate: String(next.certificate) })
    const [certificate, given] = [certificateIn(signed), certificateIn(next)]
    expect(certificate.verify(certificateIn(old).publicKey)).toBe(true)
    expect([certificate.issuer, certificate.ca]).toEqual(['CN=root.test', true])
    for (const field of ['subject', 'serialNumber', 'validFrom', 'validTo'] as const) {
      expect(certificate[field]).toBe(given[field])
    }
    expect(signed.issuing_ca).toBe(old.certificate)
  })

  it('only a self-issued authority is signed, and its type of key can be required', async () => {
    await pki.root()
    await pki.role('web')
    const sign = (certificate: unknown, more = {}) =>
      refused('root/sign-self-issued', { certificate: String(certificate), ...more })
    expect(await sign('x')).toBe('certificate could not be PEM-decoded')
    const leaf = await pki.data('issue/web', { common_name: 'a.example.com' })
    expect(await sign(leaf.certificate)).toBe('given certificate is not a CA certificate')
    const { csr } = await pki.data('intermediate/generate/internal', { common_name: 'sub', key_type: 'ec' })
    const sub = await pki.data('root/sign-intermediate', { csr: String(csr) })
    expect(await sign(sub.certificate)).toBe('given certificate is not self-issued')
    const rsa = await pki.root({ key_type: 'rsa' })
    expect(await sign(rsa.certificate, { require_matching_certificate_algorithms: true })).toMatch(/does not match/)
  })
})
