import { describe, expect, test } from 'vitest'
import { aclPath } from '../../../src/core/acl/acl.js'
import type { EntityView } from '../../../src/core/acl/acl-pattern.js'
import { aclOf, testRows } from '../../support/acl-table.js'

const RULES = `
  path "e/{{identity.entity.id}}/*" { capabilities = ["read"] }
  path "n/{{ identity.entity.name }}" { capabilities = ["read"] }
  path "m/{{identity.entity.metadata.team}}/x" { capabilities = ["read"] }
  path "m/{{identity.entity.metadata.none}}*" { capabilities = ["read"] }
  path "a/{{identity.entity.aliases.auth_approle_1.name}}" { capabilities = ["read"] }
  path "d/{{identity.entity.aliases.auth_approle_1.custom_metadata.desk}}" { capabilities = ["read"] }
  path "a/{{identity.entity.aliases.auth_approle_1.metadata.role}}/+" { capabilities = ["list"] }
  path "a/{{identity.entity.aliases.unknown.name}}*" { capabilities = ["update"] }
  path "g/{{identity.groups.ids.g-1.name}}/*" { capabilities = ["read"] }
  path "i/{{identity.groups.names.a.b.id}}" { capabilities = ["read"] }
  path "gm/{{identity.groups.ids.g-1.metadata.team}}" { capabilities = ["read"] }
  path "nm/{{identity.groups.names.a.b.metadata.team}}" { capabilities = ["read"] }
  path "g/{{identity.groups.ids.g-2.name}}*" { capabilities = ["update"] }
  path "g/{{identity.groups.names.a.id}}*" { capabilities = ["update"] }
  path "plain" { capabilities = ["read"] }
`
const ENTITY: EntityView = {
  id: 'e-1',
  name: 'entity one',
  metadata: { team: 'red/blue', empty: '' },
  aliases: [
    { mountAccessor: 'auth_approle_1', name: 'role-1', metadata: { role: 'web' }, customMetadata: { desk: '7' } },
  ],
  groups: [{ id: 'g-1', name: 'a.b', metadata: { team: 'blue' } }],
}

describe('templates', () => {
  testRows(aclOf(RULES, ENTITY), [
    { may: 'read', path: 'e/e-1/x', is: true },
    { may: 'read', path: 'e/e-2/x', is: false },
    { may: 'read', path: 'n/entity one', is: true },
    { may: 'read', path: 'm/red/blue/x', is: true },
    { may: 'read', path: 'm/', is: false },
    { may: 'read', path: 'm/anything', is: false },
    { may: 'read', path: 'a/role-1', is: true },
    { may: 'read', path: 'd/7', is: true },
    { may: 'read', path: 'd/8', is: false },
    { may: 'list', path: 'a/web/one', is: true },
    { may: 'list', path: 'a/web/one/two', is: false },
    { may: 'update', path: 'a/x', is: false },
    { may: 'read', path: 'g/a.b/x', is: true },
    { may: 'read', path: 'g/other/x', is: false },
    { may: 'read', path: 'i/g-1', is: true },
    { may: 'read', path: 'gm/blue', is: true },
    { may: 'read', path: 'nm/blue', is: true },
    { may: 'update', path: 'g/x', is: false },
    { may: 'read', path: 'plain', is: true },
  ])
})

describe('templates of a token without an entity', () => {
  testRows(aclOf(RULES), [
    { may: 'read', path: 'e/e-1/x', is: false },
    { may: 'read', path: 'e//x', is: false },
    { may: 'read', path: 'n/', is: false },
    { may: 'read', path: 'plain', is: true },
  ])
})

describe('what a template gives is text, never a wildcard', () => {
  const entity: EntityView = { ...ENTITY, id: '*', name: '+', metadata: { team: '+/x*', empty: '' } }
  const acl = aclOf(
    `path "id/{{identity.entity.id}}" { capabilities = ["read"] }
     path "n/{{identity.entity.name}}/x" { capabilities = ["read"] }
     path "n/{{identity.entity.name}}/+/y" { capabilities = ["read"] }
     path "t/{{identity.entity.metadata.team}}" { capabilities = ["read"] }
     path "z/{{identity.entity.metadata.empty}}*" { capabilities = ["read"] }
     path "{{identity.entity.name}}" { capabilities = ["read"] }`,
    entity,
  )
  testRows(acl, [
    { may: 'read', path: 'id/*', is: true },
    { may: 'read', path: 'id/x', is: false },
    { may: 'read', path: 'n/+/x', is: true },
    { may: 'read', path: 'n/a/x', is: false },
    { may: 'read', path: 'n/+/a/y', is: true },
    { may: 'read', path: 'n/a/a/y', is: false },
    { may: 'read', path: 't/+/x*', is: true },
    { may: 'read', path: 't/a/xy', is: false },
    { may: 'read', path: 'z/x', is: false },
    { may: 'read', path: '+', is: true },
    { may: 'read', path: 'a', is: false },
  ])
})

test('rules of a namespace reach down into the namespaces below it, never up or sideways', () => {
  const root = { id: 'root', path: '' }
  const team = { id: 'n1', path: 'team/' }
  const sub = { id: 'n2', path: 'team/sub/' }
  const other = { id: 'n3', path: 'team2/' }
  expect(aclPath(root, root, 'secret/a')).toBe('secret/a')
  expect(aclPath(root, sub, 'secret/a')).toBe('team/sub/secret/a')
  expect(aclPath(team, team, 'secret/a')).toBe('secret/a')
  expect(aclPath(team, sub, 'secret/a')).toBe('sub/secret/a')
  expect(aclPath(team, root, 'secret/a')).toBeUndefined()
  expect(aclPath(team, other, 'secret/a')).toBeUndefined()
})
