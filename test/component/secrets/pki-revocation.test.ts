import 'reflect-metadata'
import { X509Crl } from '@peculiar/x509'
import { beforeEach, describe, expect, it } from 'vitest'
import { dataOf, refusal } from '../../support/backend-harness.js'
import { certificateIn, PkiMount } from '../../support/pki-mount.js'
import { until } from '../../support/until.js'

let pki: PkiMount
beforeEach(() => {
  pki = new PkiMount()
})

const HOUR_MS = 3_600_000

const issue = async (
  name = 'a.example.com',
  ttl = '24h',
): Promise<Record<string, unknown> & { readonly serial: string }> => {
  const issued = await pki.data('issue/web', { common_name: name, ttl })
  return { ...issued, serial: String(issued.serial_number) }
}

/** Returns the number of a revocation list below 128 in PEM, which counts the lists of its issuer. */
const numberOf = (pem: unknown): number | undefined =>
  new Uint8Array(new X509Crl(String(pem)).getExtension('2.5.29.20')?.value ?? new ArrayBuffer()).at(-1)

describe('revocation', () => {
  it('a revoked certificate is on the list of its issuer, which the root has signed', async () => {
    const root = await pki.root()
    await pki.role('web')
    const [one, two] = [await issue(), await issue()]
    const before = await pki.shown('cert/crl')
    expect(await pki.revokedIn(before.certificate, root.certificate)).toEqual([])
    const revoked = await pki.data('revoke', { serial_number: one.serial })
    expect(revoked).toEqual({
      revocation_time: pki.clock.now() / 1000,
      revocation_time_rfc3339: new Date(pki.clock.now()).toISOString(),
      state: 'revoked',
    })
    expect(await pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)).toEqual([one.serial])
    await pki.data('revoke', { certificate: String(two.certificate) })
    const { crl } = await pki.shown('issuer/default/crl')
    expect((await pki.revokedIn(crl, root.certificate)).toSorted()).toEqual([one.serial, two.serial].toSorted())
    expect(dataOf(await pki.list('certs/revoked'))).toEqual({ keys: [one.serial, two.serial].toSorted() })
    expect(await pki.shown(`cert/${one.serial}`)).toMatchObject({
      revocation_time: revoked.revocation_time,
      issuer_id: root.issuer_id,
    })
    pki.clock.advance(HOUR_MS)
    expect(await pki.data('revoke', { serial_number: one.serial.replaceAll(':', '-').toUpperCase() })).toEqual(revoked)
  })

  it('concurrent revocations share lists, and the list contains all of them when they end', async () => {
    const root = await pki.root()
    await pki.role('web')
    const serials: string[] = []
    for (let count = 0; count < 12; count++) serials.push((await issue()).serial)
    await Promise.all(serials.map((serial) => pki.data('revoke', { serial_number: serial })))
    const { crl } = await pki.shown('issuer/default/crl')
    expect(numberOf(crl)).toBeLessThan(serials.length / 2)
    expect((await pki.revokedIn(crl, root.certificate)).toSorted()).toEqual(serials.toSorted())
  })

  it('a repeated revocation rebuilds the list', async () => {
    const root = await pki.root()
    await pki.role('web')
    const { serial } = await issue()
    const auto = { auto_rebuild: true, auto_rebuild_grace_period: '12h' }
    await pki.shown('cert/crl')
    await pki.data('config/crl', auto)
    await pki.data('revoke', { serial_number: serial })
    await pki.data('config/crl', { ...auto, auto_rebuild: false })
    expect(await pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)).toEqual([])
    await pki.data('revoke', { serial_number: serial })
    expect(await pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)).toEqual([serial])
  })

  it('the owner of a private key can revoke its certificate', async () => {
    await pki.root()
    await pki.role('web')
    const [one, two] = [await issue(), await issue()]
    const body = { serial_number: one.serial, private_key: String(two.private_key) }
    expect((await refusal(pki.write('revoke-with-key', body)))[1]).toMatch(/^provided private key does not match/)
    const own = { ...body, private_key: String(one.private_key) }
    expect(await pki.data('revoke-with-key', own)).toMatchObject({ state: 'revoked' })
  })

  it('unknown certificates, issuers and expired certificates are not revoked', async () => {
    const root = await pki.root()
    await pki.role('web')
    const refused = async (body = {}) => (await refusal(pki.write('revoke', body)))[1]
    expect(await refused()).toMatch(/must be provided/)
    expect(await refused({ serial_number: '00:01', certificate: 'x' })).toMatch(/not both/)
    expect(await refused({ serial_number: '00:01' })).toBe('certificate with serial 00:01 not found.')
    expect(await refused({ serial_number: String(root.serial_number) })).toMatch(/^adding issuer/)
    const stranger = new PkiMount()
    expect(await refused({ certificate: String((await stranger.root()).certificate) })).toMatch(/^unable to verify/)
    const short = await issue('a.example.com', '1h')
    pki.clock.advance(2 * HOUR_MS)
    const late = await pki.write('revoke', { serial_number: short.serial })
    expect(late?.warnings).toEqual([`certificate with serial ${short.serial} already expired; refusing to add to CRL`])
  })

  it('a list with auto_rebuild changes only before it expires or when it is rotated', async () => {
    const root = await pki.root()
    await pki.role('web', { max_ttl: '2000h' })
    await pki.data('config/crl', { auto_rebuild: true, auto_rebuild_grace_period: '12h' })
    const shown = async () => pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)
    expect(await shown()).toEqual([])
    const one = await issue('a.example.com', '500h')
    await pki.data('revoke', { serial_number: one.serial })
    expect(await shown()).toEqual([])
    pki.clock.advance(60 * HOUR_MS)
    expect(await shown()).toEqual([one.serial])
    const two = await issue('a.example.com', '500h')
    await pki.data('revoke', { serial_number: two.serial })
    expect(await pki.shown('crl/rotate')).toEqual({ success: true })
    expect((await shown()).toSorted()).toEqual([one.serial, two.serial].toSorted())
  })

  it('a disabled list is empty and signed, and settings that are not supported are rejected', async () => {
    const root = await pki.root()
    await pki.role('web')
    const one = await issue()
    await pki.data('revoke', { serial_number: one.serial })
    expect(await pki.data('config/crl', { disable: true })).toMatchObject({ disable: true, expiry: '72h' })
    const shown = async () => pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)
    expect(await shown()).toEqual([])
    await pki.data('config/crl', { disable: false })
    expect(await shown()).toEqual([one.serial])
    for (const name of ['enable_delta', 'unified_crl', 'cross_cluster_revocation', 'unified_crl_on_existing_paths']) {
      expect((await refusal(pki.write('config/crl', { [name]: true })))[1]).toContain(`${name} is not supported`)
    }
    expect((await refusal(pki.write('config/crl', { expiry: 'x' })))[1]).toMatch(/expiry could not be decoded/)
    expect((await refusal(pki.write('config/crl', { auto_rebuild: true, expiry: '1h' })))[1]).toMatch(
      /strictly shorter/,
    )
  })

  it('a revoked intermediate issues nothing, and is on the list of its parent', async () => {
    const root = await pki.root()
    const { csr } = await pki.data('intermediate/generate/internal', { common_name: 'sub', key_type: 'ec' })
    const signed = await pki.data('root/sign-intermediate', { csr: String(csr), common_name: 'sub' })
    const { imported_issuers: ids } = await pki.data('intermediate/set-signed', {
      certificate: String(signed.certificate),
    })
    const id = String((ids as string[])[0])
    expect(await pki.data(`issuer/${id}/revoke`)).toMatchObject({ revoked: true })
    const { crl } = await pki.shown(`issuer/${String(root.issuer_id)}/crl`)
    expect(await pki.revokedIn(crl, root.certificate)).toEqual([signed.serial_number])
    await pki.role('web', { issuer_ref: id })
    expect((await refusal(pki.write('issue/web', { common_name: 'a.example.com' })))[1]).toMatch(
      /but only had usage crl-signing,ocsp-signing,read-only$/,
    )
  })
})

