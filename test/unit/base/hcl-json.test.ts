import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHcl } from '../../../src/base/hcl.js'
import { plainValue } from '../../../src/base/hcl-blocks.js'
import { HclError } from '../../../src/base/hcl-tree.js'

const plain = (text: string) => plainValue({ kind: 'object', body: parseHcl(text), line: 1, column: 1 })

test('HCL reads JSON documents with the meaning of JSON', () => {
  const seed = Date.now() % 2 ** 31
  console.info(`hcl-json: seed ${seed}`)
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 5 })),
      fc.nat(4),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(JSON.stringify(plain(text))).toBe(JSON.stringify(JSON.parse(text)))
      },
    ),
    { seed },
  )
})

test.each([
  ['{"a":1,,}', '1:8 expected a key in double quotes'],
  ['{"a" 1}', '1:6 expected ":" after the key'],
  ['{"a":[1,,]}', '1:9 expected a JSON value'],
  ['{"a":[1 2]}', '1:9 expected a comma or "]"'],
  ['{"a":01}', '1:7 expected a comma or "}"'],
  ['{"a":1e999}', '1:6 1e999 is not a number'],
  ['{"a":tru}', '1:6 expected a JSON value'],
  ['{"a":"\n"}', '1:6 the string is not closed'],
  ['{"a":"\\x41"}', '1:7 the escape is unknown'],
  ['{"a":\n', '2:1 expected a JSON value'],
  ['{\n"a":1', '1:1 the bracket is not closed'],
  ['{} x', '1:4 unexpected text after the JSON document'],
  ['[1]', '1:1 expected a key'],
  ['{// no\n}', '1:2 expected a key in double quotes'],
])('invalid JSON is rejected: %j', (text, expected) => {
  try {
    parseHcl(text)
    expect.unreachable()
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    expect(`${error.line}:${error.column} ${error.reason}`).toBe(expected)
  }
})
