import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFace } from './face-fixture.js'

let face: Awaited<ReturnType<typeof startFace>>
beforeAll(async () => {
  face = await startFace()
})
afterAll(() => face.server.close(1000))

describe('the address of a server, opened', () => {
  const open = async (method: string, path: string, accept?: string) => {
    const response = await fetch(face.url + path, { method, headers: { ...(accept && { Accept: accept }) } })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }

  it.each(['/', '/ui', '/ui/'])('a server shows a browser at %s a page without loads', async (path) => {
    const before = face.requests.length
    const { status, headers, body } = await open('GET', path, 'text/html,application/xhtml+xml,*/*;q=0.8')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'cache-control': 'no-store',
    })
    expect(body).toContain('<a href="/v1/sys/health">')
    expect(body).not.toMatch(/<(?:script|style|img|link|form|iframe)|https?:|\bon[a-z]+=/)
    expect(face.requests).toHaveLength(before)
  })

  it.each([
    ['application/json', 'application/json'],
    ['*/*', 'text/plain; charset=utf-8'],
    ['image/png', 'text/plain; charset=utf-8'],
  ])('the root of a server responds to a client that accepts %s with %s', async (accept, contentType) => {
    const { status, headers, body } = await open('GET', '/', accept)
    expect([status, headers['content-type']]).toEqual([200, contentType])
    expect(body).toContain('/v1/sys/health')
  })

  it('the root of a server responds to HEAD without a body, and rejects other methods and paths', async () => {
    expect(await open('HEAD', '/', 'text/html')).toMatchObject({ status: 200, body: '' })
    expect((await open('POST', '/')).status).toBe(404)
    expect((await open('GET', '/index.html')).status).toBe(404)
    expect((await open('GET', '/ui/vault')).status).toBe(404)
  })
})
