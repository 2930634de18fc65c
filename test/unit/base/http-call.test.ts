import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { callHttp, type HttpCall } from '../../../src/base/http-call.js'
import { createApiCertificates } from '../../../src/crypto/certificates.js'

const servers: net.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const listen = async (server: net.Server): Promise<number> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Starts a server that answers every connection with these bytes, and closes it. */
const answering = async (bytes: string): Promise<string> => {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(bytes))
  })
  return `http://127.0.0.1:${await listen(server)}/`
}

const get = (url: string, call: Partial<HttpCall> = {}) => callHttp({ method: 'GET', url, timeoutMs: 5000, ...call })

describe('an answer of a hostile server', () => {
  it.each(['000', '099', '101'])('a response with the status %s fails only its call', async (status) => {
    await expect(get(await answering(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`))).rejects.toThrow(
      /malformed HTTP response|closed|hang up|Parse Error/,
    )
  })

  it('a call reads a response up to its limit', async () => {
    const url = await answering(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1001)}`)
    await expect(get(url, { bytesMax: 1000 })).rejects.toThrow('the response is too large: the limit is 1000 bytes')
    expect((await get(url, { bytesMax: 1001 })).bytes).toHaveLength(1001)
  })

  it('a response whose body ends early fails its call', async () => {
    await expect(get(await answering('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'))).rejects.toThrow()
  })

  it('endless interim responses fail a call after its timeout', async () => {
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined)
      const more = () => socket.writable && socket.write('HTTP/1.1 102 Wait\r\n\r\n', more)
      socket.once('data', more)
    })
    const url = `http://127.0.0.1:${await listen(server)}/`
    await expect(get(url, { timeoutMs: 100 })).rejects.toThrow('no response within 100 ms')
  })
})

describe('a redirect', () => {
  const seen: { url: string; token: unknown; body: string }[] = []
  afterEach(() => void seen.splice(0))

  const redirecting = (to: () => string): http.RequestListener => {
    return async (request, response) => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      seen.push({ url: request.url ?? '', token: request.headers['x-vault-token'], body })
      if (request.url === '/end') return response.end('end')
      return response.writeHead(307, { Location: to() }).end()
    }
  }

  const secured = async (to: () => string): Promise<string> => {
    const { certificate, privateKey } = await createApiCertificates(['127.0.0.1'], Date.now())
    return `https://127.0.0.1:${await listen(https.createServer({ cert: certificate, key: privateKey }, redirecting(to)))}`
  }
  const plain = async (to: () => string) => `http://127.0.0.1:${await listen(http.createServer(redirecting(to)))}`

  const call = { redirectsMax: 1, tls: { rejectUnauthorized: false } }
  const secrets = { headers: { 'X-Vault-Token': 't' }, body: 'secret' }

  it('a redirect to the same server is followed with token and body, up to the limit of the call', async () => {
    const origin = await plain(() => '/end')
    expect(String((await get(`${origin}/x`, { ...call, ...secrets })).bytes)).toBe('end')
    expect(seen).toEqual(['/x', '/end'].map((url) => ({ url, token: 't', body: 'secret' })))
    expect(await get(`${origin}/x`)).toMatchObject({ status: 307 })
  })

  it('a redirect from https to http is rejected before anything is sent', async () => {
    const target = await plain(() => '/end')
    const origin = await secured(() => `${target}/end`)
    await expect(get(`${origin}/x`, call)).rejects.toThrow('redirect would cause protocol downgrade')
    expect(seen.map(({ url }) => url)).toEqual(['/x'])
  })

  it.each([
    ['a token', { headers: { 'x-vault-token': 't' } }],
    ['a body', { body: 'password' }],
    ['a lab token', { headers: { 'X-Understudy-Token': 't' } }],
  ])('a redirect to another port is rejected for a request with %s', async (_, secret) => {
    const target = await plain(() => '/end')
    const origin = await plain(() => `${target}/end`)
    const sent = get(`${origin}/x`, { ...call, ...secret })
    await expect(sent).rejects.toThrow(
      `redirect to ${target}: tokens and request bodies are not sent to another server`,
    )
    expect(seen.map(({ url }) => url)).toEqual(['/x'])
  })

  it('a redirect to another server is followed if the request has no secrets', async () => {
    const target = await secured(() => '/end')
    const origin = await plain(() => `${target}/end`)
    expect(String((await get(`${origin}/x`, call)).bytes)).toBe('end')
  })

  it.each(['http://[', 'file:///etc/passwd'])('a redirect to %s fails the call', async (location) => {
    await expect(get(await plain(() => location), call)).rejects.toThrow(/redirect/)
  })
})
