import 'reflect-metadata'
import { Extension, ExtendedKeyUsage } from '@peculiar/x509'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { findChain } from '../../../src/crypto/certificate-chain.js'
import { derText, readCertificates, readRevokedSerials } from '../../../src/crypto/certificate-facts.js'
import { TestCertificate, textExtension } from '../../support/client-certificates.js'

let root: TestCertificate
let middle: TestCertificate
beforeAll(async () => {
  root = await TestCertificate.authority('root')
  middle = await root.issue({ commonName: 'middle', isCa: true, uses: [] })
})

const facts = async (...all: readonly TestCertificate[]) => readCertificates(all.map(({ der }) => der))

/** Returns the common names of the chain. */
const chain = async (
  leaf: TestCertificate,
  { roots = [root], via = [] }: { roots?: readonly TestCertificate[]; via?: readonly TestCertificate[] } = {},
) => {
  const [client] = await facts(leaf)
  if (!client) throw new Error('no certificate')
  const options = { roots: await facts(...roots), intermediates: await facts(...via), nowMs: systemClock.now() }
  return findChain(client, options)?.map(({ commonName }) => commonName)
}

describe('a certificate chain', () => {
  it('a chain leads from the client to a root, directly or through other authorities', async () => {
    expect(await chain(await root.issue())).toEqual(['client', 'root'])
    const deep = await middle.issue()
    expect(await chain(deep, { via: [middle] })).toEqual(['client', 'middle', 'root'])
    expect(await chain(deep, { roots: [middle] })).toEqual(['client', 'middle'])
    expect(await chain(deep)).toBeUndefined()
  })

  it('a root of the same name with another key is no issuer', async () => {
    const other = await TestCertificate.authority('root')
    expect(await chain(await root.issue(), { roots: [other] })).toBeUndefined()
    expect(await chain(await middle.issue(), { roots: [other], via: [middle] })).toBeUndefined()
  })

  it('a certificate that is no authority cannot issue', async () => {
    const pretender = await root.issue({ commonName: 'pretender' })
    const leaf = await pretender.issue()
    expect(await chain(leaf, { via: [pretender] })).toBeUndefined()
    expect(await chain(leaf, { roots: [pretender] })).toBeUndefined()
  })

  it('the path length of an authority limits the authorities below it', async () => {
    const flat = await TestCertificate.authority('flat', { pathLength: 0 })
    expect(await chain(await flat.issue(), { roots: [flat] })).toEqual(['client', 'flat'])
    const below = await flat.issue({ commonName: 'below', isCa: true, uses: [] })
    expect(await chain(await below.issue(), { roots: [flat], via: [below] })).toBeUndefined()
  })

  it('every certificate must be valid now', async () => {
    expect(await chain(await root.issue({ from: -2, to: -1 }))).toBeUndefined()
    expect(await chain(await root.issue({ from: 1, to: 2 }))).toBeUndefined()
    const expired = await TestCertificate.authority('old', { from: -2, to: -1 })
    expect(await chain(await expired.issue(), { roots: [expired] })).toBeUndefined()
  })

  it('every certificate must permit TLS clients, if it limits its uses', async () => {
    expect(await chain(await root.issue({ uses: [ExtendedKeyUsage.serverAuth] }))).toBeUndefined()
    expect(await chain(await root.issue({ uses: ['2.5.29.37.0'] }))).toEqual(['client', 'root'])
    expect(await chain(await root.issue({ uses: [] }))).toEqual(['client', 'root'])
    const servers = await root.issue({ commonName: 'servers', isCa: true, uses: [ExtendedKeyUsage.serverAuth] })
    expect(await chain(await servers.issue(), { via: [servers] })).toBeUndefined()
  })

  it('an unknown critical extension, such as name constraints, makes a chain invalid', async () => {
    const constraints = new Extension('2.5.29.30', true, Buffer.from('3000', 'hex'))
    const limited = await root.issue({ commonName: 'limited', isCa: true, uses: [], extensions: [constraints] })
    expect(await chain(await limited.issue(), { via: [limited] })).toBeUndefined()
    expect(await chain(await root.issue({ extensions: [textExtension('1.2.3', 'a', true)] }))).toBeUndefined()
    expect(await chain(await root.issue({ extensions: [textExtension('1.2.3', 'a')] }))).toEqual(['client', 'root'])
  })
})

describe('facts of certificates', () => {
  it('names, numbers and extensions are read from a certificate', async () => {
    const leaf = await root.issue({
      commonName: 'joe',
      units: ['dev', 'ops'],
      serial: '0fffffffffffffffffff',
      names: [
        { type: 'dns', value: 'a.test' },
        { type: 'email', value: 'joe@a.test' },
        { type: 'url', value: 'spiffe://a/joe' },
        { type: 'ip', value: '10.0.0.1' },
      ],
      extensions: [textExtension('1.2.3.4', 'value')],
    })
    const [client, authority] = await facts(leaf, root)
    expect(client).toMatchObject({
      commonName: 'joe',
      organizationalUnits: ['dev', 'ops'],
      dnsNames: ['a.test'],
      emailAddresses: ['joe@a.test'],
      uris: ['spiffe://a/joe'],
      serialNumber: '75557863725914323419135',
      authorityKeyId: authority?.subjectKeyId,
      defect: undefined,
    })
    expect(client?.subjectKeyId).toMatch(/^([0-9a-f]{2}:){19}[0-9a-f]{2}$/)
    expect(client?.keyId).toBe(client?.subjectKeyId)
    expect(derText(client?.extensions.get('1.2.3.4') ?? Buffer.alloc(0))).toBe('value')
    await expect(readCertificates([Buffer.from('no certificate')])).rejects.toThrow()
  })

  it('a revocation list contains its serial numbers', async () => {
    const leaf = await root.issue({ serial: '0d' })
    expect(await readRevokedSerials(await root.revoke(leaf))).toEqual(['13'])
    expect(await readRevokedSerials(await root.revoke())).toEqual([])
    for (const text of ['no list', root.pem, '-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n']) {
      await expect(readRevokedSerials(text)).rejects.toThrow()
    }
    await expect(readRevokedSerials(await root.revokeUntil(undefined, [leaf]))).rejects.toThrow('no nextUpdate')
  })

  it.each([
    ['0c0161', 'a'],
    ['160161', 'a'],
    ['0c820001' + '61', 'a'],
    ['020161', undefined],
    ['0c0261', undefined],
    ['0c016162', undefined],
    ['0c', undefined],
    ['', undefined],
  ])('the DER %s is the text %s', (hex, text) => {
    expect(derText(Buffer.from(hex, 'hex'))).toBe(text)
  })
})
