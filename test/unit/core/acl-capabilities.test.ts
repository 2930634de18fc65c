import { describe, expect, test } from 'vitest'
import { Acl } from '../../../src/core/acl/acl.js'
import { aclOf } from '../../support/acl-table.js'

describe('capabilities of a path', () => {
  const acl = aclOf(`
    path "c/a" { capabilities = ["update", "read", "create"] }
    path "c/b" { capabilities = ["deny", "read"] }
    path "c/c/*" { capabilities = ["sudo", "list", "patch"] }
    path "c/f" { capabilities = ["list"] }
    path "c/ignored" { capabilities = ["subscribe", "recover"] }
    path "c/more" { capabilities = ["read", "recover"] min_wrapping_ttl = 5 required_parameters = ["x"] }
    path "c/old" { policy = "sudo" }
    path "c/mixed" { policy = "read" capabilities = ["update"] }
  `)
  test.each([
    ['c/a', ['create', 'read', 'update']],
    ['c/b', ['deny']],
    ['c/c/d', ['list', 'patch', 'sudo']],
    ['c/f', ['list']],
    ['c/f/', ['list']],
    ['c/none', ['deny']],
    ['c/ignored', ['deny']],
    ['c/more', ['read']],
    ['c/old', ['create', 'delete', 'list', 'read', 'sudo', 'update']],
    ['c/mixed', ['list', 'read', 'update']],
  ])('%s: %j', (path, expected) => {
    expect(acl.capabilities(path)).toEqual(expected)
  })
})

test('root has every capability, and every verdict says so', () => {
  const acl = new Acl([], true)
  const query = { path: 'x', operation: 'delete', data: {}, wrap: undefined, needsSudo: true } as const
  expect(acl.capabilities('anything')).toEqual(['root'])
  expect(acl.hasAccessBelow('x/')).toBe(true)
  expect(acl.check(query)).toEqual({
    isAllowed: true,
    isRoot: true,
    grantingPolicies: [{ name: 'root', namespaceId: 'root', type: 'acl' }],
  })
})

describe('whether anything below a mount is granted', () => {
  test.each([
    ['path "secret/data/a" { capabilities = ["read"] }', true],
    ['path "secret/data/*" { capabilities = ["read"] }', true],
    ['path "sec*" { capabilities = ["read"] }', true],
    ['path "secret" { capabilities = ["list"] }', true],
    ['path "secret/" { capabilities = ["list"] }', true],
    ['path "secret/*" { capabilities = ["deny"] }', false],
    ['path "secret/a" { capabilities = [] }', false],
    ['path "secrets/a" { capabilities = ["read"] }', false],
    ['path "+/a" { capabilities = ["read"] }', true],
    ['path "+/a" { capabilities = ["deny"] }', false],
    ['path "+" { capabilities = ["read"] }', true],
    ['path "+/+/x/*" { capabilities = ["read"] }', true],
    ['path "other/+/x" { capabilities = ["read"] }', false],
    ['path "*" { capabilities = ["read"] } path "secret/*" { capabilities = ["deny"] }', true],
    ['path "*" { capabilities = ["read"] } path "secret/" { capabilities = ["deny"] }', true],
    ['path "secret/*" { capabilities = ["deny"] } path "secret/a" { capabilities = ["read"] }', true],
  ])('%s: %s', (text, expected) => {
    expect(aclOf(text).hasAccessBelow('secret/')).toBe(expected)
  })

  test('access below a mount with two segments is found', () => {
    expect(aclOf('path "auth/+/login" { capabilities = ["update"] }').hasAccessBelow('auth/approle/')).toBe(true)
    expect(aclOf('path "auth/+" { capabilities = ["update"] }').hasAccessBelow('auth/approle/')).toBe(true)
    expect(aclOf('path "+" { capabilities = ["update"] }').hasAccessBelow('auth/approle/')).toBe(false)
    expect(aclOf('path "+/app*" { capabilities = ["update"] }').hasAccessBelow('auth/approle/')).toBe(true)
    expect(aclOf('path "+/ldap*" { capabilities = ["update"] }').hasAccessBelow('auth/approle/')).toBe(false)
  })
})