describe('leases', () => {
  it('a certificate of a role with generate_lease has a lease until its end, which revokes it', async () => {
    const root = await pki.root()
    await pki.role('web', { generate_lease: true })
    const response = await pki.write('issue/web', { common_name: 'a.example.com', ttl: '24h' })
    const { serial_number: serial } = dataOf(response) as { serial_number: string }
    const internal = { serial: serial.replaceAll(':', '-') }
    expect(response?.lease).toEqual({ ttlSeconds: 24 * 3600, isRenewable: false, internal })
    await pki.backend.revokeLease?.({ internal, issuedMs: pki.clock.now() })
    expect(await pki.revokedIn((await pki.shown('cert/crl')).certificate, root.certificate)).toEqual([serial])
    await pki.backend.revokeLease?.({ internal: { serial: '00-01' }, issuedMs: pki.clock.now() })
  })

  it('a role with no_store issues no lease, with a warning', async () => {
    await pki.root()
    const fields = { allow_any_name: true, key_type: 'ec', max_ttl: '24h', generate_lease: true, no_store: true }
    const made = await pki.write('roles/web', fields)
    expect(made?.warnings).toEqual([expect.stringContaining('no_store=true takes priority')])
    expect((await pki.write('issue/web', { common_name: 'a' }))?.lease).toBeUndefined()
  })
})

