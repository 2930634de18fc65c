import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { parseCidrOrAddress } from '../../../src/base/cidr.js'
import { createApiCertificates } from '../../../src/crypto/certificates.js'
import type { HttpServerOptions } from '../../../src/http/http-server.js'
import { renderAnswer } from '../../../src/logical/envelope.js'
import { WAYS } from '../../unit/http/face-fixture.js'

/** PROXY protocol headers on real listeners, before HTTP or TLS, in packets of any size. */
const V1 = 'PROXY TCP4 192.0.2.7 198.51.100.1 55555 443\r\n'
const V2 = Buffer.from('0d0a0d0a000d0a515549540a2111001ac0000207c6336401d90301bb04000b6162636465666768696a6b', 'hex')
const V2_IPV6 = Buffer.from(
  `0d0a0d0a000d0a515549540a21210024${'20010db8000000000000000000000007'.repeat(2)}d90301bb`,
  'hex',
)
const V2_LOCAL = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')
const REQUEST = 'GET /v1/t/a HTTP/1.1\r\nHost: a\r\n\r\n'
const OTHERS = [parseCidrOrAddress('10.0.0.0/8')].filter((block) => block !== undefined)
const OURS = [parseCidrOrAddress('10.0.0.0/8'), parseCidrOrAddress('127.0.0.1')].filter((block) => block !== undefined)

let pair: { cert: string; key: string }
beforeAll(async () => {
  const { certificate: cert, privateKey: key } = await createApiCertificates(['localhost'], systemClock.now())
  pair = { cert, key }
})

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})

/** Resolves when a connection is closed. */
const closed = (socket: net.Socket): Promise<undefined> =>
  new Promise((resolve) => {
    socket.resume()
    if (socket.destroyed) resolve(undefined)
    else socket.once('close', () => resolve(undefined))
  })

