import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { silentLog } from '../../../src/base/log.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { renderAnswer } from '../../../src/logical/envelope.js'
import type { Rendered } from '../../../src/logical/incoming.js'
import { WAYS } from '../../unit/http/face-fixture.js'
import { RawClient } from '../../unit/http/raw-client.js'

describe.each(WAYS)('HTTP %s', (_way, startFace) => {
  let face: Awaited<ReturnType<typeof startFace>>
  beforeAll(async () => {
    face = await startFace()
  })
  afterAll(() => face.server.close(1000))

  interface Sent {
    readonly headers?: Record<string, string>
    readonly body?: string
  }

  const call = async (verb: string, target: string, { headers = {}, body }: Sent = {}, address = face.address) => {
    const client = await RawClient.connect(address)
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const lines = Object.entries({ Host: 'localhost', ...length, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    await client.send(`${verb} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
    const answer = await client.answer(verb)
    client.destroy()
    if (!answer) throw new Error('the connection closed without an answer')
    const json = answer.body === '' ? undefined : JSON.parse(answer.body)
    return { ...answer, json, errors: json?.errors, data: json?.data }
  }

  describe('a repeated header', () => {
    it.each([
      ['X-Vault-Token: first\r\nx-vault-token: second', { clientToken: 'first' }],
      ['X-Vault-Token: first\r\nX-Vault-Token: second\r\nX-Vault-Token: third', { clientToken: 'first' }],
      ['Authorization: Bearer first\r\nAuthorization: Bearer second', { clientToken: 'first' }],
      ['X-Vault-Token:\r\nX-Vault-Token: second\r\nAuthorization: Bearer other', { clientToken: 'other' }],
      ['X-Vault-Namespace: a/\r\nX-Vault-Namespace: b/', { namespaceHeader: 'a/' }],
      ['X-Vault-Wrap-TTL: 60\r\nX-Vault-Wrap-TTL: nonsense', { wrap: { ttlSeconds: 60, format: 'token' } }],
      ['X-Vault-Wrap-TTL: 60\r\nX-Vault-Wrap-Format: jwt\r\nX-Vault-Wrap-Format: x', { wrap: { format: 'jwt' } }],
    ])('the first of two equal headers counts: %j', async (lines, expected) => {
      const client = await RawClient.connect(face.address)
      await client.send(`GET /v1/t/twice HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`)
      expect((await client.answer())?.status).toBe(200)
      client.destroy()
      expect(face.requests.at(-1)).toMatchObject(expected)
    })

    it('all values of X-Vault-Index are used', async () => {
      const client = await RawClient.connect(face.address)
      await client.send('GET /v1/t/twice HTTP/1.1\r\nHost: a\r\nX-Vault-Index: i\r\nX-Vault-Index: j\r\n\r\n')
      expect((await client.answer())?.status).toBe(200)
      client.destroy()
      expect(face.requests.at(-1)?.headers).toMatchObject({ 'x-vault-index': 'i, j' })
    })
  })

  describe('a half-closed client', () => {
    const body = '{"a":"b"}'
    const sized = `Content-Length: ${body.length}\r\n\r\n${body}`

    it.each([
      ['GET /v1/t/a HTTP/1.1\r\nHost: a\r\n\r\n', 1],
      ['LIST /v1/t/a HTTP/1.1\r\nHost: a\r\n\r\n', 1],
      [`POST /v1/t/a HTTP/1.1\r\nHost: a\r\n${sized}`, 1],
      [`POST /v1/t/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n${body}\r\n0\r\n\r\n`, 1],
      [`PUT /v1/t/a HTTP/1.1\r\nHost: a\r\n${sized}LIST /v1/t/a HTTP/1.1\r\nHost: a\r\n\r\n`, 2],
    ])('a half-closed client gets the response to %j', async (bytes, count) => {
      let isClosed = false
      await using slow = await startFace({
        handle: async (request) => {
          // Both ends are in this process. The server knows of the close after a few turns of the event loop.
          for (let turns = 0; turns < 20; turns += isClosed ? 1 : 0)
            await new Promise((resolve) => setImmediate(resolve))
          return renderAnswer(request, { data: { operation: request.operation } })
        },
      })
      const client = await RawClient.connect(slow.address)
      await client.send(bytes)
      client.end()
      isClosed = true
      for (let n = 0; n < count; n++) expect(await client.answer()).toMatchObject({ status: 200 })
      await client.closed()
    })

    it('a half-closed client with an incomplete message gets 400 or no response', async () => {
      const client = await RawClient.connect(face.address)
      await client.send('POST /v1/t/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{')
      client.end()
      await client.closed()
      expect(client.raw).toMatch(/^(?:HTTP\/1\.1 400 |$)/)
    })
  })

  describe('HTTP methods', () => {
    it.each([
      ['GET', 'read'],
      ['PUT', 'update'],
      ['POST', 'update'],
      ['DELETE', 'delete'],
    ])('%s maps to %s', async (verb, operation) => {
      expect((await call(verb, '/v1/secret/a')).data).toMatchObject({ operation, path: 'secret/a' })
    })

    it.each(['/v1/t/dir', '/v1/t/dir/'])('LIST %s lists the directory', async (target) => {
      expect((await call('LIST', target)).data).toMatchObject({ operation: 'list', path: 't/dir/' })
    })

    it.each(['true', '1', 'T', 'True'])(
      'list=%s turns GET into LIST and is not passed on as a parameter',
      async (value) => {
        expect((await call('GET', `/v1/t/dir?list=${value}&after=x`)).data).toEqual({
          operation: 'list',
          path: 't/dir/',
          fields: { after: 'x' },
        })
      },
    )

    it.each(['list=false', 'list=0', 'list', 'list='])(
      'a GET with %s stays a read and passes the parameter on',
      async (query) => {
        const { data } = await call('GET', `/v1/t/dir/a?${query}`)
        expect(data).toMatchObject({ operation: 'read', path: 't/dir/a', fields: { list: expect.any(String) } })
      },
    )

    it('list=yes is rejected with 400 and an empty list of errors', async () => {
      expect(await call('GET', '/v1/t/dir?list=yes')).toMatchObject({ status: 400, errors: [] })
    })

    it('LIST passes a list parameter on', async () => {
      const { data } = await call('LIST', '/v1/t/dir?list=false')
      expect(data).toMatchObject({ operation: 'list', fields: { list: 'false' } })
    })

    it.each(['LINK', 'PROPFIND', 'TRACE', 'OPTIONS', 'UNLINK', 'PURGE'])(
      '%s is rejected with 405 and an empty list of errors',
      async (verb) => {
        expect(await call(verb, '/v1/t/a')).toMatchObject({ status: 405, errors: [] })
      },
    )

    it('HEAD is allowed only for sys/health', async () => {
      expect(await call('HEAD', '/v1/t/a')).toMatchObject({ status: 405, body: '' })
      expect(await call('HEAD', '/v1/sys/health')).toMatchObject({ status: 200, body: '' })
      expect(face.requests.at(-1)).toMatchObject({ operation: 'read', isHead: true })
    })

    it.each([
      ['POST', 'sys/health'],
      ['LIST', 'sys/health'],
      ['DELETE', 'sys/init'],
      ['POST', 'sys/seal-status'],
      ['POST', 'sys/leader'],
      ['GET', 'sys/unseal'],
      ['GET', 'sys/seal'],
      ['PATCH', 'sys/step-down'],
    ])('%s %s is rejected with 405 and an empty list of errors', async (verb, path) => {
      expect(await call(verb, `/v1/${path}`)).toMatchObject({ status: 405, errors: [] })
    })

    it('PATCH requires application/merge-patch+json', async () => {
      const headers = { 'Content-Type': 'application/merge-patch+json' }
      expect((await call('PATCH', '/v1/t/a', { headers, body: '{"a":1}' })).data).toMatchObject({ operation: 'patch' })
      expect(await call('PATCH', '/v1/t/a', { body: '{}' })).toMatchObject({ status: 400 })
      expect(await call('PATCH', '/v1/t/a', { headers: { 'Content-Type': 'application/json' } })).toMatchObject({
        status: 415,
        errors: ['PATCH requires Content-Type of application/merge-patch+json, provided application/json'],
      })
    })

    it('help=1 requests the help of a path', async () => {
      expect((await call('GET', '/v1/t/a?help=1')).data).toEqual({ operation: 'help', path: 't/a', fields: {} })
      expect((await call('GET', '/v1/t/a?help=')).data).toMatchObject({ operation: 'read' })
    })
  })

  describe('request targets', () => {
    it('a target outside of the API gets 404 and an empty list of errors', async () => {
      for (const target of ['/other', '/v1', '/V1/sys/health', '/v2/x', '*', 'http://h/other']) {
        expect(await call('GET', target)).toMatchObject({ status: 404, errors: [] })
      }
      expect(await call('POST', '/something', { body: '{"a":"b"}' })).toMatchObject({ status: 404, errors: [] })
    })

    it('a target with empty or dot segments is redirected without effect', async () => {
      for (const target of ['/v1/t//a?b=1', '/v1/t/x/../a?b=1', '/v1/t%2F/a?b=1']) {
        const answer = await call('PUT', target, { body: '{}' })
        expect(answer).toMatchObject({ status: 307, body: '', headers: { location: '/v1/t/a?b=1' } })
      }
    })

    it('different spellings of a target give one canonical path', async () => {
      expect((await call('GET', '/v1/t/dir%2Fa%20b')).data).toMatchObject({ path: 't/dir/a b' })
      expect((await call('GET', '/v1/')).data).toMatchObject({ path: '' })
      expect(await call('GET', '/v1/t/dir/%2E%2E/a')).toMatchObject({
        status: 400,
        errors: ['relative paths not supported'],
      })
    })
  })

  describe('request bodies', () => {
    it('the fields of a write come from its body and not from its query', async () => {
      const { data } = await call('POST', '/v1/t/a?k=v', { body: '{"a":1.50}' })
      expect(data.fields).toEqual({ a: 1.5 })
    })

    it('the fields of a read, list or delete come from its query and not from its body', async () => {
      for (const verb of ['GET', 'LIST', 'DELETE']) {
        expect((await call(verb, '/v1/t/a?x=1&x=2', { body: '{"y":1}' })).data.fields).toEqual({ x: ['1', '2'] })
      }
    })

    it('a body keeps the text of its numbers', async () => {
      const { body } = await call('PUT', '/v1/t/a', { body: '{"a":1.50,"b":12345678901234567890}' })
      expect(body).toContain('{"a":1.50,"b":12345678901234567890}')
    })

    it('a malformed body of an endpoint without an envelope has its own error text', async () => {
      expect((await call('PUT', '/v1/sys/unseal', { body: '{"key"' })).errors[0]).toMatch(/^failed to parse JSON input/)
      expect((await call('PUT', '/v1/t/a', { body: '{"key"' })).errors[0]).toMatch(/^error parsing JSON/)
    })

    it('a file in a body reaches the handler as bytes', async () => {
      let file = ''
      await using server = await startFace({
        handle: async ({ readFile }) => {
          file = String(await readFile?.())
          return { status: 204, contentType: '', body: '', headers: {} }
        },
      })
      await call('POST', '/v1/sys/storage/raft/snapshot', { body: '\u001f\u008bnot json' }, server.address)
      expect(file).toBe('\u001f\u008bnot json')
    })

    it('a body over the limit gets 413, with or without a declared length', async () => {
      await using small = await startFace({ limits: { bodyBytesMax: 1000 } })
      const large = `{"k":"${'x'.repeat(1000)}"}`
      expect((await call('PUT', '/v1/a', { body: large }, small.address)).status).toBe(413)
      const headers = { 'Transfer-Encoding': 'chunked' }
      const chunked = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`
      expect((await call('PUT', '/v1/a', { headers: { ...headers }, body: chunked }, small.address)).status).toBe(400)
      const client = await RawClient.connect(small.address)
      await client.send(`PUT /v1/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`)
      expect((await client.answer())?.status).toBe(413)
      expect((await call('PUT', '/v1/a', { body: `{"k":"${'x'.repeat(992)}"}` }, small.address)).status).toBe(200)
    })

    it('the server reads a body after a client sends Expect: 100-continue', async () => {
      const client = await RawClient.connect(face.address)
      await client.send('PUT /v1/t/a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n')
      await client.send('{"a":1}')
      expect((await client.answer())?.status).toBe(200)
      client.destroy()
    })
  })

  describe('responses', () => {
    it('a response has exactly the JSON media type and is never cached, even if empty', async () => {
      const { headers } = await call('GET', '/v1/t/a')
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' })
      expect(Object.keys(headers)).not.toContain('x-powered-by')
      expect(Object.keys(headers)).not.toContain('etag')
      const empty: Rendered = {
        status: 204,
        contentType: 'application/json',
        body: '',
        headers: { 'X-Vault-Index': 'i' },
      }
      await using server = await startFace({ handle: async () => empty })
      const answer = await call('DELETE', '/v1/t/a', {}, server.address)
      expect(answer).toMatchObject({ status: 204, body: '' })
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-type': 'application/json',
        'x-vault-index': 'i',
      })
    })

    it('a response echoes the namespace', async () => {
      const { headers } = await call('GET', '/v1/t/a', { headers: { 'X-Vault-Namespace': 'ns1/' } })
      expect(headers['x-vault-namespace']).toBe('ns1/')
      expect(face.requests.at(-1)?.namespaceHeader).toBe('ns1/')
    })

    it('a response can be a stream', async () => {
      const body = async function* () {
        yield Buffer.from('one ')
        yield Buffer.from('two')
      }
      const handle = async (): Promise<Rendered> => ({
        status: 200,
        contentType: 'application/gzip',
        body: body(),
        headers: {},
      })
      await using server = await startFace({ handle })
      const client = await RawClient.connect(server.address)
      await client.send('GET /v1/a HTTP/1.1\r\nHost: a\r\n\r\n')
      expect(await client.answer()).toMatchObject({ body: 'one two', headers: { 'content-type': 'application/gzip' } })
      client.destroy()
    })

    it('an error response shows the text of a LogicalError and no text of other errors', async () => {
      const errors: unknown[] = [new LogicalError('sealed', 'Vault is sealed'), new Error('hvs.canary')]
      const logged: unknown[] = []
      await using server = await startFace({
        handle: async () => {
          throw errors.shift()
        },
        log: { ...silentLog, error: (message) => logged.push(message) },
      })
      expect(await call('GET', '/v1/a', {}, server.address)).toMatchObject({ status: 503, errors: ['Vault is sealed'] })
      expect(await call('GET', '/v1/a', {}, server.address)).toMatchObject({ status: 500, errors: ['internal error'] })
      expect(logged).toEqual(['a request failed with an internal error'])
    })

    it('the server replaces an invalid status by 400', async () => {
      const statuses = [100, 0, 1000, Number.NaN]
      for (const status of statuses) {
        await using server = await startFace({
          handle: async () => ({ status, contentType: 'application/json', body: '{}', headers: {} }),
        })
        expect((await call('GET', '/v1/sys/health', {}, server.address)).status).toBe(400)
      }
    })
  })

  describe('invalid messages', () => {
    it.each([
      ['no host', 'GET /v1/a HTTP/1.1\r\n\r\n', 400],
      ['a control character in a header', 'GET /v1/a HTTP/1.1\r\nHost: a\r\nX-A: \u0001\r\n\r\n', 400],
      ['an unknown verb', 'FOO /v1/a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
      ['two lengths', 'PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 400],
      [
        'a length and chunks',
        'PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
      ],
      ['a bad chunk', 'PUT /v1/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n', 400],
      ['a folded header', 'GET /v1/a HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n', 400],
      [
        'another transfer encoding',
        'PUT /v1/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
        400,
      ],
      [
        'a compressed body',
        'PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx',
        415,
      ],
      ['another expectation', 'GET /v1/a HTTP/1.1\r\nHost: a\r\nExpect: the-best\r\n\r\n', 417],
      ['headers beyond 32 KiB', `GET /v1/a HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
      ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ])('an invalid message gets a JSON response: %s', async (_, sent, status) => {
      const client = await RawClient.connect(face.address)
      await client.send(sent)
      const answer = await client.answer()
      expect(answer).toMatchObject({
        status,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      })
      expect(JSON.parse(answer?.body ?? '').errors).toBeInstanceOf(Array)
      client.destroy()
    })

    it('a message that is incomplete at the timeout gets 408', async () => {
      await using server = await startFace({ limits: { headerReadMs: 100, bodyReadMs: 200 } })
      for (const sent of [
        'GET /v1/a HTTP/1.1\r\nHost:',
        'PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{',
      ]) {
        const client = await RawClient.connect(server.address)
        await client.send(sent)
        expect((await client.answer())?.status).toBe(408)
        await client.closed()
      }
    })

    it('an invalid pipelined message does not replace the response to the request before it', async () => {
      const waiting: (() => void)[] = []
      await using server = await startFace({
        handle: (request) =>
          new Promise((resolve) => {
            waiting.push(() =>
              resolve({ status: 200, contentType: 'application/json', body: `"${request.path}"`, headers: {} }),
            )
            if (waiting.length === 1) void client.send('NONSENSE\r\n\r\n').then(() => waiting[0]?.())
          }),
      })
      const client = await RawClient.connect(server.address)
      await client.send('GET /v1/good HTTP/1.1\r\nHost: a\r\n\r\n')
      expect(await client.answer()).toMatchObject({ status: 200, body: '"good"' })
      expect(await client.answer()).toMatchObject({ status: 400 })
      await client.closed()
    })
  })

  describe('a parsed request', () => {
    it('a parsed request has all fields that the pipeline needs', async () => {
      await call('POST', '/v1/ns1/auth/approle/login', {
        headers: { 'X-Vault-Token': 't', 'X-Vault-Wrap-TTL': '1h', 'X-Vault-Request': 'true' },
        body: '{"role_id":"r"}',
      })
      expect(face.requests.at(-1)).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: 'update',
        path: 'ns1/auth/approle/login',
        namespace: { id: 'root', path: '' },
        data: { role_id: 'r' },
        remoteAddress: '127.0.0.1',
        remotePort: expect.any(Number),
        clientToken: 't',
        wrap: { ttlSeconds: 3600, format: 'token' },
        isHead: false,
        readFile: undefined,
      })
    })

    it('requests below /_understudy/v1 go to the lab API if it exists, else get 404', async () => {
      await using server = await startFace({
        random: createSeededRandom(1),
        lab: async ({ method, path, query, body }) => ({
          status: 200,
          contentType: 'application/json',
          body: JSON.stringify({ method, path, query, body: body.toString() }),
          headers: {},
        }),
      })
      const answer = await call('POST', '/_understudy/v1/faults/corrupt?x=1', { body: '{}' }, server.address)
      expect(answer.json).toEqual({ method: 'POST', path: 'faults/corrupt', query: { x: '1' }, body: '{}' })
      expect((await call('GET', '/_understudy/v1/info')).status).toBe(404)
    })
  })

  describe('a server that is closed without a drain', () => {
    it('a server that is closed without a drain cuts requests in flight before their response', async () => {
      let answer: (rendered: Rendered) => void = () => undefined
      let isAsked: () => void = () => undefined
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve
      })
      const { server, address } = await startFace({
        handle: () => {
          isAsked()
          return new Promise((resolve) => {
            answer = resolve
          })
        },
      })
      const client = await RawClient.connect(address)
      await client.send('GET /v1/secret/a HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await asked
      const closed = server.close(0)
      answer({ status: 200, contentType: 'application/json', body: '{}', headers: {} })
      await closed
      expect(await client.answer('GET')).toBeUndefined()
    })
  })
})
