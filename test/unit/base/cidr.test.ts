import { describe, expect, it, test } from 'vitest'
import {
  areSubsets,
  canonicalAddress,
  contains,
  formatCidr,
  isAddressInAny,
  maskedBlock,
  parseCidr,
  parseCidrOrAddress,
} from '../../../src/base/cidr.js'

describe('a block is address and length, nothing looser', () => {
  test.each(['10.0.0.0/8', '10.1.2.3/8', '0.0.0.0/0', '::/0', '2001:db8::/32', '::ffff:10.0.0.0/104'])('%s', (text) => {
    expect(parseCidr(text)).toBeDefined()
  })

  test.each([
    '10.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '010.0.0.0/8',
    '10.0.0/8',
    '0x7f.0.0.1/8',
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '::/129',
    'fe80::1%eth0/64',
    '1.2.3.4:80',
    '/run/x.sock',
    './x',
    'localhost/8',
    '',
  ])('%j is not a CIDR block', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })
})

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['10.0.0.1/32', '10.0.0.1'],
  ['127.0.0.1/16', '127.0.0.1/16'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['2001:db8::1/128', '2001:db8::1'],
  ['2001:db8:0::/32', '2001:db8::/32'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1/104', '10.0.0.1/8'],
  ['::ffff:10.0.0.1/95', '::ffff:a00:1/95'],
])('the CIDR block %s is printed as %s', (text, expected) => {
  const block = parseCidrOrAddress(text)
  expect(block && formatCidr(block)).toBe(expected)
})

test.each(['10.0.0.0/99', '1.2.3.4:80', './socket', 'a/b', '1.2.3', 'fe80::1%1'])(
  '%s is not a block in strict notation',
  (text) => {
    expect(parseCidrOrAddress(text)).toBeUndefined()
  },
)

test.each([
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['127.0.0.1', '127.0.0.1'],
  ['127.1', undefined],
])('the address %s is %s', (text, expected) => {
  expect(canonicalAddress(text)).toBe(expected)
})

test.each([
  ['10.0.0.0/8', '10.255.0.1', true],
  ['10.1.2.3/8', '10.255.0.1', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.0.0.0/8', '::ffff:10.0.0.1', true],
  ['::ffff:10.0.0.0/104', '10.0.0.1', true],
  ['10.0.0.1/32', '10.0.0.1', true],
  ['::/0', '10.0.0.1', false],
  ['0.0.0.0/0', '::1', false],
  ['0.0.0.0/0', '8.8.8.8', true],
  ['2001:db8::/32', '2001:db8:1::1', true],
  ['2001:db8::/33', '2001:db8:8000::1', false],
  ['10.0.0.0/8', 'nonsense', false],
  ['10.0.0.0/8', '10.0.0.0/24', false],
])('%s contains %s: %s', (text, address, expected) => {
  const block = parseCidr(text)
  expect(block && contains(block, address)).toBe(expected)
})

test('an address matches any block of a list, and invalid blocks match nothing', () => {
  expect(isAddressInAny(['garbage', '10.0.0.0/8', '192.168.1.1'], '192.168.1.1')).toBe(true)
  expect(isAddressInAny(['garbage', '10.0.0.0/8'], '192.168.1.1')).toBe(false)
  expect(isAddressInAny([], '192.168.1.1')).toBe(false)
})

test.each([
  [['10.1.0.0/16'], ['10.0.0.0/8'], true],
  [['10.0.0.0/8'], ['10.0.0.0/8'], true],
  [['10.0.0.0/7'], ['10.0.0.0/8'], false],
  [['10.1.0.0/16', '11.0.0.0/16'], ['10.0.0.0/8'], false],
  [['10.1.0.0/16', '11.0.0.0/16'], ['10.0.0.0/8', '11.0.0.0/8'], true],
  [['::1'], ['::/64'], true],
  [['2001:db8::1/128'], ['2001:db8::1'], true],
  [['2001:db8::2/128'], ['2001:db8::1'], false],
  [['10.0.0.0/8'], ['::/0'], false],
  [['::ffff:10.0.0.0/112'], ['10.0.0.0/8'], true],
  [['10.0.0.0/8'], ['0.0.0.0/0'], true],
  [['10.0.0.0/8'], ['1.0.0.0/0'], false],
  [['1.0.0.0/0'], ['0.0.0.0/0'], false],
  [['garbage'], ['0.0.0.0/0'], false],
  [['10.0.0.0/8'], ['10.0.0.0/9', '10.128.0.0/9'], true],
  [['10.0.0.0/8'], ['10.128.0.0/9', '10.0.0.0/10', '10.64.0.0/10'], true],
  [['10.0.0.0/8'], ['10.0.0.0/9', '10.128.0.0/10'], false],
  [['10.0.0.0/8'], ['10.0.0.0/9', '10.129.0.0/9', '10.0.0.1'], true],
  [['0.0.0.0/0'], ['0.0.0.0/1', '128.0.0.0/1'], true],
  [['::/0'], ['::/1', '8000::/1'], true],
  [['::/0'], ['::/1', '8000::/2', '0.0.0.0/0'], false],
])('%j inside %j: %s', (children, parents, expected) => {
  expect(areSubsets(children, parents)).toBe(expected)
})

test('the subset check of ten thousand blocks in ten thousand others is fast', () => {
  const blocks = (last: string) =>
    Array.from({ length: 10_000 }, (_, n) => `${1 + (n % 200)}.${2 * Math.trunc(n / 200)}.0.${last}`)
  const startMs = process.cpuUsage().user
  expect(areSubsets(blocks('0/25'), blocks('0/24'))).toBe(true)
  expect(areSubsets([...blocks('0/25'), '250.0.0.1'], blocks('0/24'))).toBe(false)
  // Comparing all pairs takes several seconds.
  expect((process.cpuUsage().user - startMs) / 1000).toBeLessThan(1500)
})

describe('an address with a mask', () => {
  it.each([
    ['0a000000ff000000', '10.0.0.0/8'],
    ['0a000001ffffffff', '10.0.0.1/32'],
    [`20010db8${'0'.repeat(24)}${'f'.repeat(8)}${'0'.repeat(24)}`, '2001:db8::/32'],
    ['0a000000ff00ff00', undefined],
    ['0a0000', undefined],
    ['', undefined],
  ])('%s is %s', (hex, block) => {
    expect(maskedBlock(Buffer.from(hex, 'hex'))).toBe(block)
  })
})
