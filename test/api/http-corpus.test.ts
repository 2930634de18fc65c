import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acknowledge, startFace } from '../unit/http/face-fixture.js'
import { RawClient } from '../unit/http/raw-client.js'

/**
 * Malformed input as bytes, generated from tables. The response must be JSON with a status below 500, or a closed
 * connection. It must always arrive, and must never repeat a secret of the request.
 */
const CANARY = 'hvs.CanaryCanaryCanary1234'

interface Case {
  readonly name: string
  readonly bytes: Buffer
  readonly verb: string
}

const bytes = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text, 'latin1') : text)

const VERBS = [
  'GET',
  'PUT',
  'POST',
  'PATCH',
  'DELETE',
  'LIST',
  'HEAD',
  'LINK',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'M-SEARCH',
  'get',
  'list',
  'LISTS',
  'LIS',
  'FOO',
  'CONNECT',
  'PRI',
  '',
  '\0',
  'LIST\t',
]
const TARGETS = [
  '/v1/secret/a',
  '/v1/',
  '/v1',
  '/',
  '*',
  '//',
  '',
  '/v1/../x',
  '/v1/%2e%2e/x',
  '/v1/a%00b',
  '/v1/%ff',
  '/v1/%zz',
  '/v1/a//b///c',
  '/v1/%E2%80%AE',
  'http://h/v1/a',
  'http://[bad/v1/a',
  'v1/a',
  '/v1/a?list=yes',
  '/v1/a?x=%zz',
  '/v1/a#fragment',
  '/v1/\u00ff\u00fe',
  `/v1/${'a'.repeat(20_000)}`,
  `/v1/${'a/'.repeat(9000)}`,
  '/v1/a?__proto__=1',
  '/v1/a b',
  '/v1/a\tb',
  '/v1/sys/health?activecode=1',
  '/_understudy/v1/info',
  '/v1/a?list=true&list=no',
]
const crossed: Case[] = VERBS.flatMap((verb) =>
  TARGETS.map((target) => ({
    name: `${JSON.stringify(verb)} ${JSON.stringify(target.slice(0, 40))}`,
    verb,
    bytes: bytes(`${verb} ${target} HTTP/1.1\r\nHost: a\r\nX-Vault-Token: ${CANARY}\r\nContent-Length: 0\r\n\r\n`),
  })),
)

