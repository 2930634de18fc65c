import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RawJson, RawNumber } from '../../../src/base/json.js'
import { type JsonObject, parseJson } from '../../../src/logical/json.js'
import { printJson, printPieces } from '../../../src/base/json-print.js'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('parseJson', () => {
  it.each(['1.50', '12345678901234567890', '-0', '1e3', '1E+2', '0.10', '9007199254740993', '1e400'])(
    'parseJson keeps the text of %s, which JavaScript would print differently',
    (text) => {
      const object = parseJson(`{"n": ${text}}`) as JsonObject
      expect(object.n).toEqual(new RawNumber(text))
      expect(printJson(object)).toBe(`{"n":${text}}`)
    },
  )

  it.each([
    ['0', 0],
    ['-7', -7],
    ['1.5', 1.5],
    ['1700000000000', 1_700_000_000_000],
  ])('parseJson reads %s as a plain number', (text, number) => {
    expect(parseJson(text)).toBe(number)
  })

  it('parseJson uses the last of two equal keys', () => {
    expect(parseJson('{"k":"1","k":"2"}')).toEqual({ k: '2' })
    expect(printJson(parseJson('{"k":1,"k":1.0}'))).toBe('{"k":1.0}')
  })

  it('parseJson treats inherited names as ordinary keys', () => {
    const object = parseJson('{"__proto__":{"isAdmin":true},"constructor":1,"a":{"toString":2}}') as JsonObject
    expect(object.isAdmin).toBeUndefined()
    expect(Object.keys(object)).toEqual(['__proto__', 'constructor', 'a'])
    expect(Object.getPrototypeOf(object)).toBeNull()
    expect(Object.getPrototypeOf(object.a)).toBeNull()
    expect(printJson(object)).toBe('{"__proto__":{"isAdmin":true},"constructor":1,"a":{"toString":2}}')
  })

  it.each([
    ['"\\ud800"', '\ufffd'],
    ['"a\\uDC00b"', 'a\ufffdb'],
    ['"\\ud83d\\ud83d\\ude00"', '\ufffd\u{1f600}'],
    ['"\\ud83d\\ude00"', '\u{1f600}'],
    ['"\\ud800\\u0041"', '\ufffdA'],
  ])('parseJson replaces a lone surrogate with U+FFFD, as in Vault: %s', (text, value) => {
    expect(parseJson(text)).toBe(value)
    expect(Object.keys(parseJson(`{${text}:1}`) as JsonObject)).toEqual([value])
  })

  it('parseJson accepts 300 levels and rejects 301', () => {
    expect(parseJson(nested(300))).toBeInstanceOf(Array)
    expect(() => parseJson(nested(301))).toThrow(/^error parsing JSON/)
    expect(() => parseJson(nested(100_000))).toThrow(/^error parsing JSON/)
    expect(parseJson(`["${'['.repeat(1000)}"]`)).toEqual(['['.repeat(1000)])
  })

  it.each(['', '{"k":', '{"k":"v",}', 'a=1&b=2', '{} {}', '{"a":01}', "{'a':1}", '{"a":"canary-\u0001"}'])(
    'parseJson rejects %j without quoting it',
    (text) => {
      expect(() => parseJson(text)).toThrow(
        expect.objectContaining({ code: 'invalid-request', message: 'error parsing JSON: the body is not valid JSON' }),
      )
    },
  )

  const seed = Date.now() % 2 ** 31
  it(`parseJson and printJson equal JSON.parse and JSON.stringify (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(JSON.parse(printJson(parseJson(text)))).toEqual(JSON.parse(text))
        // A fraction with a trailing zero makes the slower parser parse the rest as well.
        const mixed = `[1.0, ${JSON.stringify(value, null, 1)}]`
        expect(printJson(parseJson(mixed))).toMatch(/^\[1\.0,/)
        expect(JSON.parse(printJson(parseJson(mixed)))).toEqual([1, JSON.parse(text)])
      }),
      { seed },
    )
  })
})

describe('printJson', () => {
  it('printJson prints raw documents and raw numbers unchanged at any position', () => {
    expect(printJson(new RawJson('{"a":1.0}'))).toBe('{"a":1.0}')
    expect(printJson({ a: [new RawNumber('1.50'), new RawJson('{ }'), 'x'], gone: undefined })).toBe(
      '{"a":[1.50,{ },"x"]}',
    )
  })
})

describe('printPieces', () => {
  const joined = (value: unknown) => printPieces(value).map(String).join('')

  it('printPieces equals printJson, and keeps bytes unchanged', () => {
    const bytes = Buffer.from('{"\u4e2d":1.50}')
    const raw = new RawJson(bytes)
    const values = [
      raw,
      { data: raw, metadata: { n: 1 } },
      { a: undefined, b: null, data: raw, z: [raw] },
      { a: 1 },
      [raw],
      null,
    ]
    for (const value of values) expect(joined(value)).toBe(printJson(value))
    expect(printPieces({ data: raw, metadata: null })).toContain(bytes)
  })
})
