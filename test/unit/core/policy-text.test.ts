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
  ['path "a" "b" { capabilities = ["read"] }'],
  ['path "a" { capabilities = [,"read",,] }'],
  ['path "a" { capabilities = ["read"] subscribe_event_types = ["kv*"] }'],
  ['{"path":{"a":{"capabilities":["read",],},},}'],
  ['path "a" { policy = "" capabilities = ["read"] min_wrapping_ttl = -5 }'],
  ['{"path":{"a":{"capabilities":["read"]}}}'],
  ['{"name":"mine","path":[{"a":{"capabilities":["read"]}}]}'],
  ['{"path":{"a":[{"capabilities":["read"],"policy":null}]}}'],
])('%s grants read on a', (text) => {
  expect(parsePolicy(text).rules).toMatchObject([{ path: 'a', capabilities: READ }])
})

test('a block without a label applies to the path named path', () => {
  expect(parsePolicy('path { capabilities = ["read"] }').rules).toMatchObject([{ path: 'path', capabilities: READ }])
})

test('repeated keys add up for lists, use the last value otherwise, and cause a warning', () => {
  const { rules, warnings } = parsePolicy(`path "a" {
    capabilities = ["read"]
    capabilities = ["list"]
    denied_parameters { a = ["1"] A = ["2"] }
    min_wrapping_ttl = "1m"
    min_wrapping_ttl = "2m"
  }`)
  expect(rules).toMatchObject([
    {
      capabilities: bitsOf(['read', 'list']),
      deniedParameters: new Map([['a', ['1', '2']]]),
      minWrappingTtlSeconds: 120,
    },
  ])
  expect(warnings).toEqual([
    'policy contains duplicate attributes, which will no longer be supported in a future version',
  ])
})

test('a deny ends the list of capabilities', () => {
  const text = 'path "a" { capabilities = ["read", "deny", "fly"] min_wrapping_ttl = "soon" }'
  expect(parsePolicy(text).rules).toMatchObject([{ capabilities: bitsOf(['deny']) }])
})

test('unknown policy keys are listed as in Vault', () => {
  expect(() => parsePolicy('paths "x" {}\npolicy = "y"')).toThrow(
    'failed to parse policy: 2 errors occurred:\n\t* invalid key "paths" on line 1\n\t* invalid key "policy" on line 2\n\n',
  )
  expect(() => parsePolicy('path "x" {\n capability = ["read"] }')).toThrow(
    'failed to parse policy: 1 error occurred:\n\t* path "x": invalid key "capability" on line 2\n\n',
  )
})

test.each([['# nothing here'], [''], ['{}']])('%j is a policy without rules', (text) => {
  expect(parsePolicy(text).rules).toEqual([])
})

test('conditions are parsed in HCL and JSON', () => {
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

test('a deny rule has no other content', () => {
  const text = 'path "a" { policy = "write" capabilities = ["deny"] required_parameters = ["x"] max_wrapping_ttl = 5 }'
  expect(parsePolicy(text).rules).toMatchObject([
    { capabilities: bitsOf(['deny']), requiredParameters: [], maxWrappingTtlSeconds: 0 },
  ])
})

test('policy keys without effect cause a warning', () => {
  const text =
    'path "a" { capabilities = ["read"] mfa_methods = ["duo"] control_group = { factor "x" {} } subscribe_event_types = [] }'
  expect(parsePolicy(text).warnings).toEqual([
    '"mfa_methods" is accepted but not enforced',
    '"control_group" is accepted but not enforced',
    '"subscribe_event_types" is accepted but not enforced',
  ])
})

describe('unsupported policy text is rejected with its position', () => {
  test.each([
    ['path "x" {', 'line 1, column 10: the bracket is not closed'],
    ['path = { "a" = { capabilities = ["read"] } }', 'path "path": invalid key "a" on line 1'],
    ['[{"path":{"a":{"capabilities":["read"]}}}]', 'expected a key'],
    ['name = ["mine"]', 'line 1, column 8: expected a string'],
    ['path "x" { capabilities = ["fly"] }', 'path "x": invalid capability "fly"'],
    ['path "x" { capabilities = ["fly", "deny"] }', 'path "x": invalid capability "fly"'],
    ['path "x" { capabilities = ["Read"] }', 'path "x": invalid capability "Read"'],
    ['path "x" { capabilities = ["read" "list"] }', 'expected a comma or "]"'],
    ['path "x" { mfa_methods = "duo" }', 'mfa_methods must be a list'],
    ...['a/{{identity.entity.id', 'a/identity.entity.id}}', 'a/{{b}}c}}', 'a/{{b{{c}}', '}}{{'].map(
      (path): [string, string] => [
        `path "${path}" { capabilities = ["read"] }`,
        'failed to validate policy templating: unbalanced templating characters',
      ],
    ),
    ['path "x" { capabilities = "read" }', 'line 1, column 27: capabilities must be a list'],
    ['path "x" { capabilities = [1] }', 'path "x": invalid capability "1"'],
    ['path "x" { capabilities = [true] }', 'line 1, column 28: expected a string'],
    ['path "x" { policy = "fly" }', 'path "x": invalid policy "fly"'],
    ['path "x" { policy = "toString" }', 'path "x": invalid policy "toString"'],
    ['path "x/+*" { capabilities = ["read"] }', `path "x/+*": invalid use of wildcards ('+*' is forbidden)`],
    ['path "x" { allowed_parameters = ["a"] }', 'line 1, column 34: allowed_parameters must be a block'],
    ['path "x" { allowed_parameters = { a = "b" } }', 'line 1, column 39: a must be a list'],
    ['path "x" { min_wrapping_ttl = "soon" }', 'line 1, column 31: "soon" is not a duration'],
    [
      'path "x" { min_wrapping_ttl = 10 max_wrapping_ttl = 5 }',
      'max_wrapping_ttl cannot be less than min_wrapping_ttl',
    ],
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

test('any text is a policy or fails with one error, and rules never fail for an entity', () => {
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
