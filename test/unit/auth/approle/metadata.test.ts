import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMetadata } from '../../../../src/auth/approle/metadata.js'

const seed = Date.now() % 2 ** 31
console.info(`approle metadata: seed ${seed}`)
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('metadata', () => {
  it.each<[string, Record<string, string>]>([
    ['', {}],
    ['  ', {}],
    ['{}', {}],
    ['{"team":"blue","Tier":"One"}', { team: 'blue', Tier: 'One' }],
    [' {"a":"b"}\n', { a: 'b' }],
    ['{"a":"1","a":"2"}', { a: '2' }],
    ['{"":""}', { '': '' }],
    ['{"a=b,c":"d=e,f"}', { 'a=b,c': 'd=e,f' }],
    ['Team=Blue,n=1', { team: 'blue', n: '1' }],
    [' b = 2 ,, a=1 , b=2', { a: '1', b: '2' }],
    [base64('{"k":"v"}'), { k: 'v' }],
    [base64('A=B,c=d'), { a: 'b', c: 'd' }],
    [base64('null'), {}],
    [base64('{}'), {}],
  ])('SecretID metadata %j is accepted', (sent, read) => {
    expect(parseMetadata(sent)).toEqual(read)
  })

  it.each([
    'nothing',
    'null',
    'true',
    'abcd',
    '1',
    '[]',
    '["a"]',
    '"a"',
    '{"n":1}',
    '{"n":true}',
    '{"n":{"a":"b"}}',
    '{"n":',
    '{"a":""}',
    '{"a":null}',
    'a=',
    '=a',
    'a=b=c',
    'a',
    'a=b,c',
  ])('SecretID metadata %j is rejected', (sent) => {
    expect(() => parseMetadata(sent)).toThrow(/^failed to parse metadata: /)
  })

  it('an error of SecretID metadata names the key without a value', () => {
    expect(() => parseMetadata('{"a":"1","b":""}')).toThrow('failed to parse metadata: invalid value for key "b"')
  })

  it('SecretID metadata accepts any object of strings, plain and in base64', () => {
    const objects = fc.dictionary(fc.string(), fc.string({ minLength: 1 }), { noNullPrototype: true })
    fc.assert(
      fc.property(objects, (object) => {
        expect(parseMetadata(JSON.stringify(object))).toEqual(object)
        expect(parseMetadata(base64(JSON.stringify(object)))).toEqual(object)
      }),
      { seed },
    )
  })

  it('SecretID metadata gives string pairs or an error for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 40 }), fc.json()), (text) => {
        try {
          for (const value of Object.values(parseMetadata(text))) expect(typeof value).toBe('string')
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid-request' })
        }
      }),
      { seed },
    )
  })
})
