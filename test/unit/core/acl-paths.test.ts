import { describe } from 'vitest'
import { aclOf, testRows } from '../../support/acl-table.js'

const rule = (path: string, ...capabilities: string[]) =>
  `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }\n`

describe('the recorded matrix, first policy', () => {
  const acl = aclOf(
    rule('m/exact', 'read') +
      rule('m/glob/*', 'read', 'list') +
      rule('m/glob/closed*', 'deny') +
      rule('m/glob/closed/but/this', 'read') +
      rule('m/+/team', 'read') +
      rule('m/+/+/deep/*', 'read') +
      rule('m/write', 'create', 'update') +
      rule('m/create', 'create') +
      rule('m/update', 'update') +
      rule('m/del', 'delete') +
      rule('m/folder', 'list') +
      rule('m/pre*', 'read') +
      rule('/m/slash', 'read'),
  )
  testRows(acl, [
    { may: 'read', path: 'm/exact', is: true },
    { may: 'update', path: 'm/exact', is: false },
    { may: 'create', path: 'm/exact', is: false },
    { may: 'read', path: 'm/exact/more', is: false },
    { may: 'read', path: 'm/exac', is: false },
    { may: 'read', path: 'm/Exact', is: false },
    { may: 'read', path: 'm/glob/a', is: true },
    { may: 'read', path: 'm/glob/a/b/c', is: true },
    { may: 'list', path: 'm/glob/', is: true },
    { may: 'read', path: 'm/glob', is: false },
    { may: 'read', path: 'm/glob/closed/a', is: false },
    { may: 'list', path: 'm/glob/closed/', is: false },
    { may: 'read', path: 'm/glob/closedness', is: false },
    { may: 'read', path: 'm/glob/closed/but/this', is: true },
    { may: 'list', path: 'm/glob/closed/but/this', is: false },
    { may: 'read', path: 'm/prefix', is: true },
    { may: 'read', path: 'm/pre', is: true },
    { may: 'read', path: 'm/red/team', is: true },
    { may: 'read', path: 'm/red/blue/team', is: false },
    { may: 'read', path: 'm//team', is: true },
    { may: 'read', path: 'm/red/blue/deep/a', is: true },
    { may: 'read', path: 'm/red/blue/deep/', is: true },
    { may: 'read', path: 'm/red/blue/deep', is: false },
    { may: 'read', path: 'm/red/blue/deeper', is: false },
    { may: 'read', path: 'm/slash', is: true },
    { may: 'create', path: 'm/create', is: true },
    { may: 'update', path: 'm/create', is: false },
    { may: 'update', path: 'm/update', is: true },
    { may: 'create', path: 'm/update', is: false },
    { may: 'create', path: 'm/write', is: true },
    { may: 'update', path: 'm/write', is: true },
    { may: 'patch', path: 'm/write', is: false },
    { may: 'delete', path: 'm/del', is: true },
    { may: 'list', path: 'm/folder', is: true },
    { may: 'list', path: 'm/folder/', is: true },
    { may: 'read', path: 'm/folder/', is: false },
    { may: 'read', path: 'nowhere/x', is: false },
    { may: 'help', path: 'nowhere/x', is: true },
  ])
})

describe('the recorded matrix, two policies', () => {
  const acl = aclOf([
    rule('m/exact', 'read') + rule('m/del', 'delete'),
    `${rule('m/exact', 'delete') + rule('m/del', 'deny')}
    path "m/old" { policy = "read" }
    path "m/oldw" { policy = "write" }
    path "m/olds" { policy = "sudo" }
    path "m/oldd" { policy = "deny" }`,
  ])
  testRows(acl, [
    { may: 'delete', path: 'm/exact', is: true },
    { may: 'read', path: 'm/exact', is: true },
    { may: 'update', path: 'm/exact', is: false },
    { may: 'delete', path: 'm/del', is: false },
    { may: 'read', path: 'm/old', is: true },
    { may: 'list', path: 'm/old', is: true },
    { may: 'update', path: 'm/old', is: false },
    { may: 'create', path: 'm/oldw', is: true },
    { may: 'delete', path: 'm/oldw', is: true },
    { may: 'read', path: 'm/oldw', is: true, needsSudo: false },
    { may: 'read', path: 'm/oldw', is: false, needsSudo: true },
    { may: 'update', path: 'm/olds', is: true, needsSudo: true },
    { may: 'patch', path: 'm/olds', is: false },
    { may: 'read', path: 'm/oldd', is: false },
  ])
})