describe.each(WAYS)('PROXY protocol %s', (_way, startFace) => {
  describe.each([
    ['HTTP', false],
    ['HTTPS', true],
  ])('%s', (_name, isTls) => {
    const start = async (options: Partial<HttpServerOptions> = {}) => {
      const face = await startFace({
        handle: async (request) => {
          face.requests.push(request)
          const { remoteAddress, remotePort, data } = request
          return renderAnswer(request, { data: { remoteAddress, remotePort, fields: data } })
        },
        proxyProtocol: { authorizedAddrs: undefined, refusesOthers: false },
        ...(isTls && { tls: () => pair }),
        ...options,
      })
      open.push(face)
      return face
    }

    /** Opens a connection and sends these pieces. */
    const dial = async (address: string, ...pieces: readonly (string | Buffer)[]) => {
      const socket = net.connect({ port: Number(address.split(':').at(-1)), host: '127.0.0.1', noDelay: true })
      socket.on('error', () => {})
      await once(socket, 'connect')
      for (const piece of pieces) await new Promise((sent) => socket.write(piece, sent))
      open.push({ [Symbol.asyncDispose]: async () => void socket.destroy() })
      return socket
    }

    /** Returns the socket for HTTP: the connection itself, or TLS over it. */
    const secured = async (socket: net.Socket): Promise<net.Socket> => {
      if (!isTls) return socket
      const secure = tls.connect({ socket, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] })
      secure.on('error', () => {})
      await once(secure, 'secureConnect')
      return secure
    }

    /** Sends a request. Resolves to undefined if the connection was closed. */
    const ask = async (socket: net.Socket, request: string | Buffer = REQUEST) => {
      const answered = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))))
      socket.write(request)
      const answer = await Promise.race([closed(socket), answered])
      return answer && JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).data
    }

    it.each([
      ['version 1', V1, { remoteAddress: '192.0.2.7', remotePort: 55_555 }],
      ['version 2 with TLVs', V2, { remoteAddress: '192.0.2.7', remotePort: 55_555 }],
      ['version 2 with IPv6', V2_IPV6, { remoteAddress: '2001:db8::7', remotePort: 55_555 }],
    ])('a request has the address and the port of its PROXY header: %s', async (_version, header, client) => {
      const { address } = await start()
      const socket = await secured(await dial(address, header))
      expect(await ask(socket)).toMatchObject(client)
      // One header applies to the complete connection.
      expect(await ask(socket)).toMatchObject(client)
    })

    it.each([
      ['no header', Buffer.alloc(0)],
      ['a header of version 1 that names nothing', 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'],
      ['a local header of version 2', V2_LOCAL],
    ])('a request has the address of its connection after %s', async (_case, header) => {
      const { address } = await start()
      const dialled = await dial(address, header)
      const { localPort } = dialled
      expect(await ask(await secured(dialled))).toMatchObject({ remoteAddress: '127.0.0.1', remotePort: localPort })
    })

    it.each([V1, V2])('a PROXY header can arrive byte by byte', async (header) => {
      const { address } = await start()
      const socket = await dial(address, ...Array.from(Buffer.from(header), (byte) => Buffer.from([byte])))
      expect(await ask(await secured(socket))).toMatchObject({ remoteAddress: '192.0.2.7' })
    })

    it('a PROXY header has the declared length, even with 64 KiB of unused bytes', async () => {
      const { address } = await start()
      const header = Buffer.concat([V2.subarray(0, 14), Buffer.from('ffff', 'hex'), V2.subarray(16, 28)])
      const rest = Buffer.alloc(65_535 - 12, 'GET / HTTP/1.1\r\n\r\n')
      const socket = await dial(address, header, rest.subarray(0, 5), rest.subarray(5))
      expect(await ask(await secured(socket))).toMatchObject({ remoteAddress: '192.0.2.7', remotePort: 55_555 })
    })

    it('a PROXY header is used only from an authorized sender', async () => {
      for (const [authorizedAddrs, remoteAddress] of [
        [OURS, '192.0.2.7'],
        [OTHERS, '127.0.0.1'],
      ] as const) {
        const { address } = await start({ proxyProtocol: { authorizedAddrs, refusesOthers: false } })
        for (const header of [V1, V2])
          expect(await ask(await secured(await dial(address, header)))).toMatchObject({ remoteAddress })
      }
    })

    it('the connection of an unauthorized sender is closed, with and without a PROXY header', async () => {
      const { address, requests } = await start({ proxyProtocol: { authorizedAddrs: OTHERS, refusesOthers: true } })
      for (const header of [V1, V2, '']) await closed(await dial(address, header))
      expect(requests).toEqual([])
    })

    it('the connection of an authorized sender is accepted if others are rejected', async () => {
      const { address } = await start({ proxyProtocol: { authorizedAddrs: OURS, refusesOthers: true } })
      expect(await ask(await secured(await dial(address, V1)))).toMatchObject({ remoteAddress: '192.0.2.7' })
      expect(await ask(await secured(await dial(address)))).toMatchObject({ remoteAddress: '127.0.0.1' })
    })

    it.each([
      ['a malformed line', 'PROXY TCP4 192.0.2.7 here 1 2\r\n'],
      ['a line without an end', `PROXY UNKNOWN ${'f'.repeat(200)}`],
      ['an unknown version', Buffer.from('0d0a0d0a000d0a515549540a3111000c', 'hex')],
    ])('a connection with a malformed PROXY header is closed: %s', async (_case, header) => {
      const { address, requests } = await start()
      const socket = await dial(address, header, REQUEST)
      await closed(socket)
      expect(requests).toEqual([])
    })

    it.each([
      ['no byte', ''],
      ['the beginning of version 1', 'PROXY TCP4 192.'],
      ['the addresses, and not the rest', V2.subarray(0, 30)],
    ])('a connection is closed if its PROXY header is incomplete at the timeout: %s', async (_case, bytes) => {
      const { address } = await start({ limits: { handshakeMs: 50 } })
      const socket = await dial(address, bytes)
      await closed(socket)
    })

    it('a client that closes its direction within a PROXY header is disconnected', async () => {
      const { address } = await start()
      const socket = await dial(address, V1.slice(0, 20))
      socket.end()
      await closed(socket)
    })

    it('a reset within a PROXY header affects no other connection', async () => {
      const { address } = await start()
      const socket = await dial(address, V1.slice(0, 20))
      socket.resetAndDestroy()
      expect(await ask(await secured(await dial(address, V1)))).toMatchObject({ remoteAddress: '192.0.2.7' })
    })

    it('a server can be closed while it waits for a PROXY header', async () => {
      const { address, server } = await start()
      const waiting = await Promise.all([
        dial(address),
        dial(address, V1.slice(0, 20)),
        dial(address, V2.subarray(0, 30)),
      ])
      // Connections are accepted in the order in which they were made.
      expect(await ask(await secured(await dial(address, V1)))).toBeDefined()
      await server.close(1000)
      for (const socket of waiting) await closed(socket)
    })

    it('X-Forwarded-For is accepted according to the address of the PROXY header', async () => {
      const settings = { hopSkips: 0, rejectNotPresent: false, rejectNotAuthorized: false }
      const forwarded = 'GET /v1/t/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n'
      for (const [block, remoteAddress] of [
        ['192.0.2.0/24', '203.0.113.9'],
        ['127.0.0.0/8', '192.0.2.7'],
      ] as const) {
        const authorizedAddrs = [parseCidrOrAddress(block)].filter((one) => one !== undefined)
        const { address } = await start({ forwardedFor: { ...settings, authorizedAddrs } })
        expect(await ask(await secured(await dial(address, V1)), forwarded)).toMatchObject({ remoteAddress })
      }
    })
  })

  it('a request in the same packet as its PROXY header gets a response, even from a half-closed client', async () => {
    const face = await startFace({ proxyProtocol: { authorizedAddrs: undefined, refusesOthers: false } })
    open.push(face)
    const post = 'POST /v1/t/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"a":"b"}'
    for (const header of ['', V1, V2]) {
      for (const isEnded of [false, true]) {
        const socket = net.connect({ port: Number(face.address.split(':').at(-1)), host: '127.0.0.1' })
        const bytes = Buffer.concat([Buffer.from(header), Buffer.from(REQUEST), Buffer.from(post)])
        if (isEnded) socket.end(bytes)
        else socket.write(bytes)
        let received = ''
        for await (const chunk of socket) {
          received += chunk
          if (!isEnded && received.includes('"a":"b"')) break
        }
        expect(received.match(/HTTP\/1.1 200/g)).toHaveLength(2)
        expect(face.requests.at(-1)).toMatchObject({ remoteAddress: header === '' ? '127.0.0.1' : '192.0.2.7' })
      }
    }
  })

  it('a TLS handshake in the same packet as its PROXY header succeeds', async () => {
    const settings = { authorizedAddrs: undefined, refusesOthers: false }
    const face = await startFace({ proxyProtocol: settings, tls: () => pair })
    open.push(face)
    const raw = net.connect({ port: Number(face.address.split(':').at(-1)), host: '127.0.0.1' })
    raw.cork()
    raw.write(V2)
    const secure = tls.connect({ socket: raw, rejectUnauthorized: false })
    raw.uncork()
    await once(secure, 'secureConnect')
    secure.write(REQUEST)
    expect(String((await once(secure, 'data'))[0])).toContain('HTTP/1.1 200')
    expect(face.requests.at(-1)).toMatchObject({ remoteAddress: '192.0.2.7', remotePort: 55_555 })
    secure.destroy()
  })

  it('a TLS listener answers a plain request with 400, with and without a PROXY header', async () => {
    const settings = { authorizedAddrs: undefined, refusesOthers: false }
    const face = await startFace({ proxyProtocol: settings, tls: () => pair })
    open.push(face)
    for (const header of ['', V1]) {
      const socket = net.connect({ port: Number(face.address.split(':').at(-1)), host: '127.0.0.1' })
      socket.write(header + REQUEST)
      expect(String((await once(socket, 'data'))[0])).toContain('HTTP/1.0 400')
      socket.destroy()
    }
  })

  it('a second PROXY header is a bad request', async () => {
    const face = await startFace({ proxyProtocol: { authorizedAddrs: undefined, refusesOthers: false } })
    open.push(face)
    const socket = net.connect({ port: Number(face.address.split(':').at(-1)), host: '127.0.0.1' })
    socket.write(V1 + V1 + REQUEST)
    expect(String((await once(socket, 'data'))[0])).toContain('HTTP/1.1 400')
    socket.destroy()
    expect(face.requests).toEqual([])
  })

  it('a PROXY header is a bad request for a listener without the PROXY protocol', async () => {
    const face = await startFace()
    open.push(face)
    const socket = net.connect({ port: Number(face.address.split(':').at(-1)), host: '127.0.0.1' })
    socket.write(V1 + REQUEST)
    expect(String((await once(socket, 'data'))[0])).toContain('HTTP/1.1 400')
    socket.destroy()
    expect(face.requests).toEqual([])
  })
})
