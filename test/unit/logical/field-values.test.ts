import { describe, expect, it } from 'vitest'
import { compileFields, readFields } from '../../../src/logical/field-values.js'
import { any, bool, commaList, duration, int, map, pairs, string, stringList } from '../../../src/logical/fields.js'
import { type JsonObject, type JsonValue, parseJson } from '../../../src/logical/json.js'

const TABLE = {
  string: string(''),
  bool: bool('', true),
  int: int('', 7),
  duration: duration('', 60),
  comma: commaList(''),
  list: stringList(''),
  map: map(''),
  pairs: pairs(''),
  any: any(''),
}
const reader = compileFields(TABLE)

const read = (data: JsonObject, captured: Record<string, string> = {}) =>
  readFields(reader, data, captured, 'Field validation failed: ')
const readOne = (name: keyof typeof TABLE, value: JsonValue) => {
  const { values, supplied } = read({ [name]: value })
  return { value: values[name], isSupplied: supplied.has(name) }
}
const raw = (text: string): JsonValue => parseJson(text)

describe('field coercion', () => {
  it.each<[keyof typeof TABLE, JsonValue, unknown]>([
    ['string', 'a', 'a'],
    ['string', raw('1.50'), '1.50'],
    ['string', raw('12345678901234567890'), '12345678901234567890'],
    ['string', 42, '42'],
    ['string', true, '1'],
    ['string', false, '0'],
    ['string', null, ''],
    ['bool', 't', true],
    ['bool', 'TRUE', true],
    ['bool', 1, true],
    ['bool', 'False', false],
    ['bool', 0, false],
    ['bool', '', false],
    ['bool', null, false],
    ['int', 5, 5],
    ['int', '10', 10],
    ['int', '-3', -3],
    ['int', '0x10', 16],
    ['int', '010', 8],
    ['int', '0b101', 5],
    ['int', '', 0],
    ['int', true, 1],
    ['int', null, 0],
    ['duration', 90, 90],
    ['duration', '90', 90],
    ['duration', '1h30m', 5400],
    ['duration', '1.5h', 5400],
    ['duration', '500ms', 0.5],
    ['duration', '2d', 172_800],
    ['duration', '', 0],
    ['comma', 'a, b,,c', ['a', 'b', '', 'c']],
    ['comma', [' a ', 'b,c'], ['a', 'b,c']],
    ['comma', '', []],
    ['comma', null, []],
    ['comma', 5, ['5']],
    ['list', 'a,b', ['a,b']],
    ['list', ['a', 1, true], ['a', '1', '1']],
    ['list', '', []],
    ['map', null, null],
    ['map', {}, {}],
    ['map', { a: [1] }, { a: [1] }],
    ['map', [], {}],
    ['pairs', { a: 1, b: true, c: null, d: 'e' }, { a: '1', b: '1', c: '', d: 'e' }],
    ['pairs', ['k=v', 'x=y=z'], { k: 'v', x: 'y=z' }],
    ['pairs', 'k=v', { k: 'v' }],
    ['any', null, null],
    ['any', [1], [1]],
  ])('field coercion reads a %s from %j', (name, sent, value) => {
    const result = readOne(name, sent)
    expect(result.isSupplied).toBe(true)
    expect(JSON.parse(JSON.stringify(result.value))).toEqual(value)
  })

  it.each<[keyof typeof TABLE, JsonValue, RegExp]>([
    ['string', ['a'], /expected type 'string'/],
    ['string', { a: 1 }, /expected type 'string'/],
    ['bool', 'perhaps', /cannot parse/],
    ['bool', 2, /cannot parse/],
    ['bool', [], /expected type 'bool'/],
    ['int', 1.5, /cannot parse/],
    ['int', 'abc', /cannot parse/],
    ['int', '9223372036854775808', /cannot parse/],
    ['int', raw('1e3'), /cannot parse/],
    ['duration', -1, /cannot provide negative value '-1'/],
    ['duration', '-5s', /cannot provide negative value '-5'/],
    ['duration', 1.5, /invalid duration/],
    ['duration', '1d12h', /invalid duration/],
    ['duration', '1H', /invalid duration/],
    ['duration', ' 1h', /invalid duration/],
    ['duration', true, /expected type 'duration'/],
    ['duration', [], /expected type 'duration'/],
    ['duration', '999999999999h', /invalid duration/],
    ['comma', [{ a: 1 }], /expected type 'string'/],
    ['comma', { a: 1 }, /expected type/],
    ['list', [['a']], /expected type 'string'/],
    ['map', 'text', /expected type 'map'/],
    ['map', ['a'], /expected type 'map'/],
    ['pairs', ['k'], /invalid key pair/],
    ['pairs', { a: { b: 1 } }, /expected type 'string'/],
  ])('field coercion rejects a %s from %j', (name, sent, why) => {
    expect(() => read({ [name]: sent })).toThrow(
      expect.objectContaining({ code: 'invalid-request', message: expect.stringMatching(why) }),
    )
    expect(() => read({ [name]: sent })).toThrow(
      `Field validation failed: error converting input for field "${name}": `,
    )
  })

  it('an error of field coercion never quotes the value, which may be secret', () => {
    for (const name of ['bool', 'int', 'duration', 'map', 'pairs'] as const) {
      for (const sent of ['canary', ['canary'], { canary: ['canary'] }]) {
        try {
          read({ [name]: sent })
        } catch (error) {
          expect(String(error)).not.toContain('canary')
        }
      }
    }
  })

  it('field coercion treats a null duration as absent, and an empty one as given', () => {
    expect(readOne('duration', null)).toEqual({ value: 60, isSupplied: false })
    expect(readOne('duration', '')).toEqual({ value: 0, isSupplied: true })
  })

  it('field coercion sets defaults for absent fields', () => {
    const { values, supplied } = read({})
    expect(values).toEqual({
      string: '',
      bool: true,
      int: 7,
      duration: 60,
      comma: [],
      list: [],
      map: null,
      pairs: null,
      any: undefined,
    })
    expect(supplied.size).toBe(0)
  })

  it('a path parameter wins over the body and is remembered', () => {
    const result = read({ string: 'body', x: 1 }, { string: 'path' })
    expect(result.values.string).toBe('path')
    expect(result.replaced).toEqual(['string'])
    expect(result.unknown).toEqual(['x'])
    expect(read({ string: null }, { string: 'path' }).replaced).toEqual([])
  })

  it('field coercion treats inherited names as unknown fields', () => {
    const data = parseJson('{"toString":1,"__proto__":2}') as JsonObject
    expect(read(data).unknown).toEqual(['toString', '__proto__'])
  })
})