const HEADERS: readonly (readonly string[])[] = [
  [],
  ['Host: a', 'Host: b'],
  ['Host:'],
  ['Host: a', 'Content-Length: -1'],
  ['Host: a', 'Content-Length: +1'],
  ['Host: a', 'Content-Length: 1e3'],
  ['Host: a', 'Content-Length: 0x10'],
  ['Host: a', 'Content-Length: 99999999999999999999999'],
  ['Host: a', 'Content-Length: 33554433'],
  ['Host: a', 'Content-Length: 0', 'Content-Length: 0'],
  ['Host: a', 'Content-Length: 0, 0'],
  ['Host: a', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
  ['Host: a', 'Transfer-Encoding: chunked, chunked'],
  ['Host: a', 'Transfer-Encoding: identity'],
  ['Host: a', 'Transfer-Encoding: gzip, chunked'],
  ['Host: a', 'Transfer-Encoding: chunked, gzip'],
  ['Host: a', 'Transfer-Encoding: xchunked'],
  ['Host: a', 'Transfer-Encoding : chunked'],
  ['Host: a', 'Transfer-Encoding:\x0bchunked'],
  ['Host: a', 'Transfer-Encoding: CHUNKED'],
  ['Host: a', 'Content-Encoding: gzip'],
  ['Host: a', 'Content-Encoding: br, gzip'],
  ['Host: a', 'Expect: 100-continue'],
  ['Host: a', 'Expect: 200-ok'],
  ['Host: a', 'Connection: close'],
  ['Host: a', 'Connection: upgrade', 'Upgrade: websocket'],
  ['Host: a', 'Connection: upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
  ['Host: a', `X-Vault-Token: ${CANARY}\x01`],
  ['Host: a', `X-Vault-Token: ${CANARY}\xff`],
  ['Host: a', `X-Vault-Token: ${CANARY}`, `X-Vault-Token: ${CANARY}`],
  ['Host: a', `Authorization: Bearer ${CANARY}`],
  ['Host: a', `Authorization: ${CANARY}`],
  ['Host: a', `X-Vault-Wrap-TTL: ${CANARY}`],
  ['Host: a', 'X-Vault-Wrap-TTL: -1'],
  ['Host: a', 'X-Vault-Wrap-TTL: 99999999999999999999h'],
  ['Host: a', `Content-Type: ${'a'.repeat(10_000)}`],
  ['Host: a', 'Content-Type: application/x-www-form-urlencoded'],
  ['Host: a', 'Content-Type: multipart/form-data; boundary=x'],
  ['Host: a', `Cookie: ${CANARY}`],
  ['Host: a', 'If-None-Match: *', 'If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT'],
  ['Host: a', 'Range: bytes=0-1'],
  ['Host: a', 'X-A: b', ' folded'],
  ['Host: a', 'no colon at all'],
  ['Host: a', ': no name'],
  ['Host: a', 'X A: blank in name'],
  ['Host: a', '__proto__: x', 'constructor: y'],
  ['Host: a', `X-Large: ${'x'.repeat(33_000)}`],
  ['Host: a', ...Array.from({ length: 3000 }, (_, index) => `X-${index}: y`)],
  ['Host: a', 'X-Forwarded-For: nobody, ::1, 999.1.1.1'],
  ['Host: a', 'X-HTTP-Method-Override: DELETE'],
]
const withHeaders: Case[] = ['GET', 'PUT', 'LIST', 'PATCH'].flatMap((verb) =>
  HEADERS.map((headers, index) => ({
    name: `${verb} with headers ${index} ${JSON.stringify(headers.slice(-1)).slice(0, 50)}`,
    verb,
    bytes: bytes(`${verb} /v1/secret/a HTTP/1.1\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`),
  })),
)

const BODIES: readonly (string | Buffer)[] = [
  `{"token":"${CANARY}"`,
  `{"token":"${CANARY}",}`,
  `["${CANARY}"]`,
  `"${CANARY}"`,
  CANARY,
  `token=${CANARY}`,
  `{"token":"${CANARY}"}{"x":1}`,
  `{"token":"${CANARY}\u0001"}`,
  `{"__proto__":{"token":"${CANARY}"},"constructor":{"prototype":1}}`,
  '['.repeat(100_000),
  '{"a":'.repeat(100_000),
  `{"a":${'['.repeat(301)}${']'.repeat(301)}}`,
  `{"n":${'9'.repeat(10_000)}}`,
  '{"n":1e999999}',
  '{"a":"\\ud800"}',
  '{"a":"\\u0000"}',
  '\ufeff{}',
  Buffer.from([0xff, 0xfe, 0x00]),
  Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x1f, 0x8b, 0x08, 0x00]),
  Buffer.alloc(1000),
  'null',
  ' ',
  'LIST /v1/secret/a HTTP/1.1\r\nHost: a\r\n\r\n',
  `GET /v1/secret/a HTTP/1.1\r\nHost: a\r\nX-Vault-Token: ${CANARY}\r\n\r\n`,
  '%%%=%ff&=&&&',
]
const TYPES = ['', 'application/json', 'application/x-www-form-urlencoded', 'application/merge-patch+json']
const withBodies: Case[] = BODIES.flatMap((body, index) =>
  TYPES.flatMap((type) =>
    ['PUT', 'PATCH', 'GET', 'LIST'].map((verb) => ({
      name: `${verb} with body ${index} as ${JSON.stringify(type)}`,
      verb,
      bytes: Buffer.concat([
        bytes(
          `${verb} /v1/secret/a HTTP/1.1\r\nHost: a\r\n${type === '' ? '' : `Content-Type: ${type}\r\n`}Content-Length: ${bytes(body).length}\r\n\r\n`,
        ),
        bytes(body),
      ]),
    })),
  ),
)

