import { expect, test } from 'vitest'
import { RawNumber } from '../../../src/base/json.js'
import { LIMITS } from '../../../src/base/limits.js'
import type { JsonValue } from '../../../src/logical/json.js'
import type { IncomingRequest, Rendered } from '../../../src/logical/incoming.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import {
  decodeRelayedAnswer,
  encodeRelayFailure,
  encodeRendered,
} from '../../../src/replication/forwarding/relayed-answer.js'
import { decodeRelayed, encodeRelayed } from '../../../src/replication/forwarding/relayed-request.js'
import { refusalCodeOf } from '../../../src/replication/rpc/refusal.js'

/** The path of a request from a standby to the active node, and of its response. */

const REQUEST: IncomingRequest = {
  id: 'r1',
  operation: 'list',
  path: 'ns1/kv/',
  namespace: ROOT_NAMESPACE,
  namespaceHeader: 'ns1',
  data: { a: [1, 'ä', null], big: new RawNumber('12345678901234567890') },
  headers: { 'x-vault-token': 'hvs.secret', 'x-two': ['a', 'b'] },
  remoteAddress: '2001:db8::1',
  remotePort: 65_535,
  peerCertificates: [Buffer.from('leaf'), Buffer.from([0, 255])],
  clientToken: 'hvs.secret',
  wrap: { ttlSeconds: 60, format: 'jwt' },
  isHead: true,
  bodyBytes: 17,
  withheld: ['version', 'addresses', 'cluster-name', 'replication-status'],
}

test('a relayed request equals the one that the standby received', async () => {
  const { request, asks, waitMs } = decodeRelayed(await encodeRelayed({ request: REQUEST, asks: 'rights', waitMs: 5 }))
  expect({ ...request, data: { ...request.data }, headers: { ...request.headers } }).toEqual(REQUEST)
  expect(Object.getPrototypeOf(request.data)).toBeNull()
  expect([asks, waitMs]).toEqual(['rights', 5])
})

test('a relayed request without token, namespace and wrapping has none', async () => {
  const bare = { ...REQUEST, clientToken: undefined, namespaceHeader: undefined, wrap: undefined, remoteAddress: '' }
  const { request, asks } = decodeRelayed(await encodeRelayed({ request: bare, asks: 'answer', waitMs: 5 }))
  expect(request).toMatchObject({
    clientToken: undefined,
    namespaceHeader: undefined,
    wrap: undefined,
    remoteAddress: '',
  })
  expect(asks).toBe('answer')
})

test('a relayed request can have a body and headers of maximum size', async () => {
  const nested = (depth: number): JsonValue => (depth === 0 ? 1 : [nested(depth - 1)])
  const data = { deep: nested(LIMITS.jsonDepthMax - 1) }
  const headers = { 'x-long': '\u00e9'.repeat(LIMITS.headerBytesMax - 'x-long'.length) }
  const token = '\u00e9'.repeat(LIMITS.headerBytesMax)
  const large = { ...REQUEST, data, headers, clientToken: token }
  const { request } = decodeRelayed(await encodeRelayed({ request: large, asks: 'answer', waitMs: 5 }))
  expect({ ...request.data }).toEqual(data)
  expect({ ...request.headers }).toEqual(headers)
  expect(request.clientToken).toBe(token)
  const deeper = { ...large, data: { deep: nested(LIMITS.jsonDepthMax) } }
  const sent = await encodeRelayed({ request: deeper, asks: 'answer', waitMs: 5 })
  expect(() => decodeRelayed(sent)).toThrow('has an invalid text')
})

const JUNK: readonly (readonly [string, unknown])[] = [
  ['waitMs', -1],
  ['peerCertificates', 'AAAA'],
  ['peerCertificates', [1]],
  ['peerCertificates', ['A'.repeat(LIMITS.clientCertificateCharactersMax + 1)]],
  ['waitMs', undefined],
  ['operation', 'constructor'],
  ['operation', undefined],
  ['path', 5],
  ['path', 'x'.repeat(LIMITS.headerBytesMax + 1)],
  ['remoteAddress', 'here'],
  ['remotePort', -1],
  ['clientToken', 5],
  ['namespaceHeader', {}],
  ['wrap', { ttlSeconds: '60', format: 'token' }],
  ['wrap', { ttlSeconds: 60, format: 'other' }],
  ['data', []],
  ['bodyRefusal', { code: 'internal', message: 'x' }],
  ['asks', undefined],
  ['headers', 'x'],
  ['withheld', 'version'],
  ['withheld', ['version', 'all']],
]

test.each(JUNK)('a relayed request whose %s is %j is rejected with a code', async (name, value) => {
  const whole = JSON.parse(String(await encodeRelayed({ request: REQUEST, asks: 'answer', waitMs: 5 })))
  try {
    decodeRelayed(Buffer.from(JSON.stringify({ ...whole, [name]: value })))
    expect.unreachable()
  } catch (error) {
    expect(refusalCodeOf(error)).toBe('invalid')
  }
})

const ANSWERS: readonly Rendered[] = [
  { status: 204, contentType: 'application/json', headers: {}, body: '' },
  { status: 200, contentType: 'application/json', headers: { 'X-Vault-Index': 'i' }, body: '{"a":"ä\\n"}\n\n' },
  { status: 200, contentType: 'application/octet-stream', headers: {}, body: Buffer.from([0, 10, 255, 10]) },
]

test.each(ANSWERS)('a relayed response %j arrives byte for byte', (answer) => {
  const { body, ...head } = decodeRelayedAnswer(encodeRendered(answer)).open()
  const { body: sent, ...sentHead } = answer
  expect(head).toEqual(sentHead)
  expect(body).toEqual(Buffer.from(sent as string))
})

test('a relayed endless response is rejected, not truncated', () => {
  const body = (async function* () {
    yield Buffer.from('x')
  })()
  expect(() => encodeRendered({ status: 200, contentType: 'x', headers: {}, body })).toThrow(LogicalError)
})

test('a relayed error has all its fields', () => {
  const error = new LogicalError('not-found', 'text', { wrapped: true, data: { keys: [1] }, headers: { A: 'b' } })
  const { code, message, wrapped, data, headers } = error
  expect(() => decodeRelayedAnswer(encodeRelayFailure(error)).open()).toThrow(
    expect.objectContaining({ code, message, wrapped, data, headers }),
  )
})

test('a relayed response or error has the log index, if known', () => {
  const [answer] = ANSWERS
  if (!answer) throw new Error('no answers')
  const error = new LogicalError('not-found', 'text')
  const indexOf = (payload: Buffer) => decodeRelayedAnswer(payload).index
  expect([encodeRendered(answer, 7), encodeRelayFailure(error, 8)].map(indexOf)).toEqual([7, 8])
  expect([encodeRendered(answer), encodeRelayFailure(error)].map(indexOf)).toEqual([undefined, undefined])
})
