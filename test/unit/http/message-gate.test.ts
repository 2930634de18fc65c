import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FastLane } from '../../../src/http/connection/fast-lane.js'
import { MessageGate } from '../../../src/http/connection/message-gate.js'
import { findParserHooks, parserOf } from '../../../src/http/connection/parser-hooks.js'

/** The server's end of a connection in memory: chunks arrive exactly as they are pushed. */
class Wire extends Duplex {
  written = ''
  onWritten = () => {}

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.written += chunk.toString('latin1')
    this.onWritten()
    done()
  }

  timeout = 0
  longestTimeout = 0

  setTimeout(ms: number): this {
    this.timeout = ms
    this.longestTimeout = Math.max(this.longestTimeout, ms)
    return this
  }
}

interface Seen {
  readonly verb: string
  readonly url: string
  readonly body: string
}

const hooks = findParserHooks()

/** Feeds `pieces` to Node's parser through a gate with a fast lane. Responses are sent when `turn` resolves. */
const feed = async (pieces: readonly Buffer[], expectedCount: number, turn: () => Promise<void>) => {
  const wire = new Wire()
  const seen: Seen[] = []
  let open = 0
  let mostOpen = 0
  let fastCount = 0
  /** The idle timeout of the connection whenever a fast-lane message was served. */
  const timeouts: number[] = []
  const answer = async (message: Seen, end: () => void) => {
    await turn()
    seen.push(message)
    open--
    end()
  }
  const server = createServer({ requireHostHeader: false })
  server.on('connection', (socket: Socket) => {
    const lane = FastLane.over(socket, hooks)
    if (!lane) throw new Error("Node's parser has changed")
    const gate = new MessageGate(socket, {
      lane,
      serve: ({ method: verb, url, body }, response) => {
        fastCount++
        timeouts.push(wire.timeout)
        mostOpen = Math.max(mostOpen, ++open)
        void answer({ verb, url, body: body.toString('latin1') }, () => response.send(HEAD, 'ok', false))
      },
    })
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (!gate.begin(request, response)) throw new Error('two messages at once')
      const verb = gate.isList ? 'LIST' : (request.method ?? '')
      const chunks: Buffer[] = []
      mostOpen = Math.max(mostOpen, ++open)
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('latin1')
        void answer({ verb, url: request.url ?? '', body }, () => response.end('ok'))
      })
    })
  })
  server.emit('connection', wire)
  const answered = new Promise<void>((resolve, reject) => {
    wire.once('error', reject)
    wire.once('close', resolve)
    wire.onWritten = () => {
      if (seen.length >= expectedCount && wire.written.split('HTTP/1.1 ').length > expectedCount) resolve()
    }
  })
  for (const piece of pieces) {
    wire.push(piece)
    await turn()
  }
  if (expectedCount > 0) await answered
  wire.destroy()
  return {
    seen,
    mostOpen,
    fastCount,
    timeouts,
    longestTimeout: wire.longestTimeout,
    written: wire.written,
    isCut: wire.destroyed,
  }
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'

const tick = () => new Promise<void>((resolve) => setImmediate(resolve))

const bytes = fc
  .array(
    fc.constantFrom(
      'LIST ',
      'LINK ',
      '\r\n',
      '\r\n\r\n',
      'LIST /v1/x HTTP/1.1\r\n\r\n',
      '0\r\n\r\n',
      'L',
      'a',
      '\n\n',
      '{"k":"LIST "}',
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

const chunked = (body: string, size: number): string => {
  let text = ''
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size)
    text += `${part.length.toString(16)}\r\n${part}\r\n`
  }
  return `${text}0\r\n\r\n`
}

const message = fc.record({
  verb: fc.constantFrom('GET', 'LIST', 'PUT', 'POST', 'LINK', 'DELETE', 'LOCK'),
  url: fc.constantFrom('/v1/a', '/LIST ', '/v1/LIST', '/v1/LINK/a').map((url) => url.replaceAll(' ', '%20')),
  body: bytes,
  framing: fc.constantFrom('none', 'sized', 'chunked'),
  chunkSize: fc.integer({ min: 1, max: 12 }),
  header: fc.constantFrom('X: LIST ', 'X: a', 'X-LIST: LIST /v1/x'),
  before: fc.constantFrom('', '', '\r\n', '\r\n\r\n'),
})
type Message = typeof message extends fc.Arbitrary<infer T> ? T : never

const bodyOf = ({ framing, body }: Message): string => (framing === 'none' ? '' : body)