const CHUNKS = [
  'zz\r\n',
  '-1\r\n',
  '5\r\nab',
  '5;ext=1\r\nhello\r\n0\r\n\r\n',
  `1;${'x'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
  '5\r\nhelloX\r\n',
  '0\r\nTrailer: x\r\n\r\n',
  `0\r\nX-Vault-Token: ${CANARY}\r\n\r\n`,
  'FFFFFFFFFFFFFFFFF\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\nGET /v1/x HTTP/1.1\r\n\r\n',
  '2\n{}\n0\n\n',
  '0x2\r\n{}\r\n0\r\n\r\n',
  '\r\n\r\n',
  '2\r\n{}\r\n0\r\nbad trailer\r\n\r\n',
]
const withChunks: Case[] = CHUNKS.map((chunk) => ({
  name: `chunks ${JSON.stringify(chunk.slice(0, 40))}`,
  verb: 'PUT',
  bytes: bytes(`PUT /v1/secret/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`),
}))

const STARTS = [
  '',
  '\r\n\r\n\r\n',
  'L',
  'LIST',
  'LIST ',
  'LISTLIST /v1/a HTTP/1.1\r\n\r\n',
  'LIST  /v1/a HTTP/1.1\r\nHost: a\r\n\r\n',
  'LIST /v1/a\r\n\r\n',
  'GET /v1/a\r\n\r\n',
  'GET /v1/a HTTP/0.9\r\n\r\n',
  'GET /v1/a HTTP/1.0\r\n\r\n',
  'GET /v1/a HTTP/2.0\r\n\r\n',
  'GET /v1/a HTTP/1.1\nHost: a\n\n',
  'GET /v1/a HTTP/1.1\rHost: a\r\r',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${CANARY}`,
  `${CANARY}\r\n\r\n`,
  'HTTP/1.1 200 OK\r\n\r\n',
  ' GET /v1/a HTTP/1.1\r\n\r\n',
  'GET /v1/a HTTP/1.1 X\r\nHost: a\r\n\r\n',
  '\0\0\0\0',
  '\xff\xfe\xfd',
  'GET  /v1/a  HTTP/1.1\r\nHost: a\r\n\r\n',
]
const starts: Case[] = STARTS.map((start) => ({
  name: `start ${JSON.stringify(start.slice(0, 40))}`,
  verb: 'GET',
  bytes: bytes(start),
}))

const CASES = [...crossed, ...withHeaders, ...withBodies, ...withChunks, ...starts]

/** Number of simultaneous connections. */
const PARALLEL = 24

describe('bad input', () => {
  let face: Awaited<ReturnType<typeof startFace>>
  beforeAll(async () => {
    const refuse = (problem: string) => () => {
      throw new Error(problem)
    }
    face = await startFace({
      handle: acknowledge,
      log: {
        trace() {},
        debug() {},
        info() {},
        warn() {},
        error: refuse('the front logged an error'),
        with: refuse('with'),
      },
      limits: { headerReadMs: 500, bodyReadMs: 500, idleMs: 1500, bodyBytesMax: 1 << 20 },
    })
  })
  afterAll(() => face.server.close(1000))

  /** The bare address responds with the welcome text. */
  const WELCOME = /^"(?:GET|HEAD)" "\/"$/

  const complaints = async ({ name, bytes: sent, verb }: Case): Promise<string[]> => {
    const client = await RawClient.connect(face.address)
    await client.send(sent)
    const answer = await client.answer(verb)
    client.destroy()
    if (!answer) return client.rest === '' ? [] : [`${name}: closed after ${JSON.stringify(client.rest.slice(0, 80))}`]
    const found: string[] = []
    if (!(answer.status >= 200 && answer.status < 500)) found.push(`${name}: status ${answer.status}`)
    const isWelcome = WELCOME.test(name)
    const isRedirect = answer.status === 307 && (verb === 'GET' || verb === 'HEAD')
    const html = isRedirect ? 'text/html; charset=utf-8' : undefined
    const media = isWelcome ? 'text/plain; charset=utf-8' : (html ?? 'application/json')
    if (answer.headers['content-type'] !== media) found.push(`${name}: ${answer.headers['content-type']}`)
    if (answer.headers['cache-control'] !== 'no-store') found.push(`${name}: may be cached`)
    if (!isWelcome && !isRedirect && answer.body !== '' && !isJson(answer.body))
      found.push(`${name}: ${answer.body.slice(0, 80)}`)
    if (`${answer.body}${JSON.stringify(answer.headers)}`.includes('Canary')) found.push(`${name}: repeats a secret`)
    return found
  }

  it(`malformed input gets a JSON response below 500, or a closed connection (${CASES.length} cases)`, async () => {
    expect(CASES.length).toBeGreaterThan(300)
    const found: string[] = []
    const waiting = [...CASES]
    const work = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) found.push(...(await complaints(next)))
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    expect(found).toEqual([])
  })

  it('malformed input does not affect the server', async () => {
    const client = await RawClient.connect(face.address)
    await client.send('LIST /v1/secret HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(JSON.parse((await client.answer())?.body ?? '')).toMatchObject({ data: { operation: 'list' } })
    client.destroy()
  })
})

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
