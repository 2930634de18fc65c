import { describe, expect, it } from 'vitest'
import { decodeOid, encodeDer, encodeInteger, encodeOid, readDer, readDerSequence } from '../../../src/crypto/der.js'
import { otherNamesIn, withOtherNames } from '../../../src/crypto/other-names.js'
import { crlEntry } from '../../../src/crypto/x509-crl.js'

describe('DER', () => {
  it.each([0, 1, 127, 128, 255, 256, 65_536])('an element with %i bytes is read as it was written', (length) => {
    const content = Buffer.alloc(length, 7)
    expect(readDer(encodeDer(0x04, [content]))).toEqual([{ tag: 0x04, content }])
  })

  it.each(['1.2.840.113549.1.1.11', '2.5.29.17', '0.9.2342', '2.999.1', '1.3.6.1.4.1.311.20.2.3'])(
    'the object identifier %s is read as it was written',
    (oid) => {
      const [item] = readDer(encodeOid(oid))
      expect([item?.tag, decodeOid(item?.content ?? Buffer.alloc(0))]).toEqual([0x06, oid])
    },
  )

  it.each([
    [0, '020100'],
    [127, '02017f'],
    [128, '02020080'],
    [256, '02020100'],
    [Buffer.from('00ff', 'hex'), '020200ff'],
  ])('the integer %o is %s', (value, hex) => {
    expect(encodeInteger(value).toString('hex')).toBe(hex)
  })

  it.each(['30', '3005', '300201', '3080', '1f0100', '3085ffffffffff', '308200'])('%s is malformed', (hex) => {
    expect(() => readDer(Buffer.from(hex, 'hex'))).toThrow()
  })

  it('a sequence is a single element', () => {
    for (const hex of ['', '0400', '30003000']) expect(() => readDerSequence(Buffer.from(hex, 'hex'))).toThrow()
  })

  it('the entry of a revocation list has a time of two or of four digits for the year', () => {
    expect(crlEntry('0a', Date.UTC(2049, 11, 31)).toString('latin1')).toContain('\u0017\r491231000000Z')
    expect(crlEntry('0a', Date.UTC(2050, 0, 1)).toString('latin1')).toContain('\u0018\u000f20500101000000Z')
  })

  it('an other name that is no UTF8 string is an error', () => {
    const names = [{ oid: '1.2.3', text: 'ä' }]
    expect(otherNamesIn(withOtherNames(names))).toEqual(names)
    const number = encodeDer(0xa0, [encodeOid('1.2.3'), encodeDer(0xa0, [encodeInteger(1)])])
    expect(() => otherNamesIn(encodeDer(0x30, [number]))).toThrow('no UTF-8 string')
  })
})
