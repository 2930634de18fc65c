import { expect, it } from 'vitest'
import { PathRuleTable } from '../../../src/logical/path-rules.js'

const table = new PathRuleTable({
  login: { access: 'open' },
  'keys/*': { access: 'sudo' },
  'keys/own': {},
  'keys/own/deep/*': { access: 'open' },
})
const accessOf = (path: string) => table.find(path).access

it('finds the row of the path itself', () => {
  expect(accessOf('login')).toBe('open')
  expect(accessOf('keys/own')).toBeUndefined()
})

it('else the row of the closest folder, which the folder itself is in only with its slash', () => {
  expect(accessOf('keys/a/b')).toBe('sudo')
  expect(accessOf('keys/')).toBe('sudo')
  expect(accessOf('keys/own/deep')).toBe('sudo')
  expect(accessOf('keys/own/deep/a')).toBe('open')
  expect(accessOf('keys/own/deep/')).toBe('open')
})

it('else nothing', () => {
  for (const path of ['', '/', 'login/', 'keys', 'other', 'other/keys/a', '/keys/a'])
    expect(table.find(path)).toEqual({})
})

it('takes a path of very many segments for what it begins with', () => {
  expect(accessOf(`keys/${'a/'.repeat(100_000)}`)).toBe('sudo')
  expect(accessOf('a/'.repeat(100_000))).toBeUndefined()
})
