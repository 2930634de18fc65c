import { describe, expect, it, vi } from 'vitest'
import { ProcessOutput } from '../../../src/cli/output.js'

describe('the output of a process', () => {
  it('may be handed on a part at a time', () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const { progress, complain } = new ProcessOutput(() => 0)
    progress('under way')
    complain('wrong')
    expect(written.mock.calls.map(([text]) => text)).toEqual(['under way\n', 'wrong\n'])
    written.mockRestore()
  })
})
