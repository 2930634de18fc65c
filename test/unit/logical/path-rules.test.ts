import { expect, it } from 'vitest'
import { PathRuleTable } from '../../../src/logical/path-rules.js'

const table = new PathRuleTable({
  login: { access: 'open' },
  'keys/*': { access: 'sudo' },
  'keys/own': {},
  'keys/own/deep/*': { access: 'open' },
})
const accessOf = (path: string) => table.find(path).access

it('the rules of a path are those of its own row', () => {
  expect(accessOf('login')).toBe('open')
  expect(accessOf('keys/own')).toBeUndefined()
})

it('without an own row, the rules of the closest folder apply, to the folder itself only with its slash', () => {
  expect(accessOf('keys/a/b')).toBe('sudo')
  expect(accessOf('keys/')).toBe('sudo')
  expect(accessOf('keys/own/deep')).toBe('sudo')
  expect(accessOf('keys/own/deep/a')).toBe('open')
  expect(accessOf('keys/own/deep/')).toBe('open')
})

it('a path without a row or a folder has no rules', () => {
  for (const path of ['', '/', 'login/', 'keys', 'other', 'other/keys/a', '/keys/a'])
    expect(table.find(path)).toEqual({})
})

it('the rules of a path with very many segments are those of its folder', () => {
  expect(accessOf(`keys/${'a/'.repeat(100_000)}`)).toBe('sudo')
  expect(accessOf('a/'.repeat(100_000))).toBeUndefined()
})
