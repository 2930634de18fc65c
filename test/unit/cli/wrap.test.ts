import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wrapIndented, wrapText } from '../../../src/cli/vault/text.js'

const words = fc.array(fc.stringMatching(/^[a-z*.,]{1,20}$/), { minLength: 1, maxLength: 60 })
const raggedness = (lines: readonly string[], width: number) =>
  lines.slice(0, -1).reduce((sum, line) => sum + (width - line.length) ** 2, 0)

/** Puts as many words as possible into each line. */
const wrapGreedily = (text: string, width: number): string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

describe('wrapping', () => {
  it('wrapped text keeps the words in order, on lines within the width', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 80 }), (list, width) => {
        const lines = wrapText(list.join(' '), width)
        expect(lines.join(' ')).toBe(list.join(' '))
        expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(width)
      }),
      { verbose: true },
    )
  })

  it('wrapped text is at most as ragged as greedy filling', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 80 }), (list, width) => {
        const text = list.join(' ')
        expect(raggedness(wrapText(text, width), width)).toBeLessThanOrEqual(
          raggedness(wrapGreedily(text, width), width),
        )
      }),
      { verbose: true },
    )
  })

  it('wrapping counts the indent, treats line ends as blanks, and keeps an overlong word whole', () => {
    expect(wrapIndented('* one\ntwo', 2)).toBe('  * one two')
    const wide = 'w'.repeat(90)
    expect(wrapText(`a ${wide} b`, 78)).toEqual([`a ${wide}`, 'b'])
    expect(wrapText('', 78)).toEqual([])
  })
})
