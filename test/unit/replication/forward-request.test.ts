import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { decodeRequest } from '../../../src/replication/forwarding/forward-request.js'
import { toStatus } from '../../../src/replication/rpc/grpc/status.js'
import { refusalCodeOf } from '../../../src/replication/rpc/refusal.js'

const GOOD = {
  id: 'r',
  operation: 'update',
  path: 'secret/a',
  namespace: { id: 'root', path: '' },
  data: {},
  headers: { 'x-trace': ['a', 'b'] },
  remoteAddress: '10.0.0.1',
  remotePort: 5,
}

const decode = (text: string) => decodeRequest(Buffer.from(text))

/** One field at a time gets another value; `undefined` removes it. */
const JUNK: readonly (readonly [keyof typeof GOOD, unknown])[] = [
  ...['id', 'path', 'remoteAddress'].flatMap((name) =>
    [undefined, null, 5, {}, ['x'], true].map((value) => [name as keyof typeof GOOD, value] as const),
  ),
  ...[undefined, null, 'list', 'help', 'UPDATE', 'constructor', 5, {}].map((v) => ['operation', v] as const),
  ...[undefined, null, 'root', [], { id: 'root' }, { path: '' }, { id: 1, path: '' }].map(
    (v) => ['namespace', v] as const,
  ),
  ...[undefined, null, 'x', 5, 1.5, [], true].map((v) => ['data', v] as const),
  ...[undefined, null, [], 'x', { a: 1 }, { a: { b: 'c' } }, { a: [1] }].map((v) => ['headers', v] as const),
  ...[undefined, null, '5', -1, 65_536, 1.5].map((v) => ['remotePort', v] as const),
  ['path', ''],
  ['path', 'x'.repeat(LIMITS.headerBytesMax + 1)],
  ['id', 'x'.repeat(LIMITS.requestIdBytesMax + 1)],
  ['headers', { a: 'x'.repeat(LIMITS.headerBytesMax) }],
  ['headers', Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`header-${n}`, '']))],
  ['remoteAddress', 'not an address'],
]

test('a request of a secondary is decoded unchanged', () => {
  expect(decode(JSON.stringify(GOOD))).toMatchObject({ ...GOOD, clientToken: undefined, wrap: undefined })
})

test.each(JUNK)('a forwarded request whose %s is %j is rejected with a code', (name, value) => {
  const refuse = () => decode(JSON.stringify({ ...GOOD, [name]: value }))
  expect(refuse).toThrow(/^a forwarded request has an invalid \w+$/)
  try {
    refuse()
  } catch (error) {
    expect(refusalCodeOf(error)).toBe('invalid')
    expect(toStatus(error).code).toBe(3)
  }
})

test.each(['', 'x', 'null', '5', '"x"', '[]', '{', '\u0000', '['.repeat(400) + ']'.repeat(400), '{"id":1e400}'])(
  'a forwarded request that is %j is rejected with a code',
  (text) => {
    expect(() => decode(text)).toThrow(/^a forwarded request has an invalid \w+$/)
  },
)

test('tokens and permissions in a forwarded request are ignored', () => {
  const headers = { 'x-vault-token': 'hvs.x', cookie: 'c', 'x-trace': 't' }
  const claimed = {
    clientToken: 'hvs.x',
    token: { isRoot: true },
    wrap: { ttlSeconds: 5, format: 'jwt' },
    visibility: {},
  }
  const decoded = decode(JSON.stringify({ ...GOOD, ...claimed, headers }))
  expect(decoded.headers).toEqual({ 'x-trace': 't' })
  expect([decoded.clientToken, decoded.token, decoded.wrap, decoded.visibility]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
