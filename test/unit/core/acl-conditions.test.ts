import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RawNumber } from '../../../src/base/json.js'
import { aclOf, testRows } from '../../support/acl-table.js'

describe('allowed parameters', () => {
  const acl = aclOf(`
    path "allow" {
      capabilities = ["create", "update", "read", "delete"]
      allowed_parameters = { "size" = ["s", "m*"], "note" = [], "Count" = [1, 2.5, "7"], "flag" = [true], "list" = [["a", "b*"]] }
    }
    path "open" { capabilities = ["update"] allowed_parameters { "*" = [] "size" = ["s"] } }
    path "globs" { capabilities = ["update"] allowed_parameters { "a" = ["*end", "*mid*", "**"] "c" = ["*"] "b" = ["*end", "*mid*"] } }
    path "object" { capabilities = ["update"] allowed_parameters { "o" = [{ "k" = "v*" "l" = ["x"] }, { "deep" = { "k" = "v" } }] } }
  `)
  testRows(acl, [
    { may: 'create', path: 'allow', is: true, data: { size: 's', note: 'anything' } },
    { may: 'update', path: 'allow', is: true, data: { size: 'medium' } },
    { may: 'update', path: 'allow', is: false, data: { size: 'xl' } },
    { may: 'update', path: 'allow', is: false, data: { size: 's', colour: 'red' } },
    { may: 'update', path: 'allow', is: true, data: {} },
    { may: 'update', path: 'allow', is: true, data: { SIZE: 's', count: '7' } },
    { may: 'update', path: 'allow', is: false, data: { count: 1 } },
    { may: 'update', path: 'allow', is: false, data: { count: new RawNumber('2.5') } },
    { may: 'update', path: 'allow', is: false, data: { count: '2.5' } },
    { may: 'update', path: 'allow', is: false, data: { count: 7 } },
    { may: 'update', path: 'allow', is: false, data: { count: 3 } },
    { may: 'update', path: 'allow', is: true, data: { flag: true } },
    { may: 'update', path: 'allow', is: false, data: { flag: false } },
    { may: 'update', path: 'allow', is: false, data: { flag: 'true' } },
    { may: 'update', path: 'allow', is: true, data: { list: ['a', 'b*'] } },
    { may: 'update', path: 'allow', is: false, data: { list: ['a', 'bc'] } },
    { may: 'update', path: 'allow', is: false, data: { list: ['a'] } },
    { may: 'update', path: 'allow', is: false, data: { size: ['s'] } },
    { may: 'update', path: 'allow', is: false, data: { size: null } },
    { may: 'update', path: 'allow', is: true, data: { note: { deep: [1] } } },
    { may: 'read', path: 'allow', is: false, data: { version: '1' } },
    { may: 'delete', path: 'allow', is: true, data: { version: '1' } },
    { may: 'update', path: 'open', is: true, data: { colour: 'red', size: 's' } },
    { may: 'update', path: 'open', is: false, data: { size: 'm' } },
    { may: 'update', path: 'globs', is: true, data: { a: 'whatever' } },
    { may: 'update', path: 'globs', is: false, data: { a: 5 } },
    { may: 'update', path: 'globs', is: false, data: { c: 'whatever' } },
    { may: 'update', path: 'globs', is: true, data: { c: '*' } },
    { may: 'update', path: 'globs', is: true, data: { b: 'the end' } },
    { may: 'update', path: 'globs', is: true, data: { b: 'a mid b' } },
    { may: 'update', path: 'globs', is: false, data: { b: 'endless' } },
    { may: 'update', path: 'object', is: true, data: { o: { k: 'v*', l: ['x'] } } },
    { may: 'update', path: 'object', is: false, data: { o: { k: 'value', l: ['x'] } } },
    { may: 'update', path: 'object', is: false, data: { o: { k: 'v*' } } },
    { may: 'update', path: 'object', is: false, data: { o: { deep: { k: 'v' } } } },
    { may: 'update', path: 'object', is: false, data: { o: 'v' } },
  ])
})

