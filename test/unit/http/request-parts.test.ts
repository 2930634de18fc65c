import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { parseCidrOrAddress } from '../../../src/base/cidr.js'
import { parseFields } from '../../../src/http/request/body.js'
import { clientAddress, type ForwardedForSettings } from '../../../src/http/connection/client-address.js'
import { checkFraming, checkPatchType, findClientToken, parseWrap } from '../../../src/http/message/request-headers.js'
import { parseForm, parseQuery } from '../../../src/http/message/target.js'

const FORM = 'application/x-www-form-urlencoded'
const body = (text: string, mediaType?: string, isBare = false) => ({
  bytes: Buffer.from(text),
  mediaType,
  isBare,
  valuesMax: 100,
})
const fields = (text: string, type?: string, isBare?: boolean) => ({ ...parseFields(body(text, type, isBare)) })

describe('a body', () => {
  it.each([[''], ['  '], ['null'], [' null\n']])('a body of %j has no fields', (text) => {
    expect(fields(text)).toEqual({})
  })

  it('a body is parsed as JSON whatever its media type', () => {
    for (const type of [undefined, FORM, 'text/plain', 'application/json; charset=utf-8']) {
      expect(fields('  \r\n {"k":"v"}', type)).toEqual({ k: 'v' })
    }
  })

  it('a form body is parsed as a form if its media type says so and it is no JSON', () => {
    const sent = 'a=1&b=two+words&c=%26&a=2&e='
    expect(fields(sent, FORM)).toEqual({ a: '1,2', b: 'two words', c: '&', e: '' })
    expect(fields(sent, `${FORM}; charset=utf-8`)).toEqual({ a: '1,2', b: 'two words', c: '&', e: '' })
    expect(() => fields(sent)).toThrow(/^error parsing JSON/)
    expect(() => fields('[1]', FORM)).toThrow(/^error parsing JSON/)
  })

  it.each(['[1,2]', '"text"', '42', 'true', '{"k":', '\ufeff{}'])('a body of %j is rejected', (text) => {
    expect(() => fields(text)).toThrow(/^error parsing JSON/)
    expect(() => fields(text, undefined, true)).toThrow(/^failed to parse JSON input/)
  })

  it('a body must be UTF-8', () => {
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
    expect(() => parseFields({ ...body(''), bytes })).toThrow(/^error parsing JSON/)
  })

  it('field names of an endpoint without an envelope ignore case', () => {
    expect(fields('{"Key":"k","RESET":true}', undefined, true)).toEqual({ key: 'k', reset: true })
    expect(fields('{"Key":"k"}')).toEqual({ Key: 'k' })
  })

  it('a parsed body inherits no property', () => {
    expect(Object.getPrototypeOf(parseFields(body('{"a":1}')))).toBeNull()
    expect(Object.getPrototypeOf(parseForm('a=1', 100))).toBeNull()
  })
})

describe('a query', () => {
  it('a query gives strings, and lists for repeated names, without help', () => {
    expect({ ...parseQuery('a=1&b=x+y&a=2&c&help=1&=e&&d=%3d') }).toEqual({
      a: ['1', '2'],
      b: 'x y',
      c: '',
      '': 'e',
      d: '=',
    })
  })

  it.each(['a=%', 'a=%ff', '%zz=1'])('a query of %j is rejected', (query) => {
    expect(() => parseQuery(query)).toThrow(expect.objectContaining({ code: 'invalid-request' }))
  })
})

describe('the token of a request', () => {
  it.each([
    [{ 'x-vault-token': 'a' }, 'a'],
    [{ 'x-vault-token': 'a', authorization: 'Bearer b' }, 'a'],
    [{ 'x-vault-token': '', authorization: 'Bearer b' }, 'b'],
    [{ authorization: 'bearer b' }, undefined],
    [{ authorization: 'Basic b' }, undefined],
    [{ authorization: 'Bearer ' }, undefined],
    [{}, undefined],
  ])('the token in %j is %j', (headers, token) => {
    expect(findClientToken(headers)).toBe(token)
  })
})