describe('fetching', () => {
  it('certificates and lists have the content types of their formats, and nothing is 204', async () => {
    const raw = async (path: string) => {
      const response = await pki.read(path)
      return [response?.status ?? 200, response?.raw?.contentType, String(response?.raw?.body).slice(0, 24)]
    }
    expect(await raw('ca/pem')).toEqual([204, 'application/pem-certificate-chain', ''])
    expect(await raw('crl')).toEqual([204, 'application/pkix-cert', ''])
    const root = await pki.root()
    const PEM = '-----BEGIN CERTIFICATE---'.slice(0, 24)
    expect(await raw('ca/pem')).toEqual([200, 'application/pem-certificate-chain', PEM])
    expect(await raw('ca_chain')).toEqual([200, 'application/pkix-cert', PEM])
    expect(await raw('issuer/default/pem')).toEqual([200, 'application/pem-certificate-chain', PEM])
    expect(await raw('crl/pem')).toEqual([200, 'application/x-pem-file', '-----BEGIN X509 CRL-----'])
    expect((await pki.read('ca'))?.raw).toEqual({
      contentType: 'application/pkix-cert',
      body: certificateIn(root).raw,
    })
    expect((await pki.read('crl'))?.raw?.contentType).toBe('application/pkix-crl')
    expect((await pki.read('issuer/default/crl/der'))?.raw?.contentType).toBe('application/pkix-crl')
    expect((await pki.read(`cert/${String(root.serial_number)}/raw`))?.raw?.body).toEqual(certificateIn(root).raw)
    expect(await pki.shown('cert/ca')).toMatchObject({ certificate: root.certificate })
    expect(await pki.shown('issuer/default/json')).toMatchObject({ issuer_id: root.issuer_id })
    expect(await pki.read('cert/00-11')).toBeUndefined()
  })
})

describe('tidy', () => {
  it('expired certificates are removed after the safety buffer', async () => {
    await pki.root()
    await pki.role('web')
    const [short, revoked, long] = [
      await issue('a.example.com', '1h'),
      await issue('a.example.com', '1h'),
      await issue('a.example.com', '700h'),
    ]
    await pki.data('revoke', { serial_number: revoked.serial })
    expect((await pki.write('tidy'))?.warnings).toEqual([
      expect.stringMatching(/^Manual tidy requested but no tidy operations were set/),
    ])
    await until(async () => (await pki.shown('tidy-status')).state === 'Finished')
    pki.clock.advance(3 * HOUR_MS)
    const started = await pki.write('tidy', { tidy_cert_store: true, tidy_revoked_certs: true, safety_buffer: '1h' })
    expect(started?.status).toBe(202)
    await until(async () => (await pki.shown('tidy-status')).state === 'Finished')
    expect(await pki.shown('tidy-status')).toMatchObject({
      cert_store_deleted_count: 2,
      revoked_cert_deleted_count: 1,
      safety_buffer: 3600,
    })
    const { keys } = dataOf(await pki.list('certs')) as { keys: string[] }
    expect([keys.includes(short.serial), keys.includes(long.serial)]).toEqual([false, true])
    expect(await pki.list('certs/revoked')).toBeUndefined()
    expect((await pki.write('tidy-cancel'))?.warnings).toEqual([expect.stringMatching(/cannot be cancelled/)])
  })

  it('an automatic operation begins with the first certificate after the interval', async () => {
    await pki.root()
    await pki.role('web')
    const config = { enabled: true, interval_duration: '2h', tidy_cert_store: true, safety_buffer: '1h' }
    expect(await pki.data('config/auto-tidy', config)).toMatchObject({ interval_duration: 7200, tidy_cert_store: true })
    const short = await issue('a.example.com', '10m')
    pki.clock.advance(1.5 * HOUR_MS)
    await issue()
    expect((await pki.shown('tidy-status')).state).toBe('Inactive')
    pki.clock.advance(HOUR_MS)
    await issue()
    await until(async () => (await pki.shown('tidy-status')).state === 'Finished')
    expect(await pki.read(`cert/${short.serial}`)).toBeUndefined()
  })

  it.each([
    [{ enabled: true }, /^Auto-tidy enabled but no tidy operations were requested\. Enable at least one/],
    [{ safety_buffer: 0 }, /^given safety_buffer must be at least one second; got: 0$/],
    [{ pause_duration: 'x' }, /^unable to parse given pause_duration/],
    [{ publish_stored_certificate_count_metrics: true }, /^Can not publish a running storage metrics count/],
  ])('the settings %j of automatic operations are rejected', async (body, text) => {
    expect((await refusal(pki.write('config/auto-tidy', body)))[1]).toMatch(text)
  })
})