const printMessage = (sent: Message): string => {
  const head = `${sent.before}${sent.verb} ${sent.url} HTTP/1.1\r\nHost: a\r\n${sent.header}\r\n`
  if (sent.framing === 'none') return `${head}\r\n`
  if (sent.framing === 'sized') return `${head}Content-Length: ${sent.body.length}\r\n\r\n${sent.body}`
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunked(sent.body, sent.chunkSize)}`
}

/** Splits `text` at arbitrary positions. */
const split = (text: string, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...places]
    .map((place, index) => Buffer.from(text.slice(place, places[index]), 'latin1'))
    .filter((piece) => piece.length > 0)
}

describe('the gate in front of the parser', () => {
  const seed = Date.now() % 2 ** 31
  it(`the gate replaces LIST only at the start of a message, one message at a time (seed ${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(2000), { maxLength: 30 }),
        async (messages, cuts) => {
          const { seen, mostOpen } = await feed(split(messages.map(printMessage).join(''), cuts), messages.length, tick)
          expect(seen).toEqual(messages.map((sent) => ({ verb: sent.verb, url: sent.url, body: bodyOf(sent) })))
          expect(mostOpen).toBe(1)
        },
      ),
      { seed, numRuns: 400 },
    )
  })

  it('the gate passes a message that arrives byte by byte', async () => {
    const text =
      'LIST /v1/a HTTP/1.1\r\nHost: a\r\n\r\nPUT /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nLIST \r\n0\r\n\r\n'
    const { seen } = await feed(
      [...Buffer.from(text)].map((byte) => Buffer.from([byte])),
      2,
      tick,
    )
    expect(seen).toEqual([
      { verb: 'LIST', url: '/v1/a', body: '' },
      { verb: 'PUT', url: '/b', body: 'LIST ' },
    ])
  })

  it('the gate holds a pipelined message until the previous response is sent', async () => {
    const releases: (() => void)[] = []
    const turns = { free: 1 }
    const turn = () => (turns.free-- > 0 ? tick() : new Promise<void>((resolve) => releases.push(resolve)))
    const text = 'GET /1 HTTP/1.1\r\n\r\nLIST /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n'
    const done = feed([Buffer.from(text)], 3, turn)
    for (const count of [1, 1, 1]) {
      while (releases.length < count) await tick()
      expect(releases).toHaveLength(1)
      releases.shift()?.()
    }
    const { seen, mostOpen } = await done
    expect(seen.map(({ verb, url }) => verb + url)).toEqual(['GET/1', 'LIST/2', 'GET/3'])
    expect(mostOpen).toBe(1)
  })
})

const manyHeaders = (count: number): string => Array.from({ length: count }, (_, n) => `X-${n}: a\r\n`).join('')

const PLAIN = { verb: 'PUT', target: '/v1/a', headers: 'Content-Length: 2\r\n', body: '{}' }

describe('the fast lane', () => {
  it.each([
    ['a plain message', {}, 1],
    ['LIST', { verb: 'LIST', headers: '', body: '' }, 1],
    ['one that says what is so anyway', { headers: 'Connection: Keep-Alive\r\nContent-Length: 2\r\n' }, 1],
    ['many headers', { headers: `Content-Length: 2\r\n${manyHeaders(20)}` }, 1],
    ['a header that comes twice', { headers: 'Content-Length: 2\r\nX-A: b\r\nx-a: b\r\n' }, 0],
    ['more headers than the parser says at once', { headers: `Content-Length: 2\r\n${manyHeaders(40)}` }, 0],
    ['a body in chunks', { headers: 'Transfer-Encoding: chunked\r\n', body: '2\r\n{}\r\n0\r\n\r\n' }, 0],
    ['another path', { target: '/v2/a' }, 0],
    ['an absolute target', { target: 'http://a/v1/a' }, 0],
    ['LINK', { verb: 'LINK', headers: '', body: '' }, 0],
    ['a verb of no API', { verb: 'LOCK', headers: '', body: '' }, 0],
    ['a name of every object', { headers: 'Content-Length: 2\r\nconstructor: x\r\n' }, 0],
  ])('the fast path: %s', async (_, changed, expectedCount) => {
    const { verb, target, headers, body } = { ...PLAIN, ...changed }
    const text = `${verb} ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`
    const { seen, fastCount } = await feed([Buffer.from(text)], 1, tick)
    expect(seen).toEqual([{ verb, url: target, body: body === '' ? '' : '{}' }])
    expect(fastCount).toBe(expectedCount)
  })

  it('a late body takes the full path, and the next message takes the fast path again', async () => {
    const plain = 'PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'
    const pieces = [plain.slice(0, -1), `}${plain}`, plain].map((piece) => Buffer.from(piece))
    const { seen, fastCount } = await feed(pieces, 3, tick)
    expect(seen.map(({ body }) => body)).toEqual(['{}', '{}', '{}'])
    expect(fastCount).toBe(2)
  })

  it('the fast path is exempt from the timeout of Node between two messages', async () => {
    const pieces = ['GET /v2/a', 'GET /v1/a'].map((start) => Buffer.from(`${start} HTTP/1.1\r\nHost: a\r\n\r\n`))
    const { timeouts, longestTimeout } = await feed(pieces, 2, tick)
    expect(longestTimeout).toBeGreaterThan(0)
    expect(timeouts).toEqual([0])
  })

  it('the fast path restores the parser of Node', async () => {
    const parsers = new Set<unknown>()
    const callbacks: unknown[][] = []
    const server = createServer()
    const { head = -1, body = -1, end = -1 } = hooks ?? {}
    for (let round = 0; round < 3; round++) {
      const wire = new Wire()
      server.emit('connection', wire)
      const parser = parserOf(wire)
      parsers.add(parser)
      callbacks.push([parser?.[head], parser?.[body], parser?.[end]])
      FastLane.over(wire as unknown as Socket, hooks)
      expect(parser?.[head]).not.toBe(callbacks[0]?.[0])
      const closed = new Promise((resolve) => wire.once('close', resolve))
      wire.destroy()
      await closed
    }
    expect(parsers.size).toBe(1)
    expect(callbacks[1]).toEqual(callbacks[0])
    expect(callbacks[2]).toEqual(callbacks[0])
  })
})
