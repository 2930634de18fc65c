import 'reflect-metadata'
import { Extension, ExtendedKeyUsage, type JsonGeneralNames } from '@peculiar/x509'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { findChain } from '../../../src/crypto/certificate-chain.js'
import { encodeDer } from '../../../src/crypto/der.js'
import { derText, readCertificates } from '../../../src/crypto/certificate-facts.js'
import { readRevokedSerials } from '../../../src/crypto/x509-crl.js'
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

const TAGS: Readonly<Record<string, number>> = { email: 0x81, dns: 0x82, dn: 0xa4, uri: 0x86, ip: 0x87 }
const PERMITTED: JsonGeneralNames = [
  { type: 'dns', value: 'b.a.test' },
  { type: 'email', value: 'joe@a.test' },
  { type: 'url', value: 'https://a.test:8200/x' },
  { type: 'ip', value: '10.0.7.1' },
]
const OUTSIDE: JsonGeneralNames = [
  { type: 'dns', value: 'ba.test' },
  { type: 'email', value: 'a.test@b.test' },
  { type: 'url', value: 'https://b.test/a.test' },
  { type: 'ip', value: '11.0.0.1' },
]

/** Returns name constraints with one name. An address is a block of 8 bits. */
const constraints = (part: number, kind: string, value: string, isCritical = true): Extension => {
  const content = kind === 'ip' ? Buffer.from([...value.split('.').map(Number), 255, 0, 0, 0]) : Buffer.from(value)
  const subtree = encodeDer(0x30, [encodeDer(TAGS[kind] ?? 0, [content])])
  return new Extension('2.5.29.30', isCritical, encodeDer(0x30, [encodeDer(part, [subtree])]))
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

  it.each(['dns a.test', 'email a.test', 'uri a.test', 'ip 10.0.0.0'])('an authority permits only %s', async (text) => {
    const [kind = '', value = ''] = text.split(' ')
    for (const isCritical of [true, false]) {
      const extensions = [constraints(0xa0, kind, value, isCritical)]
      const limited = await root.issue({ commonName: 'limited', isCa: true, uses: [], extensions })
      const middle = await limited.issue({ commonName: 'middle', isCa: true, uses: [] })
      const chainWith = async (names: JsonGeneralNames) =>
        chain(await middle.issue({ names }), { via: [middle, limited] })
      expect(await chainWith(PERMITTED)).toEqual(['client', 'middle', 'limited', 'root'])
      const bad = OUTSIDE.find(({ type }) => type === kind.replace('uri', 'url'))
      expect(await chainWith(bad ? [bad] : [])).toBeUndefined()
    }
  })

  it('an authority excludes names, also as a root, and certificates without names have none', async () => {
    const top = await TestCertificate.authority('top', { extensions: [constraints(0xa1, 'dns', '.a.test')] })
    const chainWith = async (names?: JsonGeneralNames) =>
      chain(await top.issue(names ? { names } : {}), { roots: [top] })
    expect(await chainWith([{ type: 'dns', value: 'b.A.test' }])).toBeUndefined()
    expect(await chainWith([{ type: 'dns', value: 'a.test' }])).toEqual(['client', 'top'])
    expect(await chainWith()).toEqual(['client', 'top'])
  })

  it('critical constraints for other kinds of names make a chain invalid', async () => {
    for (const isCritical of [true, false]) {
      const extensions = [constraints(0xa0, 'dn', '0\0', isCritical)]
      const limited = await root.issue({ commonName: 'limited', isCa: true, uses: [], extensions })
      const found = await chain(await limited.issue(), { via: [limited] })
      expect(found).toEqual(isCritical ? undefined : ['client', 'limited', 'root'])
    }
  })

  it('an unknown critical extension makes a chain invalid', async () => {
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
    expect(readRevokedSerials(await root.revoke(leaf))).toEqual(['13'])
    expect(readRevokedSerials(await root.revoke())).toEqual([])
    for (const text of ['no list', root.pem, '-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n']) {
      expect(() => readRevokedSerials(text)).toThrow()
    }
    expect(readRevokedSerials(await root.revokeUntil(undefined, [leaf]))).toEqual(['13'])
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
