import { describe, expect, it } from 'vitest'
import { parseTarget, renderMoved } from '../../../src/http/message/target.js'

describe('the canonical path', () => {
  it.each([
    ['/v1/secret/a', '/v1/secret/a'],
    ['/v1/with%20blank', '/v1/with blank'],
    ['/v1/dir%2Fkey', '/v1/dir/key'],
    ['/v1/%C3%A4', '/v1/ä'],
    ['/v1/\u00c3\u00a4', '/v1/ä'],
    ['/%76%31/a', '/v1/a'],
    ['/v1/a..b/...', '/v1/a..b/...'],
    ['/v1/.hidden', '/v1/.hidden'],
    ['/v1/a+b', '/v1/a+b'],
    ['/v1/%2525', '/v1/%25'],
    ['http://host:8200/v1/a', '/v1/a'],
    ['HTTPS://host/v1/a', '/v1/a'],
    ['http://host', ''],
    ['*', '*'],
  ])('the canonical path of %j is %j', (url, path) => {
    expect(parseTarget(url)).toEqual({ path, query: '' })
  })

  it.each(['/v1/a/%2e%2e/b', '/v1/a%2F..%2Fb', '/v1/a/%2E'])('the canonical path rejects %j as relative', (url) => {
    expect(() => parseTarget(url)).toThrow('relative paths not supported')
  })

  it.each([
    ['/v1//a///b/', '/v1/a/b/'],
    ['//v1/a', '/v1/a'],
    ['/v1/a/../b', '/v1/b'],
    ['/v1/..', '/'],
    ['/../../v1/x', '/v1/x'],
    ['/v1/./a', '/v1/a'],
    ['/v1/a/.', '/v1/a'],
    ['/v1/a/./', '/v1/a/'],
    ['/v1/auth/approle/role/..', '/v1/auth/approle'],
    ['/v1/a%2F%2Fb', '/v1/a/b'],
    ['/v1/auth/approle/role/%2F/secret-id', '/v1/auth/approle/role/secret-id'],
    ['/v1/a%2F/%C3%A4%20%3Fb', '/v1/a/%C3%A4%20%3Fb'],
    ['/v1//a%20b?x=1//&y=..', '/v1/a%20b?x=1//&y=..'],
    ['http://host:8200//v1/a', '/v1/a'],
  ])('the canonical path of %j is at %s', (url, location) => {
    expect(parseTarget(url)).toMatchObject({ location })
  })

  it('a redirect to the canonical path has the body that Go writes', () => {
    expect(renderMoved('GET', '/v1/a?b=1&c=<')).toEqual({
      status: 307,
      contentType: 'text/html; charset=utf-8',
      body: '<a href="/v1/a?b=1&amp;c=&lt;">Temporary Redirect</a>.\n\n',
      headers: { Location: '/v1/a?b=1&c=<' },
    })
    expect(renderMoved('PUT', '/v1/a')).toMatchObject({ status: 307, body: '' })
  })

  it.each(['/v1/a%00', '/v1/a%0a', '/v1/%7f', '/v1/%E2%80%AE', '/v1/%C2%A0', '/v1/%E2%80%A8', '/v1/%EF%BF%BF'])(
    'the canonical path rejects %j, which is not printable',
    (url) => {
      expect(() => parseTarget(url)).toThrow('unprintable characters')
    },
  )

  it.each(['/v1/%', '/v1/%zz', '/v1/%ff', '/v1/%c3', '/v1/\u00ff', '/v1/%ed%a0%80', '/v1/%c0%ae%c0%ae/x'])(
    'the canonical path rejects %j, which is not UTF-8',
    (url) => {
      expect(() => parseTarget(url)).toThrow('not UTF-8')
    },
  )

  it('the canonical path keeps the query as it was sent', () => {
    expect(parseTarget('/v1/a?list=true&x=%2e%2e//')).toEqual({ path: '/v1/a', query: 'list=true&x=%2e%2e//' })
    expect(parseTarget('/v1/a?')).toEqual({ path: '/v1/a', query: '' })
  })
})
