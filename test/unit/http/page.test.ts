import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFace } from './face-fixture.js'

/** The path of a server's page among its other paths. The content of the page is tested in a browser. */

const PAGE = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<title>page</title>',
  headers: { 'X-Page': 'yes' },
}

let face: Awaited<ReturnType<typeof startFace>>
beforeAll(async () => {
  face = await startFace({ page: (path, accept) => (path === '/ui/' && accept.includes('html') ? PAGE : undefined) })
})
afterAll(() => face.server.close(1000))

const open = async (method: string, path: string, accept = 'text/html') => {
  const response = await fetch(face.url + path, { method, headers: { Accept: accept } })
  return { status: response.status, page: response.headers.get('x-page'), body: await response.text() }
}

describe('the page of a server', () => {
  it('the server page is readable, and rejects other methods', async () => {
    expect(await open('GET', '/ui/')).toEqual({ status: 200, page: 'yes', body: PAGE.body })
    expect(await open('HEAD', '/ui/')).toEqual({ status: 200, page: 'yes', body: '' })
    expect(await open('POST', '/ui/')).toMatchObject({ status: 404, page: null })
  })

  it('other paths and other clients get their usual answer beside the server page', async () => {
    expect(await open('GET', '/')).toMatchObject({ status: 200, page: null })
    expect(await open('GET', '/ui/', 'application/json')).toMatchObject({ status: 200, page: null })
    expect(await open('GET', '/v1/ui/')).toMatchObject({
      status: 200,
      page: null,
      body: expect.stringContaining('"path":"ui/"'),
    })
  })
})
