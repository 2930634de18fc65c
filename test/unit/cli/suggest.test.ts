import { describe, expect, it } from 'vitest'
import { suggest } from '../../../src/cli/vault/program/run.js'

const NAMES = [
  'kv get',
  'kv put',
  'kv',
  'list',
  'lease',
  'lease lookup',
  'operator',
  'operator unseal',
  'operator seal',
]

describe('a suggestion', () => {
  it.each([
    ['lsit', ['list']],
    ['kv gett a', ['kv get']],
    ['kv pet', ['kv get', 'kv put']],
    ['operatr unseal', ['operator unseal']],
    ['leas', ['lease']],
  ])('the suggestion for %s is %j', (line, meant) => {
    expect(suggest(line.split(' '), NAMES)).toEqual(meant)
  })

  it('the suggestion for a command of a family belongs to that family', () => {
    const names = [...NAMES, 'operator init', 'operator raft', 'operator raft join']
    expect(suggest('operator raft demote'.split(' '), names)).toEqual([])
    expect(suggest('operator raft jion'.split(' '), names)).toEqual(['operator raft join'])
  })

  it('suggest returns nothing for a correct command and for an unrelated word', () => {
    expect(suggest(['kv'], NAMES)).toEqual([])
    expect(suggest(['xyzzy'], NAMES)).toEqual([])
    expect(suggest([], NAMES)).toEqual([])
  })
})
