import { describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { generatePassword, parsePasswordPolicy } from '../../../src/core/passwords/password-policy.js'

const charset = (letters: string, least?: number): string =>
  `rule "charset" { charset = ${JSON.stringify(letters)} ${least === undefined ? '' : `min-chars = ${least}`} }`

const refusal = (text: string): string => {
  try {
    parsePasswordPolicy(text)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

const listOf = (...problems: string[]): string =>
  `invalid password policy: ${problems.length === 1 ? '1 error' : `${problems.length} errors`} occurred:\n${problems.map((problem) => `\t* ${problem}\n`).join('')}\n`

describe('a password policy', () => {
  it('a password policy has the same meaning in HCL and JSON', () => {
    const policy = { length: 20, letters: ['a', 'b', 'c'] }
    const rules = [
      { charset: new Set('ab'), least: 2 },
      { charset: new Set('bc'), least: 0 },
    ]
    expect(parsePasswordPolicy(`length = 20\n${charset('ab', 2)}\n${charset('bc')}`)).toEqual({ ...policy, rules })
    const json = {
      length: 20,
      rule: [{ charset: { charset: 'ab', 'min-chars': 2 } }, { charset: { charset: 'bc' } }],
    }
    expect(parsePasswordPolicy(JSON.stringify(json))).toEqual({ ...policy, rules })
  })

  it.each([
    ['', listOf('length must be > 0', 'no charset specified')],
    [charset('ab'), listOf('length must be > 0')],
    ['length = 20', listOf('no charset specified')],
    [
      `length = 5 ${charset('ab', 3)} ${charset('cd', 3)}`,
      listOf('specified rules require at least 6 characters but 5 is specified'),
    ],
    [`length = 5 ${charset('a\tb')}`, listOf('non-printable character in charset')],
    [
      `length = 5 ${charset(String.fromCodePoint(...Array.from({ length: 257 }, (_, n) => 0x4e00 + n)))}`,
      listOf('charset is too long: limited to 256 characters'),
    ],
    [`length = 3 ${charset('ab')}`, 'passwords must be between 4 and 100 characters'],
    [`length = 101 ${charset('ab')}`, 'passwords must be between 4 and 100 characters'],
    [`length = "5" ${charset('ab')}`, 'invalid password policy: line 1, column 10: length must be an integer'],
    [
      'length = 5 rule "charset" { }',
      'invalid password policy: line 1, column 12: charset must be a string with at least one character',
    ],
    ['length = 5 rule "words" { }', 'invalid password policy: line 1, column 12: unrecognized rule type words'],
    ['length = ', 'invalid password policy: line 1, column 10: expected a value'],
  ])('the password policy %j is rejected', (text, reason) => {
    expect(refusal(text)).toBe(reason)
  })
})

describe('a generated password', () => {
  it('a generated password has the length and the minimum numbers of characters of its policy', () => {
    const policy = parsePasswordPolicy(
      `length = 12 ${charset('abc', 3)} ${charset('0123456789', 2)} ${charset('é😀', 1)}`,
    )
    const random = createSeededRandom(1)
    for (let round = 0; round < 200; round++) {
      const letters = [...(generatePassword(policy, random) ?? '')]
      expect(letters).toHaveLength(12)
      expect(letters.filter((letter) => 'abc'.includes(letter)).length).toBeGreaterThanOrEqual(3)
      expect(letters.filter((letter) => /\d/.test(letter)).length).toBeGreaterThanOrEqual(2)
      expect(letters.filter((letter) => 'é😀'.includes(letter)).length).toBeGreaterThanOrEqual(1)
    }
  })

  it('a generated password contains every character of its policy with the same probability', () => {
    const policy = parsePasswordPolicy(`length = 100 ${charset('abcdefg')}`)
    const random = createSeededRandom(2)
    const counts = new Map<string, number>()
    for (let round = 0; round < 700; round++) {
      for (const letter of generatePassword(policy, random) ?? '') counts.set(letter, (counts.get(letter) ?? 0) + 1)
    }
    expect([...counts.keys()].sort().join('')).toBe('abcdefg')
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })

  it('no password is generated if almost no candidate matches the policy', () => {
    const policy = parsePasswordPolicy(`length = 100 ${charset('a', 100)} ${charset('bcdefghijklmnopqrstuvwxyz')}`)
    expect(generatePassword(policy, createSeededRandom(3))).toBeUndefined()
  })
})