describe('denied and required parameters', () => {
  const acl = aclOf(`
    path "deny" { capabilities = ["create", "update", "list"] denied_parameters = { "secret" = [] "size" = ["x*", 10] "any" = ["*"] } }
    path "none" { capabilities = ["update"] denied_parameters = { "*" = [] } }
    path "both" { capabilities = ["update"] allowed_parameters { "*" = [] } denied_parameters { "a" = [] } }
    path "need" { capabilities = ["update", "read", "list"] required_parameters = ["owner", "Team"] }
  `)
  testRows(acl, [
    { may: 'create', path: 'deny', is: false, data: { secret: 'x' } },
    { may: 'create', path: 'deny', is: false, data: { Secret: null } },
    { may: 'create', path: 'deny', is: true, data: { open: 'x' } },
    { may: 'update', path: 'deny', is: false, data: { size: 'xl' } },
    { may: 'update', path: 'deny', is: true, data: { size: 'm' } },
    { may: 'update', path: 'deny', is: true, data: { size: 10 } },
    { may: 'update', path: 'deny', is: true, data: { size: '10' } },
    { may: 'update', path: 'deny', is: true, data: { any: 'x' } },
    { may: 'update', path: 'deny', is: false, data: { any: '*' } },
    { may: 'update', path: 'deny', is: true, data: { any: ['*'] } },
    { may: 'list', path: 'deny', is: true, data: { secret: 'x' } },
    { may: 'update', path: 'none', is: false, data: { a: 1 } },
    { may: 'update', path: 'none', is: true, data: {} },
    { may: 'update', path: 'both', is: false, data: { a: 1, b: 1 } },
    { may: 'update', path: 'both', is: true, data: { b: 1 } },
    { may: 'update', path: 'need', is: true, data: { owner: 'me', team: '' } },
    { may: 'update', path: 'need', is: false, data: { owner: 'me', Team: '' } },
    { may: 'update', path: 'need', is: false, data: {} },
    { may: 'read', path: 'need', is: false, data: { owner: 'me' } },
    { may: 'list', path: 'need', is: true, data: {} },
  ])
})

describe('wrapping times and sudo', () => {
  const acl = aclOf(`
    path "wrap" { capabilities = ["read"] min_wrapping_ttl = "30s" max_wrapping_ttl = 90 }
    path "min" { capabilities = ["read"] min_wrapping_ttl = "1m" }
    path "max" { capabilities = ["list"] max_wrapping_ttl = "1h30m" }
    path "sys/auth/plain" { capabilities = ["create", "update"] }
    path "sys/auth/sudo" { capabilities = ["update", "sudo"] }
    path "sys/only" { capabilities = ["sudo"] }
  `)
  testRows(acl, [
    { may: 'read', path: 'wrap', is: false },
    { may: 'read', path: 'wrap', is: false, wrapSeconds: 120 },
    { may: 'read', path: 'wrap', is: false, wrapSeconds: 29 },
    { may: 'read', path: 'wrap', is: true, wrapSeconds: 30 },
    { may: 'read', path: 'wrap', is: true, wrapSeconds: 90 },
    { may: 'read', path: 'min', is: true, wrapSeconds: 6000 },
    { may: 'read', path: 'min', is: false, wrapSeconds: 59 },
    { may: 'list', path: 'max', is: true, wrapSeconds: 5400 },
    { may: 'list', path: 'max', is: false, wrapSeconds: 5401 },
    { may: 'list', path: 'max', is: false },
    { may: 'update', path: 'sys/auth/plain', is: false, needsSudo: true },
    { may: 'update', path: 'sys/auth/plain', is: true },
    { may: 'update', path: 'sys/auth/sudo', is: true, needsSudo: true },
    { may: 'create', path: 'sys/auth/sudo', is: false, needsSudo: true },
    { may: 'update', path: 'sys/only', is: false, needsSudo: true },
  ])
})

describe('conditions of several policies on one path', () => {
  const acl = aclOf([
    `path "p" { capabilities = ["update"] allowed_parameters { "a" = ["1"] "b" = ["1"] } required_parameters = ["a"] }
     path "w" { capabilities = ["read"] min_wrapping_ttl = 10 max_wrapping_ttl = 60 }
     path "v" { capabilities = ["read"] min_wrapping_ttl = 50 }
     path "d" { capabilities = ["update"] allowed_parameters { "a" = [] } }`,
    `path "p" { capabilities = ["update"] allowed_parameters { "a" = ["2"] "b" = [] } required_parameters = ["c", "a"] }
     path "w" { capabilities = ["read"] min_wrapping_ttl = 20 max_wrapping_ttl = 40 }
     path "v" { capabilities = ["read"] max_wrapping_ttl = 40 }
     path "d" { capabilities = ["update"] denied_parameters { "a" = ["x"] } }`,
    'path "p" { capabilities = ["update"] allowed_parameters { "c" = [] } }',
  ])
  testRows(acl, [
    { may: 'update', path: 'p', is: true, data: { a: '1', b: 'any', c: 0 } },
    { may: 'update', path: 'p', is: true, data: { a: '2', c: 0 } },
    { may: 'update', path: 'p', is: false, data: { a: '3', c: 0 } },
    { may: 'update', path: 'p', is: false, data: { a: '1' } },
    { may: 'update', path: 'p', is: false, data: { a: '1', c: 0, d: 0 } },
    { may: 'read', path: 'w', is: true, wrapSeconds: 10 },
    { may: 'read', path: 'w', is: false, wrapSeconds: 41 },
    { may: 'read', path: 'v', is: false, wrapSeconds: 45 },
    { may: 'update', path: 'd', is: true, data: { a: 'y' } },
    { may: 'update', path: 'd', is: false, data: { a: 'x' } },
    { may: 'update', path: 'd', is: false, data: { b: 'y' } },
  ])
})

