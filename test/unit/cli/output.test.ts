import { describe, expect, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { formatTable, ProcessOutput } from '../../../src/cli/terminal/output.js'

describe('the output of a process', () => {
  it('process output can be written in parts', () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const { progress, complain } = new ProcessOutput(() => 0)
    progress('under way')
    complain('wrong')
    expect(written.mock.calls.map(([text]) => text)).toEqual(['under way\n', 'wrong\n'])
    written.mockRestore()
  })
})

describe('output as YAML', () => {
  it('the YAML output of several values is a stream of documents', () => {
    const written: string[] = []
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
    const output = new ProcessOutput(() => 0)
    output.format = 'yaml'
    for (const id of [1, 2]) output.data(JSON.stringify({ id, list: ['a'] }))
    spy.mockRestore()
    expect(parseAllDocuments(written.join('')).map((one) => one.toJS())).toEqual([
      { id: 1, list: ['a'] },
      { id: 2, list: ['a'] },
    ])
  })
})

describe('a table', () => {
  it('a table can have more rows than a call can have arguments', () => {
    const rows = Array.from({ length: 150_000 }, () => ['put'])
    expect(formatTable(rows).split('\n')).toHaveLength(rows.length)
  })

  it('a table with a width wraps its last column without losing text', () => {
    const text = 'a primary and its DR secondary, far apart'
    const table = formatTable(
      [
        ['dr', text],
        ['other', 'short'],
      ],
      30,
    )
    expect(table).toBe('dr     a primary and its DR\n       secondary, far apart\nother  short')
    expect(formatTable([['dr', text]])).toBe(`dr  ${text}`)
  })
})
