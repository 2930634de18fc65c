import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bitsOf } from '../../../src/core/acl/acl-capabilities.js'
import { mergeRules } from '../../../src/core/acl/acl-rules.js'
import { DEFAULT_POLICY_TEXT, WRAPPING_POLICY_TEXT } from '../../../src/core/acl/policy-builtin.js'
import { parsePolicy } from '../../../src/core/acl/policy-text.js'
import { LogicalError } from '../../../src/logical/errors.js'

const READ = bitsOf(['read'])

test.each([
  ['path "a" { capabilities = ["read"] }'],
  ['path "/a" { capabilities = ["read"] }'],
  ['name = "mine"\npath "a" { capabilities = ["read", "recover"] comment = "why" }'],
  ['path a { capabilities = ["read", "read",] }'],
  ['path = { "a" = { capabilities = ["read"] } }'],
  ['{"path":{"a":{"capabilities":["read"]}}}'],
  ['{"name":"mine","path":[{"a":{"capabilities":["read"]}}]}'],
  ['{"path":{"a":[{"capabilities":["read"],"policy":null}]}}'],
  ['[{"path":{"a":{"capabilities":["read"]}}}]'],
])('%s gives read on a', (text) => {
  expect(parsePolicy(text).rules).toMatchObject([{ path: 'a', capabilities: READ }])
})

test.each([['# nothing here'], [''], ['{}'], ['path {}']])('%j is a policy without rules', (text) => {
  expect(parsePolicy(text).rules).toEqual([])
})

test('conditions are read in both languages', () => {
  const hcl = `path "a" {
    capabilities = ["update"]
    allowed_parameters { "Size" = ["s", 1] note = [] }
    denied_parameters = { "x" = [true] }
    required_parameters = ["Owner"]
    min_wrapping_ttl = "90s"
    max_wrapping_ttl = 3600
  }`
  const json = {
    path: {
      a: {
        capabilities: ['update'],
        allowed_parameters: [{ Size: ['s', 1] }, { note: [] }],
        denied_parameters: { x: [true] },
        required_parameters: ['Owner'],
        min_wrapping_ttl: '1m30s',
        max_wrapping_ttl: '1h',
      },
    },
  }
  for (const text of [hcl, JSON.stringify(json)]) {
    expect(parsePolicy(text).rules).toEqual([
      {
        path: 'a',
        capabilities: bitsOf(['update']),
        allowedParameters: new Map([
          ['size', ['s', 1]],
          ['note', []],
        ]),
        deniedParameters: new Map([['x', [true]]]),
        requiredParameters: ['Owner'],
        minWrappingTtlSeconds: 90,
        maxWrappingTtlSeconds: 3600,
      },
    ])
  }
})

test('a rule that denies keeps nothing else', () => {
  const text = 'path "a" { policy = "write" capabilities = ["deny"] required_parameters = ["x"] max_wrapping_ttl = 5 }'
  expect(parsePolicy(text).rules).toMatchObject([
    { capabilities: bitsOf(['deny']), requiredParameters: [], maxWrappingTtlSeconds: 0 },
  ])
})

test('what has no effect here is said', () => {
  const text = 'path "a" { capabilities = ["read"] mfa_methods = ["duo"] control_group = { factor "x" {} } }'
  expect(parsePolicy(text).warnings).toEqual([
    '"mfa_methods" is accepted but not enforced',
    '"control_group" is accepted but not enforced',
  ])
})

describe('what is not understood is refused with its place', () => {
  test.each([
    ['path "x" {', 'line 1, column 10: the bracket is not closed'],
    ['paths "x" { capabilities = ["read"] }', 'line 1, column 1: invalid key "paths"'],
    ['path "x" { capability = ["read"] }', 'line 1, column 12: invalid key "capability"'],
    ['path "x" { capabilities = ["fly"] }', 'line 1, column 28: invalid capability "fly"'],
    ['path "x" { capabilities = ["Read"] }', 'line 1, column 28: invalid capability "Read"'],
    ['path "x" { capabilities = "read" }', 'line 1, column 27: capabilities must be a list'],
    ['path "x" { capabilities = [1] }', 'line 1, column 28: a string was expected'],
    ['path "x" { capabilities = [] capabilities = [] }', 'line 1, column 30: "capabilities" is set twice'],
    ['path "x" { policy = "fly" }', 'line 1, column 21: invalid policy "fly"'],
    ['path "x" { policy = "toString" }', 'line 1, column 21: invalid policy "toString"'],
    ['path "x/+*" { capabilities = ["read"] }', `path "x/+*": invalid use of wildcards ('+*' is forbidden)`],
    ['path "x" { allowed_parameters = ["a"] }', 'line 1, column 34: allowed_parameters must be a block'],
    ['path "x" { allowed_parameters = { a = "b" } }', 'line 1, column 39: a must be a list'],
    ['path "x" { denied_parameters { a = [] A = [] } }', 'line 1, column 39: "a" is set twice'],
    ['path "x" { min_wrapping_ttl = "soon" }', 'line 1, column 31: "soon" is no duration'],
    ['path "x" { min_wrapping_ttl = -5 }', 'line 1, column 31: "-5" is no duration'],
    [
      'path "x" { min_wrapping_ttl = 10 max_wrapping_ttl = 5 }',
      'max_wrapping_ttl cannot be less than min_wrapping_ttl',
    ],
    ['path "x" "y" { }', 'line 1, column 10: path takes 1 label(s)'],
    ['path = "x"', 'line 1, column 8: path must be a block'],
    [`path "${'x'.repeat(9000)}" { }`, 'the path is longer than'],
  ])('%s', (text, expected) => {
    expect(() => parsePolicy(text)).toThrow(LogicalError)
    expect(() => parsePolicy(text)).toThrow(/^failed to parse policy: /)
    expect(() => parsePolicy(text)).toThrow(expected)
  })
})

test('the built-in policies can be read', () => {
  expect(parsePolicy(WRAPPING_POLICY_TEXT).rules).toHaveLength(2)
  expect(parsePolicy(DEFAULT_POLICY_TEXT).isTemplated).toBe(true)
})

test('any text is a policy or is refused with the one error, and rules never fail for an entity', () => {
  const seed = Date.now() % 2 ** 31
  console.info(`policy-text: seed ${seed}`)
  const pieces = fc.constantFrom(
    ...['path', ' ', '"a/+/*"', '"+"', '"{{identity.entity.id}}"', '"{{"', '"/"', '{', '}', '[', ']', '=', ',', '\n'],
    ...['capabilities', 'policy', 'allowed_parameters', 'required_parameters', 'min_wrapping_ttl', 'name', 'comment'],
    ...['"read"', '"deny"', '"sudo"', '"5m"', '5', 'true', '*', '+', '"x"', '#', '__proto__', '"__proto__"'],
    ...['path "a*" {', 'capabilities = ["read"]', '{"path":', '{"p":', '"capabilities":', ':'],
  )
  const entity = { id: 'a/+*', name: '', metadata: {}, aliases: [] }
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 25 }), (parts) => {
      try {
        const { rules } = parsePolicy(parts.join(' '))
        mergeRules([{ name: 'p', rules }], 'root', entity)
      } catch (error) {
        if (!(error instanceof LogicalError)) throw error
        expect(error.code).toBe('invalid-request')
      }
    }),
    { seed, numRuns: 4000 },
  )
})