test('a verdict names the policies that grant the request', () => {
  const acl = aclOf([
    'path "a" { capabilities = ["read"] }',
    'path "a" { capabilities = ["read", "update"] }',
    'path "a*" { capabilities = ["read"] }',
  ])
  const ask = (operation: 'read' | 'update') =>
    acl.check({ path: 'a', operation, data: {}, wrap: undefined, needsSudo: false }).grantingPolicies
  expect(ask('read')).toEqual([
    { name: 'p1', namespaceId: 'root', type: 'acl' },
    { name: 'p2', namespaceId: 'root', type: 'acl' },
  ])
  expect(ask('update').map((policy) => policy.name)).toEqual(['p2'])
})

test('random parameters are judged like in the documented rules', () => {
  const seed = Date.now() % 2 ** 31
  console.info(`acl-conditions: seed ${seed}`)
  const text = fc.constantFrom('', '*', '**', 'a', 'ab', 'a*', '*b', '*a*', 'true', '1')
  const value = fc.oneof(
    text,
    fc.boolean(),
    fc.constant(null),
    fc.integer({ min: 0, max: 2 }),
    fc.array(text, { maxLength: 2 }),
  )
  const lists = fc.dictionary(fc.constantFrom('p', 'Q', '*'), fc.array(value, { maxLength: 3 }), {
    noNullPrototype: true,
  })
  const data = fc.dictionary(fc.constantFrom('p', 'P', 'q', 'r'), value, { noNullPrototype: true })
  const names = fc.array(fc.constantFrom('p', 'Q'), { maxLength: 1 })
  fc.assert(
    fc.property(lists, lists, names, data, (allowed, denied, required, sent) => {
      const rule = {
        capabilities: ['update'],
        allowed_parameters: allowed,
        denied_parameters: denied,
        required_parameters: required,
      }
      const acl = aclOf(JSON.stringify({ path: { x: rule } }))
      const query = { path: 'x', operation: 'update', data: sent, wrap: undefined, needsSudo: false } as const
      expect(acl.check(query).isAllowed).toBe(isAllowedByRules(allowed, denied, required, sent))
    }),
    { seed, numRuns: 3000 },
  )
})

type Lists = Record<string, readonly unknown[]>

/** Implements the rules as their documentation states them, one after another. */
const isAllowedByRules = (
  allowed: Lists,
  denied: Lists,
  required: readonly string[],
  sent: Record<string, unknown>,
): boolean => {
  const [allow, deny] = [allowed, denied].map(
    (lists) => new Map(Object.entries(lists).map(([name, list]) => [name.toLowerCase(), list])),
  )
  if (required.some((name) => !(name.toLowerCase() in sent))) return false
  for (const [name, value] of Object.entries(sent)) {
    const [may, mayNot] = [allow?.get(name.toLowerCase()), deny?.get(name.toLowerCase())]
    if (deny?.has('*') || (mayNot && (mayNot.length === 0 || mayNot.some((one) => isOne(one, value))))) return false
    if (allow?.size === 0 || (allow?.size === 1 && allow.has('*'))) continue
    if (may ? may.length > 0 && !may.some((one) => isOne(one, value)) : !allow?.has('*')) return false
  }
  return true
}

const isOne = (listed: unknown, value: unknown): boolean => {
  if (typeof listed !== 'string' || typeof value !== 'string') {
    return typeof listed !== 'number' && JSON.stringify(listed) === JSON.stringify(value)
  }
  if (listed.length < 2 || !/^\*|\*$/.test(listed)) return listed === value
  const escaped = listed.replace(/^\*|\*$/g, '').replaceAll('*', '\\*')
  return new RegExp(`${listed.startsWith('*') ? '' : '^'}${escaped}${listed.endsWith('*') ? '' : '$'}`).test(value)
}
