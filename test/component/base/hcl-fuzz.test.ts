import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHcl } from '../../../src/base/hcl.js'
import { HclError } from '../../../src/base/hcl-tree.js'

const seed = Date.now() % 2 ** 31
console.info(`hcl-fuzz: seed ${seed}`)

/** Tokens of HCL and JSON, so that random texts get past the first token. */
const PIECES = [
  'path',
  'key',
  '"x/*"',
  '"a',
  '"',
  '=',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\n',
  ' ',
  '#',
  '//',
  '/*',
  '*/',
  '<<EOF\n',
  '<<-EOF\n',
  'EOF',
  '\nEOF\n',
  '  EOF\n',
  '1',
  '-',
  '0x',
  '1e',
  '.5',
  'true',
  'false',
  'null',
  '${',
  '}"',
  '\\',
  '\\u00',
  '\\U',
  '\\"',
  '\r',
  '\t',
  '\u0000',
  '\uFEFF',
  'é',
  '😀',
  '\uD800',
  '{"a":',
  '"b"',
  '[{',
  '}]',
]

/** Parses a text. Returns `tree` or `refused`, and fails for any error other than HclError. */
const outcome = (text: string): 'tree' | 'refused' => {
  try {
    const body = parseHcl(text)
    expect(body.items.every((item) => item.line >= 1 && item.column >= 1)).toBe(true)
    return 'tree'
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    expect(error.line).toBeGreaterThanOrEqual(1)
    expect(error.line).toBeLessThanOrEqual(text.split('\n').length)
    expect(error.column).toBeGreaterThanOrEqual(1)
    return 'refused'
  }
}

test('the HCL parser returns a tree or an HclError for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void outcome(text)),
    { seed, numRuns: 1000 },
  )
})

test('the HCL parser returns a tree or an HclError for any sequence of tokens', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }),
      (pieces) => void seen.add(outcome(pieces.join(''))),
    ),
    { seed, numRuns: 4000 },
  )
  expect([...seen].sort()).toEqual(['refused', 'tree'])
})

const PRINTED = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc
      .string({ unit: 'grapheme' })
      .filter((text) => !text.includes('${'))
      .map((text) => JSON.stringify(text)),
    fc.integer().map(String),
    fc.boolean().map(String),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(', ')}]`),
    fc.array(tie('item'), { maxLength: 3 }).map((items) => `{\n${items.join('\n')}\n}`),
  ),
  item: fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), tie('value')).map(([key, value]) => `k-${key} = ${value}`),
}))

test('the HCL parser reads printed trees, and reports changed ones with an HclError at worst', () => {
  const texts = fc.array(PRINTED.item as fc.Arbitrary<string>, { maxLength: 5 }).map((items) => items.join('\n'))
  fc.assert(
    fc.property(texts, fc.nat(), fc.constantFrom('', ...PIECES), (text, where, piece) => {
      expect(outcome(text)).toBe('tree')
      const at = text.length === 0 ? 0 : where % text.length
      outcome(text.slice(0, at) + piece + text.slice(at + 1))
    }),
    { seed, numRuns: 1000 },
  )
})