describe('which rule decides', () => {
  const acl = aclOf(
    // The later first wildcard takes precedence.
    rule('a/*', 'read') +
      rule('a/b*', 'update') +
      rule('a/b/c*', 'delete') +
      rule('l/+/x', 'read') +
      rule('l/m*', 'update') +
      // A pattern without a glob takes precedence.
      rule('g/+/x', 'read') +
      rule('g/+/*', 'read') +
      rule('g/*', 'delete') +
      // Fewer wildcard segments take precedence, then the longer pattern.
      rule('f/+/y/z', 'read') +
      rule('f/+/+/z', 'update') +
      rule('f/+/+/+', 'delete') +
      rule('o/+/long*', 'read') +
      rule('o/+/lo*', 'update') +
      // The alphabetically later pattern takes precedence.
      rule('t/+/b/+', 'read') +
      rule('t/+/+/a', 'update') +
      // An exact rule takes precedence over all others, even if it grants nothing.
      rule('e/*', 'read', 'update') +
      rule('e/none') +
      rule('e/+', 'read') +
      rule('e/only', 'update'),
  )
  testRows(acl, [
    { may: 'read', path: 'a/x', is: true },
    { may: 'read', path: 'a/b', is: false },
    { may: 'update', path: 'a/b', is: true },
    { may: 'update', path: 'a/bx', is: true },
    { may: 'update', path: 'a/b/c', is: false },
    { may: 'delete', path: 'a/b/c', is: true },
    { may: 'delete', path: 'a/b/c/d', is: true },
    { may: 'delete', path: 'a/b/d', is: false },
    { may: 'read', path: 'l/n/x', is: true },
    { may: 'read', path: 'l/m/x', is: false },
    { may: 'update', path: 'l/m/x', is: true },
    { may: 'read', path: 'g/1/x', is: true },
    { may: 'delete', path: 'g/1/x', is: false },
    { may: 'read', path: 'g/1/y', is: false },
    { may: 'delete', path: 'g/1/y', is: true },
    { may: 'delete', path: 'g/1', is: true },
    { may: 'read', path: 'f/1/y/z', is: true },
    { may: 'update', path: 'f/1/y/z', is: false },
    { may: 'update', path: 'f/1/2/z', is: true },
    { may: 'delete', path: 'f/1/2/3', is: true },
    { may: 'delete', path: 'f/1/2/z', is: false },
    { may: 'read', path: 'o/1/longer', is: true },
    { may: 'update', path: 'o/1/longer', is: false },
    { may: 'update', path: 'o/1/lower', is: true },
    { may: 'read', path: 't/1/b/a', is: true },
    { may: 'update', path: 't/1/b/a', is: false },
    { may: 'read', path: 'e/none', is: false },
    { may: 'read', path: 'e/one', is: true },
    { may: 'update', path: 'e/one', is: false },
    { may: 'read', path: 'e/only', is: false },
    { may: 'update', path: 'e/only', is: true },
  ])
})

describe('a list tries its path without the slash first', () => {
  const acl = aclOf(
    rule('exact', 'list') +
      rule('both', 'list') +
      rule('both/', 'read') +
      rule('seg/+', 'list') +
      rule('deep/+/', 'list') +
      rule('glob/a*', 'list') +
      rule('glob/ab/*', 'read') +
      rule('*', 'delete'),
  )
  testRows(acl, [
    { may: 'list', path: 'exact/', is: true },
    { may: 'delete', path: 'exact/', is: true },
    { may: 'list', path: 'both/', is: false },
    { may: 'read', path: 'both/', is: true },
    { may: 'list', path: 'seg/x', is: true },
    { may: 'list', path: 'deep/x/', is: false },
    { may: 'list', path: 'glob/ac/', is: true },
    { may: 'list', path: 'glob/ab/', is: true },
    { may: 'delete', path: '', is: true },
  ])
  testRows(aclOf(rule('seg/+', 'list')), [
    { may: 'list', path: 'seg/x/', is: true },
    { may: 'read', path: 'seg/x/', is: false },
    { may: 'list', path: 'seg/x/y/', is: false },
  ])
})

describe('wildcards that are only text', () => {
  const acl = aclOf(rule('a*b', 'read') + rule('c/d+', 'read') + rule('+', 'update') + rule('x/+y/*', 'list'))
  testRows(acl, [
    { may: 'read', path: 'a*b', is: true },
    { may: 'read', path: 'axb', is: false },
    { may: 'read', path: 'c/d+', is: true },
    { may: 'read', path: 'c/dd', is: false },
    { may: 'update', path: 'anything', is: true },
    { may: 'update', path: 'any/thing', is: false },
    { may: 'list', path: 'x/+y/z', is: true },
    { may: 'list', path: 'x/zy/z', is: false },
  ])
})
