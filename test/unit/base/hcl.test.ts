import { describe, expect, test } from 'vitest'
import { parseHcl } from '../../../src/base/hcl.js'
import { blocksOf, plainValue } from '../../../src/base/hcl-blocks.js'
import { HclError } from '../../../src/base/hcl-tree.js'

/** Defined separately from the following brace, so that this file contains no placeholder. */
const DOLLAR = '$'

/** Returns the document as plain JSON, with labels as nested objects. */
const plain = (text: string) => plainValue({ kind: 'object', body: parseHcl(text), line: 1, column: 1 })

/** Returns the position and the reason of a parse error. */
const mistake = (text: string) => {
  try {
    parseHcl(text)
  } catch (error) {
    if (error instanceof HclError) return `${error.line}:${error.column} ${error.reason}`
    throw error
  }
  return 'accepted'
}

test.each([
  ['', {}],
  ['# only a comment', {}],
  ['a = 1 // b = 2\n/* c = 3\n */ d = 4', { a: 1, d: 4 }],
  ['a = "x"\n"b c" = "y"', { a: 'x', 'b c': 'y' }],
  ['a = "x" b = "y", c = true', { a: 'x', b: 'y', c: true }],
  ['a-b.c_d1 = false', { 'a-b.c_d1': false }],
  ['_a = 1\nünïcode = 2', { _a: 1, ünïcode: 2 }],
  ['\uFEFFa = 1', { a: 1 }],
  ['a = 1\r\nb = 2\r\n', { a: 1, b: 2 }],
  ['l = []', { l: [] }],
  ['l = [1, "two", true, [3], { four = 4 },]', { l: [1, 'two', true, [3], { four: 4 }] }],
  ['l = [\n  # one\n  1, # two\n  2\n]', { l: [1, 2] }],
  ['o = { "size" = ["s", "m*"] "note" = [] }', { o: { size: ['s', 'm*'], note: [] } }],
  ['o { a = 1 }', { o: { a: 1 } }],
  ['path "x/*" { capabilities = ["read"] }', { path: { 'x/*': { capabilities: ['read'] } } }],
  ['listener tcp { address = "a" }', { listener: { tcp: { address: 'a' } } }],
  ['a "b" c "d" {}', { a: { b: { c: { d: {} } } } }],
])('%s', (text, expected) => {
  expect(JSON.parse(JSON.stringify(plain(text)))).toEqual(expected)
})

test.each([
  ['0', 0],
  ['42', 42],
  ['-7', -7],
  ['0x1F', 31],
  ['-0xff', -255],
  ['0755', 493],
  ['1.5', 1.5],
  ['.5', 0.5],
  ['1e3', 1000],
  ['-1.5E-2', -0.015],
])('HCL parses the number %s', (text, expected) => {
  expect(plain(`n = ${text}`)).toEqual({ n: expected })
  expect(parseHcl(`n = ${text}`).items[0]?.value).toMatchObject({ kind: 'number', text })
})

test.each([
  [String.raw`"a\nb\t\"c\"\\"`, 'a\nb\t"c"\\'],
  [String.raw`"\x41\u00e9\U0001F600\101"`, 'Aé😀A'],
  [`"${DOLLAR}{ var("x y", "\\n") } tail"`, `${DOLLAR}{ var("x y", "\\n") } tail`],
  [`"${DOLLAR}{ {a} }\n}"`, undefined],
  [`"${DOLLAR}{ {a\n} }"`, `${DOLLAR}{ {a\n} }`],
  ['"$x {y} {{z}}"', '$x {y} {{z}}'],
  ['"{{identity.entity.id}}"', '{{identity.entity.id}}'],
])('HCL parses the string %s', (text, expected) => {
  if (expected === undefined) expect(mistake(`s = ${text}`)).toContain('not closed')
  else expect(plain(`s = ${text}`)).toEqual({ s: expected })
})

test.each([
  ['a = <<EOF\nline 1\n  "line" 2\nEOF\nb = 1', { a: 'line 1\n  "line" 2\n', b: 1 }],
  ['a = <<EOF\nEOF', { a: '' }],
  ['a = <<EOF\n  EOF\nEOF\n', { a: '  EOF\n' }],
  ['a = <<-EOF\n    one\n      two\n\n    EOF\n', { a: 'one\n  two\n\n' }],
  ['a = <<-EOF\n  one\n    two\n    EOF\n', { a: '  one\n    two\n' }],
  ['a = [<<X\n1\nX\n, "2"]', { a: ['1\n', '2'] }],
  ['a = <<EOF\r\nx\r\nEOF\r\n', { a: 'x\r\n' }],
])('HCL parses the heredoc %j', (text, expected) => {
  expect(plain(text)).toEqual(expected)
})

describe('errors state their position', () => {
  test.each([
    ['path "x" {', '1:10 the bracket is not closed'],
    ['a = [1, 2', '1:5 the bracket is not closed'],
    ['a = [1 2]', '1:8 expected a comma or "]"'],
    ['a = 1\n}', '2:1 unexpected "}"'],
    ['a = ', '1:5 expected a value'],
    ['a = nope', '1:5 "nope" is not a value'],
    ['a', '1:2 the text ends in the middle of an item'],
    ['a b = 1', '1:5 expected a block after the labels, not "="'],
    ['= 1', '1:1 expected a key'],
    ['{ } }', '1:5 unexpected text after the JSON document'],
    ['a = "x', '1:5 the string is not closed'],
    ['a = "x\ny"', '1:5 the string is not closed'],
    ['a = "\\q"', '1:6 the escape is unknown'],
    ['a = "\\UFFFFFFFF"', '1:6 the escape is unknown'],
    ['\n\n  /* x', '3:3 the comment is not closed'],
    ['a = <<EOF\nx', '1:5 the heredoc is not closed'],
    ['a = << EOF\nx\nEOF', '1:5 the heredoc marker is malformed'],
    ['a = 12ab', '1:5 the number is malformed'],
    ['a = 1.2.3', '1:5 the number is malformed'],
    ['a = 089', '1:5 089 is not a number'],
    ['a = 1e999', '1:5 1e999 is not a number'],
    ['a = 1 / b', '1:7 expected a key'],
  ])('%j', (text, expected) => {
    expect(mistake(text)).toBe(expected)
  })

  test('an HCL error names the file', () => {
    expect(() => parseHcl('a = ', { file: 'vault.hcl' })).toThrow('vault.hcl: line 1, column 5: expected a value')
  })

  test('HCL limits nesting and length', () => {
    expect(mistake(`a = ${'['.repeat(50_000)}`)).toContain('nested deeper than')
    expect(mistake('a {'.repeat(50_000))).toContain('nested deeper than')
    expect(mistake(`{"a":${'['.repeat(50_000)}`)).toContain('nested deeper than')
    expect(mistake('#'.repeat(2 ** 20 + 1))).toContain('longer than')
  })
})

test('every HCL node has its start position', () => {
  const body = parseHcl('# first\nlistener "tcp" {\n  address = "x"\n}\n')
  expect(body.items[0]).toMatchObject({ line: 2, column: 1, labels: [{ text: 'tcp', line: 2, column: 10 }] })
  const [block] = blocksOf(body, 'listener', 1)
  expect(block?.body.items[0]).toMatchObject({ line: 3, column: 3, value: { line: 3, column: 13 } })
})
