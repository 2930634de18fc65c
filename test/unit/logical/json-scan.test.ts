import { describe, expect, it } from 'vitest'
import { scanJson } from '../../../src/logical/json-scan.js'
import { parseJson } from '../../../src/logical/json.js'

const scan = (text: string, valuesMax = 10) => scanJson(Buffer.from(text), valuesMax)
const refused = (text: string) =>
  expect.objectContaining({ code: 'invalid-request', message: `error parsing JSON: ${text}` })

describe('what a JSON text holds', () => {
  it.each([
    ['{"a":1,"b":[2,3]}', 4],
    ['[[],[],[]]', 6],
    ['"a,b,{[,"', 0],
    ['{"a\\",{":1}', 1],
  ])('the JSON scan counts values before parsing: %s has %i', (text, values) => {
    expect(scan(text, values)).toBe('plain')
    if (values > 0)
      expect(() => scan(text, values - 1)).toThrow(refused(`more than ${values - 1} members and elements`))
  })

  it('the JSON scan stops counting at its maximum, however the text is nested', () => {
    for (const unit of ['{},', '[],', '"":0,', '"constructor",', '1.5,']) {
      expect(() => scan(`[${unit.repeat(20)}0]`)).toThrow(refused('more than 10 members and elements'))
    }
  })

  it.each([
    '{"__proto__":1}',
    '{"constructor":1}',
    '{"\\u0061":1}',
    '["toString"]',
    '1.50',
    '-0',
    '1e3',
    '12345678901234567',
    '"\\ud800"',
    '"a\\uDFff"',
    '{"\\ud83d\\ude00":1}',
  ])('the JSON scan needs the thorough parser: %s', (text) => {
    expect(scan(text)).toBe('thorough')
  })

  it.each([
    `"${'x'.repeat(150)}\\u0d80\\ud7ff"`,
    '{"a":-17,"b":"1.50"}',
    '{"proto":1}',
    '["a constructor", "constructors"]',
    '{"a":"é\\n"}',
  ])('the JSON scan allows the quick parser: %s', (text) => {
    if (!text.includes('\\n')) expect(scan(text)).toBe('plain')
  })

  it('the JSON scan rejects a number of more than 1024 characters', () => {
    expect(() => scan(`[${'9'.repeat(2000)}]`)).toThrow(refused('a number of more than 1024 characters'))
    expect(scan(`["${'9'.repeat(2000)}"]`)).toBe('plain')
  })

  it.each([
    '{"k":1.0,}',
    '[1.0',
    '1.0 1.0',
    '[1.0]]',
    '{"a" 1.0}',
    '[1.]',
    '[.5]',
    '[01.0]',
    '[1e]',
    '[-]',
    '[tru,1.0]',
    '{1.0:1}',
    '["\u0001",1.0]',
    '["\\x",1.0]',
    '[1.0 2]',
    '["a',
    '',
  ])('both JSON parsers reject %j', (text) => {
    expect(() => parseJson(text)).toThrow(refused('the body is not valid JSON'))
  })
})
