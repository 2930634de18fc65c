import { describe, expect, test } from 'vitest'
import { parseHcl } from '../../../src/base/hcl.js'
import { blocksOf, plainValue } from '../../../src/base/hcl-blocks.js'

const blocks = (text: string, labelCount: number) =>
  blocksOf(parseHcl(text), 'b', labelCount).map(({ labels, body, line, column }) => [
    labels.join(' '),
    JSON.stringify(plainValue({ kind: 'object', body, line, column })),
  ])

describe('every spelling of a block with one label', () => {
  test.each([
    ['b "one" { k = 1 }'],
    ['b one { k = 1 }'],
    ['b { one { k = 1 } }'],
    ['b = { one = { k = 1 } }'],
    ['b = [{ one = { k = 1 } }]'],
    ['{"b": {"one": {"k": 1}}}'],
    ['{"b": [{"one": {"k": 1}}]}'],
    ['{"b": {"one": [{"k": 1}]}}'],
    ['{"b": [{"one": [{"k": 1}]}]}'],
    ['{"b": {"one": {"k": 1,},},}'],
    ['{"x": null, "b": [null, {"one": {"k": 1}}]}'],
  ])('%s', (text) => {
    expect(blocks(text, 1)).toEqual([['one', '{"k":1}']])
  })

  test('several blocks are returned in order', () => {
    const expected = [
      ['x', '{"k":1}'],
      ['y', '{}'],
      ['x', '{"k":2}'],
    ]
    expect(blocks('b x { k = 1 } c { } b { y { } } b "x" { k = 2 }', 1)).toEqual(expected)
    expect(blocks('{"b": [{"x": {"k": 1}, "y": {}}, {"x": {"k": 2}}]}', 1)).toEqual(expected)
    expect(blocks('{"b": {"x": {"k": 1}, "y": {}, "x": {"k": 2}}}', 1)).toEqual(expected)
  })
})

test('blocks without a label are returned', () => {
  expect(blocks('b { k = 1 } b = { k = 2 }', 0)).toEqual([
    ['', '{"k":1}'],
    ['', '{"k":2}'],
  ])
  expect(blocks('{"b": [{"k": 1}, {"k": 2}]}', 0)).toHaveLength(2)
})

test.each([
  ['b = 1', 0, 'line 1, column 5: b must be a block'],
  ['b "x" { }', 0, 'line 1, column 3: b takes no label'],
  ['b "x" "y" { }', 1, 'line 1, column 7: b takes 1 label(s)'],
  ['b { x y { } }', 1, 'line 1, column 7: b takes 1 label(s)'],
  ['{"b": {"x": 5}}', 1, 'line 1, column 13: b must be a block'],
])('a value that is not a block is rejected: %s', (text, labelCount, expected) => {
  expect(() => blocks(text, labelCount)).toThrow(expected)
})
