import { describe, expect, it } from 'vitest'
import { parseProxyHeader, type ProxyHeader } from '../../../src/http/connection/proxied-connections.js'

const text = (line: string) => Buffer.from(line, 'latin1')

const SIGNATURE = '0d0a0d0a000d0a515549540a'
/** `rest`: the bytes after the length. The length is that of `rest`, unless another one is given. */
const binary = (command: string, family: string, rest: string, length = rest.length / 2) =>
  Buffer.from(`${SIGNATURE}${command}${family}${length.toString(16).padStart(4, '0')}${rest}`, 'hex')

const IPV4 = 'c0000207' + 'c6336401' + 'd903' + '01bb'
const IPV6 = '20010db8000000000000000000000007' + '20010db8000000000000000000000001' + 'd903' + '01bb'
const MAPPED = '00000000000000000000ffffc0000207' + '00000000000000000000ffffc6336401' + 'd903' + '01bb'
const TLVS = '040003616263' + '200005' + '0100000000'
const CLIENT = { address: '192.0.2.7', port: 55_555 }
const CLIENT_6 = { address: '2001:db8::7', port: 55_555 }

const WHOLE: readonly (readonly [string, Buffer, ProxyHeader & object])[] = [
  ['version 1, IPv4', text('PROXY TCP4 192.0.2.7 198.51.100.1 55555 443\r\n'), { size: 45, client: CLIENT }],
  ['version 1, IPv6', text('PROXY TCP6 2001:DB8:0::7 ::1 55555 443\r\n'), { size: 40, client: CLIENT_6 }],
  ['version 1, mapped', text('PROXY TCP6 ::ffff:192.0.2.7 ::1 55555 443\r\n'), { size: 43, client: CLIENT }],
  ['version 1, unknown', text('PROXY UNKNOWN\r\n'), { size: 15, client: undefined }],
  ['version 1, unknown with more', text(`PROXY UNKNOWN ${'f'.repeat(91)}\r\n`), { size: 107, client: undefined }],
  ['version 2, IPv4', binary('21', '11', IPV4), { size: 28, client: CLIENT }],
  ['version 2, IPv4 over UDP', binary('21', '12', IPV4), { size: 28, client: CLIENT }],
  ['version 2, IPv4 with TLVs', binary('21', '11', IPV4 + TLVS), { size: 42, client: CLIENT }],
  ['version 2, IPv6', binary('21', '21', IPV6), { size: 52, client: CLIENT_6 }],
  ['version 2, mapped', binary('21', '21', MAPPED), { size: 52, client: CLIENT }],
  ['version 2, local', binary('20', '00', ''), { size: 16, client: undefined }],
  ['version 2, local with addresses', binary('20', '11', IPV4), { size: 28, client: undefined }],
  ['version 2, local of a family that does not exist', binary('20', 'f7', TLVS), { size: 30, client: undefined }],
  ['version 2, unspecified', binary('21', '00', TLVS), { size: 30, client: undefined }],
  ['version 2, unspecified transport', binary('21', '10', IPV4), { size: 28, client: undefined }],
  ['version 2, a socket file', binary('21', '31', '2f'.repeat(216)), { size: 232, client: undefined }],
]

describe.each(WHOLE)('%s', (_name, header, known) => {
  it('the PROXY header is parsed, whatever follows it', () => {
    expect(parseProxyHeader(header)).toEqual(known)
    for (const more of ['G', 'GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01'])
      expect(parseProxyHeader(Buffer.concat([header, text(more)]))).toEqual(known)
  })

  it('a truncated PROXY header is incomplete, or lacks only bytes that are not needed', () => {
    for (let at = 0; at < header.length; at++) {
      const found = parseProxyHeader(header.subarray(0, at))
      if (typeof found === 'string') expect(found).toBe('incomplete')
      else expect([found, at]).toEqual([known, expect.toSatisfy((size: number) => size >= 16)])
    }
  })
})

it.each([
  ['a request', text('GET / HTTP/1.1\r\n')],
  ['a request whose verb begins alike', text('PROPFIND / HTTP/1.1\r\n')],
  ['POST', text('POST / HTTP/1.1\r\n')],
  ['one byte of a request', text('G')],
  ['two bytes of PUT', text('PU')],
  ['a blank line before a request', text('\r\n\r\nGET / HTTP/1.1\r\n')],
  ['a TLS handshake', Buffer.from('16030100', 'hex')],
  ['a lower-case word', text('proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n')],
])('%s is not a PROXY header', (_name, bytes) => {
  expect(parseProxyHeader(bytes)).toBe('absent')
})

it.each([
  'PROXY\r\n',
  'PROXYX TCP4 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY \r\n',
  'PROXY TCP4\r\n',
  'PROXY TCP5 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY tcp4 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY unknown\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2 3\r\n',
  'PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2 \r\n',
  'PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.07 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.7 example.com 1 2\r\n',
  'PROXY TCP4 ::1 ::1 1 2\r\n',
  'PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 -2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2\nGET / HTTP/1.1\r\n',
  `PROXY TCP4 192.0.2.7 ${'1'.repeat(100)}`,
  `PROXY UNKNOWN ${'f'.repeat(92)}\r\n`,
])('a malformed header of version 1 is rejected: %j', (line) => {
  expect(parseProxyHeader(text(line))).toBe('malformed')
})

it.each([
  ['another version', binary('11', '11', IPV4)],
  ['version 3', binary('31', '11', IPV4)],
  ['an unknown command', binary('22', '11', IPV4)],
  ['an unknown family', binary('21', '41', IPV4)],
  ['an unknown transport', binary('21', '13', IPV4)],
  ['less than two IPv4 addresses', binary('21', '11', IPV4.slice(2))],
  ['less than two IPv6 addresses', binary('21', '21', IPV4)],
  ['less than two socket files', binary('21', '31', IPV6)],
  ['no addresses', binary('21', '11', '')],
])('a malformed header of version 2 is rejected: %s', (_name, bytes) => {
  expect(parseProxyHeader(bytes)).toBe('malformed')
})