describe('the wrapping header', () => {
  it.each([
    ['60', 60],
    ['60s', 60],
    ['5m', 300],
    ['2d', 172_800],
  ])('the wrapping header %j requests %d seconds', (text, ttlSeconds) => {
    expect(parseWrap({ 'x-vault-wrap-ttl': text })).toEqual({ ttlSeconds, format: 'token' })
  })

  it('an empty or zero wrapping header requests nothing', () => {
    for (const text of ['', '0', '0s']) expect(parseWrap({ 'x-vault-wrap-ttl': text })).toBeUndefined()
  })

  it('a wrapping time below a second is kept', () => {
    expect(parseWrap({ 'x-vault-wrap-ttl': '500ms' })).toEqual({ ttlSeconds: 0.5, format: 'token' })
  })

  it('the wrapping header can request a JWT', () => {
    expect(parseWrap({ 'x-vault-wrap-ttl': '60', 'x-vault-wrap-format': 'jwt' })?.format).toBe('jwt')
  })

  it.each(['soon', '-5', '-1s', '1.5'])('the wrapping header %j is rejected', (text) => {
    expect(() => parseWrap({ 'x-vault-wrap-ttl': text })).toThrow(/^error parsing X-Vault-Wrap-TTL header/)
  })
})

describe('the media type of a patch', () => {
  it('a patch must have the merge-patch media type', () => {
    expect(() => checkPatchType({ 'content-type': 'application/merge-patch+json; charset=utf-8' })).not.toThrow()
    expect(() => checkPatchType({ 'content-type': 'application/json' })).toThrow(
      expect.objectContaining({
        code: 'media-type',
        message: 'PATCH requires Content-Type of application/merge-patch+json, provided application/json',
      }),
    )
    for (const headers of [{}, { 'content-type': '' }, { 'content-type': 'nonsense' }]) {
      expect(() => checkPatchType(headers)).toThrow(
        expect.objectContaining({ code: 'invalid-request', message: 'mime: no media type' }),
      )
    }
  })
})

describe('the framing of a body', () => {
  it('a body is plain or chunked, and never compressed', () => {
    expect(() => checkFraming({ 'transfer-encoding': 'Chunked', 'content-encoding': 'identity' })).not.toThrow()
    expect(() => checkFraming({ 'transfer-encoding': 'gzip, chunked' })).toThrow('unsupported transfer encoding')
    expect(() => checkFraming({ 'content-encoding': 'gzip' })).toThrow(expect.objectContaining({ code: 'media-type' }))
  })
})

describe("the client's address", () => {
  const from = (remoteAddress: string, header: string | undefined, settings?: Partial<ForwardedForSettings>) =>
    clientAddress(
      { socket: { remoteAddress }, headers: { 'x-forwarded-for': header } } as unknown as IncomingMessage,
      settings && {
        authorizedAddrs: ['10.0.0.0/8'].flatMap((text) => parseCidrOrAddress(text) ?? []),
        hopSkips: 0,
        rejectNotPresent: false,
        rejectNotAuthorized: false,
        ...settings,
      },
    )

  it('the client address is the TCP peer, with mapped addresses as IPv4', () => {
    expect(from('::ffff:10.1.2.3', undefined)).toBe('10.1.2.3')
    expect(from('10.1.2.3', '1.2.3.4')).toBe('10.1.2.3')
    expect(from('::1', undefined)).toBe('::1')
    expect(from('fe80::1%eth0', undefined)).toBe('fe80::1')
  })

  it('the client address is the last one that a trusted proxy names, or an earlier one by hop_skips', () => {
    expect(from('10.1.2.3', '9.9.9.9, 1.2.3.4', {})).toBe('1.2.3.4')
    expect(from('::ffff:10.1.2.3', '1.2.3.4', {})).toBe('1.2.3.4')
    expect(from('10.1.2.3', '9.9.9.9, 1.2.3.4', { hopSkips: 1 })).toBe('9.9.9.9')
    expect(from('10.1.2.3', '[::ffff:1.2.3.4]', {})).toBe('1.2.3.4')
  })

  it('the client address is the peer without a trusted proxy, unless the configuration rejects that', () => {
    expect(from('11.1.2.3', '1.2.3.4', {})).toBe('11.1.2.3')
    expect(from('10.1.2.3', undefined, {})).toBe('10.1.2.3')
    expect(() => from('11.1.2.3', '1.2.3.4', { rejectNotAuthorized: true })).toThrow(
      'client address not authorized for x-forwarded-for and configured to reject connection',
    )
    expect(() => from('10.1.2.3', undefined, { rejectNotPresent: true })).toThrow(
      'missing x-forwarded-for header and configured to reject when not present',
    )
  })

  it('a malformed x-forwarded-for header is rejected', () => {
    expect(() => from('10.1.2.3', '1.2.3.4', { hopSkips: 1 })).toThrow(/^malformed x-forwarded-for/)
    expect(() => from('10.1.2.3', 'nobody', {})).toThrow(/^malformed x-forwarded-for/)
  })
})
