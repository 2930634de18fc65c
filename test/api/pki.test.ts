import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'

/** The secrets engine pki over HTTP: a root, an intermediate below it, and the certificates of its clients. */

const OPENSSL = '/usr/bin/openssl'

type Fields = Record<string, unknown>

describe('pki', () => {
  let server: OpenServerProcess
  let root: Fields
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-pki-'))

  const write = async (at: string, body: object = {}): Promise<Fields> =>
    (await server.client.write(at, body)).data as Fields
  const open = (at: string) => fetch(`${server.address}/v1/${at}`)
  const file = (name: string, text: string): string => {
    const full = path.join(directory, name)
    writeFileSync(full, text)
    return full
  }
  const openssl = (...parameters: string[]): string => {
    const { stdout, stderr } = spawnSync(OPENSSL, parameters, { encoding: 'utf8' })
    return stdout + stderr
  }

  beforeAll(async () => {
    server = await startOpenServerProcess()
    await write('sys/mounts/root', { type: 'pki', config: { max_lease_ttl: '87600h' } })
    await write('sys/mounts/pki', { type: 'pki' })
    root = await write('root/root/generate/internal', { common_name: 'Example Root', ttl: '87600h' })
    const { csr } = await write('pki/intermediate/generate/internal', { common_name: 'Example Sub', key_type: 'ec' })
    const signed = await write('root/root/sign-intermediate', { csr, common_name: 'Example Sub', ttl: '8760h' })
    const certificate = `${String(signed.certificate)}\n${String(root.certificate)}`
    await write('pki/intermediate/set-signed', { certificate })
    await write('pki/roles/web', { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'ec' })
  })

  afterAll(async () => {
    rmSync(directory, { recursive: true })
    await server?.[Symbol.asyncDispose]()
  })

  it('certificates and lists require no token, and everything else does', async () => {
    const { serial_number: serial } = await write('pki/issue/web', { common_name: 'a.example.com' })
    for (const [at, type] of [
      ['pki/ca', 'application/pkix-cert'],
      ['pki/ca/pem', 'application/pem-certificate-chain'],
      ['pki/ca_chain', 'application/pkix-cert'],
      ['pki/crl', 'application/pkix-crl'],
      ['pki/crl/pem', 'application/x-pem-file'],
      ['pki/issuer/default/pem', 'application/pem-certificate-chain'],
      ['pki/issuer/default/crl/der', 'application/pkix-crl'],
      [`pki/cert/${String(serial)}/raw`, 'application/pkix-cert'],
      [`pki/cert/${String(serial)}`, 'application/json'],
      ['pki/issuers?list=true', 'application/json'],
      ['pki/issuer/default/json', 'application/json'],
    ] as const) {
      const response = await open(at)
      expect([at, response.status, response.headers.get('content-type')]).toEqual([at, 200, type])
    }
    for (const at of ['pki/certs?list=true', 'pki/issuer/default', 'pki/roles/web', 'pki/crl/rotate']) {
      expect([at, (await open(at)).status]).toEqual([at, 403])
    }
    expect((await open('pki/cert/00-00')).status).toBe(404)
  })

  it('the deletion of all issuers requires the capability sudo', async () => {
    await write('sys/policies/acl/deleter', { policy: 'path "pki/root" { capabilities = ["delete"] }' })
    const { auth } = await server.client.write('auth/token/create', { policies: ['deleter'] })
    const token = (auth as { client_token: string }).client_token
    expect((await server.client.send('DELETE', 'pki/root', { token })).status).toBe(403)
  })

  it('the revocation of a token revokes the certificates of its leases', async () => {
    await write('pki/roles/leased', { allow_any_name: true, key_type: 'ec', generate_lease: true })
    await write('sys/policies/acl/leaser', { policy: 'path "pki/issue/leased" { capabilities = ["update"] }' })
    const { auth } = await server.client.write('auth/token/create', { policies: ['leaser'] })
    const token = (auth as { client_token: string }).client_token
    const { json } = await server.client.send('POST', 'pki/issue/leased', { token, body: { common_name: 'a' } })
    const data = json?.data as { serial_number: string } | undefined
    expect(json?.lease_id).toMatch(/^pki\/issue\/leased\//)
    await write('auth/token/revoke', { token })
    await expect
      .poll(async () => (await server.client.read(`pki/cert/${data?.serial_number}`)).data)
      .toMatchObject({ revocation_time: expect.any(Number), revocation_time_rfc3339: expect.stringContaining('T') })
  })

  it('a TLS client that trusts only the root accepts an issued certificate with its chain', async () => {
    const issued = await write('pki/issue/web', { common_name: 'tls.example.com', format: 'pem_bundle' })
    const tls = createServer({ key: String(issued.private_key), cert: String(issued.certificate) }, (_, response) =>
      response.end('hello'),
    )
    await once(tls.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = tls.address() as { port: number }
      const target = { host: '127.0.0.1', port, servername: 'tls.example.com', ca: String(root.certificate) }
      const [response] = (await once(get(target), 'response')) as [AsyncIterable<Buffer>]
      expect(String(await buffer(response))).toBe('hello')
    } finally {
      tls.close()
    }
  })

  it.skipIf(!existsSync(OPENSSL))(
    'OpenSSL verifies the chain, and rejects a revoked certificate by the list',
    async () => {
      const issued = await write('pki/issue/web', {
        common_name: 'www.example.com',
        alt_names: 'api.example.com',
        ip_sans: '127.0.0.1',
      })
      const [ca, leaf] = [
        file('root.pem', `${String(root.certificate)}\n`),
        file('leaf.pem', `${String(issued.certificate)}\n`),
      ]
      const chain = file('chain.pem', `${(issued.ca_chain as string[]).join('\n')}\n`)
      const list = async () => file('crl.pem', `${await (await open('pki/crl/pem')).text()}\n`)
      const check = async (crl: string) =>
        openssl('verify', '-x509_strict', '-CAfile', ca, '-untrusted', chain, '-CRLfile', crl, '-crl_check', leaf)
      expect(await check(await list())).toContain('leaf.pem: OK')
      expect(openssl('x509', '-in', leaf, '-noout', '-checkhost', 'api.example.com')).toContain('does match')
      expect(openssl('x509', '-in', leaf, '-noout', '-purpose')).toContain('SSL server : Yes')
      await write('pki/revoke', { serial_number: issued.serial_number })
      const after = await list()
      expect(await check(after)).toContain('certificate revoked')
      const text = openssl('crl', '-in', after, '-noout', '-text', '-CAfile', chain)
      expect(text).toContain(String(issued.serial_number).replaceAll(':', '').toUpperCase())
      expect(text).toMatch(/X509v3 CRL Number/)
      expect(openssl('crl', '-in', after, '-noout', '-CAfile', chain)).toContain('verify OK')
    },
  )

  it.skipIf(!existsSync(OPENSSL))(
    'OpenSSL accepts every kind of key and signature, and creates requests to sign',
    async () => {
      for (const [key_type, use_pss] of [
        ['rsa', false],
        ['rsa', true],
        ['ed25519', false],
      ] as const) {
        await write('sys/mounts/kinds', { type: 'pki' })
        const top = await write('kinds/root/generate/internal', {
          common_name: 'Ünicode, "quoted" + #1',
          key_type,
          permitted_dns_domains: 'example.com',
        })
        await write('kinds/roles/any', {
          allow_any_name: true,
          key_type: 'any',
          max_ttl: '72h',
          use_pss,
          signature_bits: 384,
        })
        const ca = file('kinds.pem', `${String(top.certificate)}\n`)
        const request = path.join(directory, 'request.pem')
        const key = path.join(directory, 'request.key')
        openssl(
          'req',
          '-new',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-keyout',
          key,
          '-out',
          request,
          '-subj',
          '/CN=r.example.com',
        )
        const signed = await write('kinds/sign/any', { csr: readFileSync(request, 'utf8') })
        const leaf = file('signed.pem', `${String(signed.certificate)}\n`)
        expect([key_type, use_pss, openssl('verify', '-CAfile', ca, leaf)]).toEqual([
          key_type,
          use_pss,
          expect.stringContaining('signed.pem: OK'),
        ])
        expect(new X509Certificate(String(top.certificate)).subject.replaceAll('\\', '')).toBe(
          'CN=Ünicode, "quoted" + #1',
        )
        await server.client.call('DELETE', 'sys/mounts/kinds')
      }
    },
  )
})
