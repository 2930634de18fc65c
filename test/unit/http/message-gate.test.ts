import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MessageGate } from '../../../src/http/message-gate.js'

/** The server's end of a connection in memory: pieces arrive exactly as they are pushed. */
class Wire extends Duplex {
  written = ''
  onWritten = () => {}

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.written += chunk.toString('latin1')
    this.onWritten()
    done()
  }

  setTimeout(): this {
    return this
  }
}

interface Seen {
  readonly verb: string
  readonly url: string
  readonly body: string
}

/** Feeds `pieces` to Node's parser through a gate; answers come when `turn` lets them. */
const feed = async (pieces: readonly Buffer[], expectedCount: number, turn: () => Promise<void>) => {
  const wire = new Wire()
  const seen: Seen[] = []
  let open = 0
  let mostOpen = 0
  const server = createServer({ requireHostHeader: false })
  server.on('connection', (socket: Socket) => {
    const gate = new MessageGate(socket)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (!gate.begin(request, response)) throw new Error('two messages at once')
      const verb = gate.isList ? 'LIST' : (request.method ?? '')
      const chunks: Buffer[] = []
      mostOpen = Math.max(mostOpen, ++open)
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', async () => {
        await turn()
        seen.push({ verb, url: request.url ?? '', body: Buffer.concat(chunks).toString('latin1') })
        open--
        response.end('ok')
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
  return { seen, mostOpen, written: wire.written, isCut: wire.destroyed }
}

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

/** Cuts `text` at any places at all. */
const split = (text: string, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...places]
    .map((place, index) => Buffer.from(text.slice(place, places[index]), 'latin1'))
    .filter((piece) => piece.length > 0)
}

describe('the gate in front of the parser', () => {
  const seed = Date.now() % 2 ** 31
  it(`lets LIST through at the start of a message and nowhere else, one message at a time (seed ${seed})`, async () => {
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

  it('passes a message that comes byte by byte', async () => {
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

  it('holds what is pipelined until the answer before it was sent', async () => {
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
