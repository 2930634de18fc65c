import { expect, test } from 'vitest'
import { conflictsWithNamespace, type MountLocation } from '../../../src/core/mounts/mount-table.js'

const mount = (namespacePath: string, path: string, kind: 'secret' | 'auth' = 'secret'): MountLocation => ({
  namespacePath,
  entry: { kind, path },
})

test.each([
  ['the same path', mount('', 'a/'), 'a/', true],
  ['a mount below the namespace, seen from above it', mount('', 'a/kv/'), 'a/', true],
  ['a namespace below the mount', mount('', 'a/'), 'a/b/', true],
  ['the same path, nested', mount('a/', 'b/'), 'a/b/', true],
  ['deep below it, nested', mount('a/', 'b/c/d/'), 'a/b/', true],
  ['a mount of a namespace further up', mount('', 'a/b/c/'), 'a/b/', true],
  ['a name that only begins alike', mount('', 'ab/'), 'a/', false],
  ['a namespace whose name only begins alike', mount('', 'a/'), 'ab/', false],
  ['a mount of the namespace itself', mount('a/', 'kv/'), 'a/', false],
  ['a mount of its child', mount('a/b/', 'kv/'), 'a/', false],
  ['the same name in another namespace', mount('x/', 'a/'), 'a/', false],
  ['an auth method of that name', mount('', 'a/', 'auth'), 'a/', false],
  ['the root namespace', mount('', 'a/'), '', false],
])('%s', (_what, placed, path, expected) => {
  expect(conflictsWithNamespace(placed, path)).toBe(expected)
})
