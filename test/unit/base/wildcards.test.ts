import { expect, test } from 'vitest'
import { matchesOpenEnds, matchesWildcards } from '../../../src/base/wildcards.js'

test.each([
  ['', '', true],
  ['', 'a', false],
  ['a', 'a', true],
  ['a', 'ab', false],
  ['*', '', true],
  ['*', 'any', true],
  ['a*', 'abc', true],
  ['*c', 'abc', true],
  ['a*c', 'abbc', true],
  ['a*c', 'abb', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*b*', 'abc', true],
  ['*b*', 'ac', false],
  ['a*b*b', 'ab', false],
  ['*ab*b', 'ab', false],
  ['a*b*b', 'axbxb', true],
  ['*.example.com', 'web.example.com', true],
  ['*.example.com', 'example.com', false],
  ['a.c', 'abc', false],
])('the pattern %j and the text %j match: %s', (pattern, text, matches) => {
  expect(matchesWildcards(pattern, text)).toBe(matches)
})

test.each([
  ['a', 'a', true],
  ['a*', 'abc', true],
  ['*c', 'abc', true],
  ['*b*', 'abc', true],
  ['*b*', 'ac', false],
  ['a*c', 'abc', false],
  ['*', 'a', false],
  ['*', '*', true],
])('the pattern %j with open ends and the text %j match: %s', (pattern, text, matches) => {
  expect(matchesOpenEnds(pattern, text)).toBe(matches)
})
