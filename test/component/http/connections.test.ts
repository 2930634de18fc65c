import { connect, createServer } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { silentLog } from '../../../src/base/log.js'
import { parseCipherSuites } from '../../../src/server/config/listeners.js'
import type { TlsSettings } from '../../../src/http/connection/tls.js'
import type { IncomingRequest, Rendered } from '../../../src/logical/incoming.js'
import { acknowledge, WAYS } from '../../unit/http/face-fixture.js'
import { RawClient } from '../../unit/http/raw-client.js'

describe.each(WAYS)('HTTP %s', (_way, startFace) => {
  const GET = 'GET /v1/a HTTP/1.1\r\nHost: a\r\n\r\n'
  const OK: Rendered = { status: 200, contentType: 'application/json', body: '{}', headers: {} }

  /** Returns a handler that responds when `answer` is called. */
  const held = () => {
    let answer = () => {}
    let arrived = () => {}
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const handle = (_: IncomingRequest): Promise<Rendered> =>
      new Promise((resolve) => {
        answer = () => resolve(OK)
        arrived()
      })
    return { handle, hasArrived, answer: () => answer() }
  }

  describe('an HTTP connection', () => {
    it('one connection serves any mix of verbs and bodies in sequence', async () => {
      await using face = await startFace()
      const client = await RawClient.connect(face.address)
      const body = '{"text":"LIST /v1/b HTTP/1.1\\r\\n\\r\\nLIST "}'
      for (let round = 0; round < 20; round++) {
        for (const [verb, sent] of [
          ['LIST', ''],
          ['PUT', body],
          ['GET', ''],
          ['DELETE', ''],
          ['POST', body],
          ['LIST', ''],
          ['LINK', ''],
        ] as const) {
          await client.send(`${verb} /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`)
          const answer = await client.answer()
          if (verb === 'LINK') expect(answer).toMatchObject({ status: 405, body: '{"errors":[]}' })
          else if (sent === '') expect(answer?.status).toBe(200)
          else expect(JSON.parse(answer?.body ?? '').data.fields).toEqual(JSON.parse(body))
        }
      }
      client.destroy()
    })

    it('a connection stays usable after an error', async () => {
      await using face = await startFace()
      const client = await RawClient.connect(face.address)
      for (const [target, status] of [
        ['/nowhere', 404],
        ['/v1/%2E%2E/a', 400],
        ['/v1/a?list=yes', 400],
        ['/v1/a', 200],
      ] as const) {
        await client.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)
        expect((await client.answer())?.status).toBe(status)
      }
      client.destroy()
    })

    it('a connection delivers the rejection of an unfinished body and closes', async () => {
      await using face = await startFace({ limits: { bodyBytesMax: 1000 } })
      const client = await RawClient.connect(face.address)
      await client.send(`PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n${'x'.repeat(500_000)}`)
      expect(await client.answer()).toMatchObject({ status: 413, headers: { connection: 'close' } })
      client.end()
      await client.closed()
    })

    it('a client may close its connection at any point', async () => {
      const { handle, hasArrived, answer } = held()
      await using face = await startFace({ handle })
      const midway = await RawClient.connect(face.address)
      await midway.send('PUT /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{')
      midway.destroy()
      const waiting = await RawClient.connect(face.address)
      await waiting.send(GET)
      await hasArrived
      waiting.destroy()
      await waiting.closed()
      answer()
      const other = await RawClient.connect(face.address)
      await other.send('GET /other HTTP/1.1\r\nHost: a\r\n\r\n')
      expect((await other.answer())?.status).toBe(404)
      other.destroy()
    })
  })

  describe('a streamed response', () => {
    /** Sends a request for this body. Returns the client, the server and the logged errors. */
    const asking = async (body: AsyncIterable<Buffer>) => {
      const logged: string[] = []
      const face = await startFace({
        handle: async () => ({ status: 200, contentType: 'application/gzip', body, headers: {} }),
        log: { ...silentLog, error: (message) => logged.push(message) },
      })
      const client = await RawClient.connect(face.address)
      await client.send(GET)
      return { client, face, logged }
    }

    it('a streamed response ends with its client, and no error is logged', async () => {
      let end = () => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      const body = async function* () {
        try {
          for (;;) yield Buffer.alloc(65_536)
        } finally {
          end()
        }
      }
      const { client, face, logged } = await asking(body())
      await using _ = face
      client.destroy()
      await ended
      await face.server.close(1000)
      expect(logged).toEqual([])
    })

    it('a streamed response whose source fails is logged and cut, so that it appears incomplete', async () => {
      const body = async function* () {
        yield Buffer.from('begun')
        throw new Error('the disk is gone')
      }
      const { client, face, logged } = await asking(body())
      await using _ = face
      expect(await client.answer()).toBeUndefined()
      expect(logged).toEqual(['a request failed with an internal error'])
    })
  })

  describe('a closing server', () => {
    it('a closing server finishes requests in flight and ends idle connections', async () => {
      const { handle, hasArrived, answer } = held()
      const { server, address } = await startFace({ handle })
      const idle = await RawClient.connect(address)
      await idle.send('GET /other HTTP/1.1\r\nHost: a\r\n\r\n')
      await idle.answer()
      const busy = await RawClient.connect(address)
      await busy.send(GET)
      await hasArrived
      const closed = server.close(60_000)
      await idle.closed()
      await expect(RawClient.connect(address)).rejects.toThrow(/ECONNREFUSED/)
      answer()
      expect(await busy.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } })
      busy.end()
      await closed
    })

    it('a closing server cuts requests that do not finish in time', async () => {
      const { handle, hasArrived } = held()
      const { server, address } = await startFace({ handle })
      const busy = await RawClient.connect(address)
      await busy.send(GET)
      await hasArrived
      await server.close(10)
      expect(await busy.answer()).toBeUndefined()
    })

    it('a server that never listened can be closed', async () => {
      const { server } = await startFace()
      await server.close(0)
      await server.close(0)
    })
  })

  describe('an idle connection', () => {
    it.each([
      ['a plain message', ''],
      ['one with another header twice', 'X-A: a\r\nX-A: b\r\n'],
    ])('an idle connection ends after %s, and a busy one stays', async (_, header) => {
      const { handle, hasArrived, answer } = held()
      const clock = new ManualClock()
      await using face = await startFace({ clock, handle, limits: { idleMs: 60_000, requestMs: 1_000_000 } })
      const client = await RawClient.connect(face.address)
      await client.send(`GET /v1/a HTTP/1.1\r\nHost: a\r\n${header}\r\n`)
      await hasArrived
      clock.advance(600_000)
      answer()
      expect((await client.answer())?.status).toBe(200)
      clock.advance(60_000)
      await client.send('GET /other HTTP/1.1\r\nHost: a\r\n\r\n')
      expect((await client.answer())?.status).toBe(404)
      clock.advance(62_000)
      await client.closed()
    })

    it('an idle connection ends even after a partial verb', async () => {
      const clock = new ManualClock()
      await using face = await startFace({ clock, limits: { idleMs: 60_000 } })
      const client = await RawClient.connect(face.address)
      await client.send(`${GET}LIS`)
      await client.answer()
      clock.advance(62_000)
      await client.closed()
    })
  })

  describe('server limits', () => {
    it('a request without a response in time ends with 503', async () => {
      await using face = await startFace({ handle: () => new Promise(() => {}), limits: { requestMs: 50 } })
      const client = await RawClient.connect(face.address)
      await client.send(GET)
      expect(await client.answer()).toMatchObject({ status: 503, body: '{"errors":["the request took too long"]}' })
      client.destroy()
    })

    it('a server closes connections beyond the maximum', async () => {
      await using face = await startFace({ limits: { connectionsMax: 1 } })
      const first = await RawClient.connect(face.address)
      await first.send(GET)
      expect((await first.answer())?.status).toBe(200)
      const second = await RawClient.connect(face.address)
      await second.closed()
      first.destroy()
    })
  })

  describe('listening on an address', () => {
    it('listening on an address in use fails with EADDRINUSE', async () => {
      const other = createServer()
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      const address = other.address()
      if (typeof address !== 'object' || !address) throw new Error('no address')
      const { server } = await startFace()
      await server.close(0)
      await expect(server.listen(`127.0.0.1:${address.port}`)).rejects.toMatchObject({ code: 'EADDRINUSE' })
      other.close()
    })
  })

  const makeCertificate = async (name: string): Promise<TlsSettings> => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: algorithm,
    })
    const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
    return { cert: certificate.toString('pem'), key }
  }

  const peerName = (address: string, client: Partial<TlsSettings> = {}): Promise<string | undefined> =>
    new Promise((resolve) => {
      const [, port] = address.split(':')
      const socket = connectSecurely({ port: Number(port), rejectUnauthorized: false, ...client }, () => {
        const { CN } = socket.getPeerCertificate().subject
        let text = ''
        socket.on('data', (chunk) => {
          text += chunk
          if (text.includes('"operation":"list"')) resolve(String(CN))
          socket.end()
        })
        socket.write('LIST /v1/a HTTP/1.1\r\nHost: a\r\n\r\n')
      })
      socket.on('error', () => resolve(undefined))
      socket.on('close', () => resolve(undefined))
    })

  describe('TLS', () => {
    it('a TLS listener serves LIST, and loads a new certificate without a restart', async () => {
      let settings = await makeCertificate('first')
      await using face = await startFace({ tls: () => settings })
      expect(await peerName(face.address)).toBe('first')
      settings = await makeCertificate('second')
      face.server.reloadTls()
      expect(await peerName(face.address)).toBe('second')
      settings = { cert: 'nonsense', key: 'nonsense' }
      expect(() => face.server.reloadTls()).toThrow()
      expect(await peerName(face.address)).toBe('second')
    })

    it('a TLS listener speaks the versions and cipher suites that its settings allow', async () => {
      const settings = await makeCertificate('server')
      const { ciphers } = parseCipherSuites(['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'])
      const spoken = async (more: Partial<TlsSettings>, maxVersion?: 'TLSv1.2') => {
        await using face = await startFace({ tls: () => ({ ...settings, ...more }) })
        const { hostname, port } = new URL(`http://${face.address}`)
        const options = {
          host: hostname,
          port: Number(port),
          rejectUnauthorized: false,
          ...(maxVersion && { maxVersion }),
        }
        const socket = connectSecurely(options)
        await new Promise((resolve) => socket.once('secureConnect', resolve))
        const found = [socket.getProtocol(), socket.getCipher().name]
        socket.destroy()
        return found
      }
      expect((await spoken({ ciphers }))[0]).toBe('TLSv1.3')
      expect((await spoken({ maxVersion: 'TLSv1.2' }))[0]).toBe('TLSv1.2')
      expect(await spoken({ ciphers }, 'TLSv1.2')).toEqual(['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384'])
    })

    it('a TLS listener answers plain HTTP as Go does', async () => {
      const settings = await makeCertificate('server')
      await using face = await startFace({ tls: () => settings })
      const client = await RawClient.connect(face.address)
      await client.send('GET /v1/sys/health HTTP/1.1\r\nHost: a\r\n\r\n')
      await client.closed()
      expect(client.raw).toBe('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
    })

    it('a TLS listener answers a client that has closed its direction', async () => {
      const settings = await makeCertificate('server')
      await using face = await startFace({
        tls: () => settings,
        handle: async (request) => {
          for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
          return acknowledge(request)
        },
      })
      const { hostname, port } = new URL(`http://${face.address}`)
      const options = { host: hostname, port: Number(port), rejectUnauthorized: false, allowHalfOpen: true }
      const socket = connectSecurely(options)
      socket.end('LIST /v1/a HTTP/1.1\r\nHost: a\r\n\r\n')
      const chunks: Buffer[] = []
      for await (const chunk of socket) chunks.push(chunk as Buffer)
      expect(String(Buffer.concat(chunks))).toMatch(/^HTTP\/1\.1 200 /)
    })

    it('a TLS listener cuts a slow handshake, and no completed one', async () => {
      const settings = await makeCertificate('server')
      await using face = await startFace({ tls: () => settings, limits: { handshakeMs: 1000 } })
      const { hostname, port } = new URL(`http://${face.address}`)
      const good = connectSecurely({ host: hostname, port: Number(port), rejectUnauthorized: false })
      await new Promise((resolve) => good.once('secureConnect', resolve))
      const slow = connect({ host: hostname, port: Number(port) })
      slow.on('error', () => undefined)
      // The beginning of a 16 KiB TLS record with a ClientHello.
      slow.write(Buffer.from([0x16, 0x03, 0x01, 0x40, 0x00]))
      const dripping = setInterval(() => slow.write(Buffer.alloc(1)), 20)
      await new Promise((resolve) => slow.once('close', resolve))
      clearInterval(dripping)
      const answer = new Promise((resolve) => good.once('data', (data) => resolve(String(data).slice(0, 12))))
      good.write(GET)
      expect(await answer).toBe('HTTP/1.1 200')
      good.destroy()
    })

    it('a TLS listener with a client CA accepts its clients, and clients without a certificate unless required', async () => {
      const [server, trusted, untrusted] = await Promise.all(['server', 'trusted', 'untrusted'].map(makeCertificate))
      if (!server || !trusted || !untrusted) throw new Error('no certificates')
      for (const mustPresentCertificate of [false, true]) {
        await using face = await startFace({
          tls: () => ({ ...server, clientCa: trusted.cert, mustPresentCertificate }),
        })
        expect(await peerName(face.address, trusted)).toBe('server')
        expect(await peerName(face.address, untrusted)).toBeUndefined()
        expect(await peerName(face.address)).toBe(mustPresentCertificate ? undefined : 'server')
      }
    })
  })
})
