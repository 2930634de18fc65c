import { describe, expect, it } from 'vitest'
import type { Log } from '../../../src/base/log.js'
import { silentLog } from '../../../src/base/log.js'
import { findParserHooks } from '../../../src/http/connection/parser-hooks.js'
import type { Rendered } from '../../../src/logical/incoming.js'
import { startFace } from './face-fixture.js'
import { RawClient } from './raw-client.js'

/** Returns the raw response to each message on one connection, without its date. */
const answersTo = async (messages: readonly string[], handle: (path: string) => Rendered, isFast: boolean) => {
  const findHooks = isFast ? findParserHooks : () => undefined
  await using face = await startFace({ handle: async ({ path }) => handle(path), findHooks })
  const answers: string[] = []
  for (const message of messages) {
    const client = await RawClient.connect(face.address)
    await client.send(message)
    await client.answer(message.split(' ')[0])
    client.destroy()
    answers.push(client.raw.replace(/Date: [^\r]+/, 'Date: now'))
  }
  return answers
}

const GET = (name: string): string => `GET /v1/${name} HTTP/1.1\r\nHost: a\r\n\r\n`

const OK: Rendered = { status: 200, contentType: 'application/json', body: '{"a":1}', headers: {} }
const ANSWERS: Readonly<Record<string, Rendered>> = {
  plain: OK,
  empty: { ...OK, status: 204, body: '', headers: { 'X-Vault-Index': 'i' } },
  text: { ...OK, body: '{"a":"\u00e4\u20ac"}' },
  latin: { ...OK, body: '{"a":"\u00e4"}' },
  large: { ...OK, body: `"${'x'.repeat(100_000)}"` },
  largeText: { ...OK, body: `"${'\u20ac'.repeat(30_000)}"` },
  bytes: { ...OK, contentType: 'application/gzip', body: Buffer.from([0, 255, 13, 10]) },
  odd: { ...OK, status: 473 },
  unchanged: { ...OK, status: 304, body: '' },
}

describe("the fast lane and Node's server", () => {
  it('the fast path and the full path give the same bytes', async () => {
    const gets = Object.keys(ANSWERS).map((name) => GET(name))
    const messages = [
      ...gets,
      'HEAD /v1/sys/health HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /v1/plain HTTP/1.1\r\nHost: a\r\nX-Vault-Namespace: n1/\r\n\r\n',
      'GET /v1/text HTTP/1.1\r\nHost: a\r\nX-Vault-Namespace: n1/\r\n\r\n',
      'GET /v1/plain HTTP/1.1\r\n\r\n',
      'GET /v1/../plain HTTP/1.1\r\nHost: a\r\n\r\n',
      'PUT /v1/plain HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{',
    ]
    const handle = (path: string) => ANSWERS[path] ?? OK
    const fast = await answersTo(messages, handle, true)
    expect(fast).toEqual(await answersTo(messages, handle, false))
    expect(fast[0]).toContain('Keep-Alive: timeout=300')
  })

  it('the fast path echoes a namespace as it was sent', async () => {
    const message = 'GET /v1/text HTTP/1.1\r\nHost: a\r\nX-Vault-Namespace: n\u00e4/\r\n\r\n'
    const [answer = ''] = await answersTo([message], (path) => ANSWERS[path] ?? OK, true)
    expect(Buffer.from(answer, 'latin1').toString()).toContain('X-Vault-Namespace: n\u00e4/\r\n')
  })

  it('the fast path and the full path reject an invalid header', async () => {
    const messages = [GET('bad-value'), GET('bad-name')]
    const bad: Readonly<Record<string, Rendered>> = {
      'bad-value': { ...OK, headers: { 'X-A': 'a\r\nX-B: b' } },
      'bad-name': { ...OK, headers: { 'X A': 'a' } },
    }
    for (const isFast of [true, false]) {
      for (const answer of await answersTo(messages, (path) => bad[path] ?? OK, isFast)) {
        expect(answer).toMatch(/^HTTP\/1.1 500 /)
        expect(answer).not.toContain('X-B')
      }
    }
  })

  it('the log reports the full path if the parser is unknown', async () => {
    const logged: string[] = []
    const log: Log = { ...silentLog, debug: (message) => logged.push(message) }
    await using fast = await startFace({ log, findHooks: findParserHooks })
    expect(logged).toEqual([])
    await using slow = await startFace({ log, findHooks: () => undefined })
    expect(logged).toEqual([expect.stringContaining('the fast lane is disabled')])
    expect(fast.address).not.toBe(slow.address)
  })
})
