import { describe, expect, it } from 'vitest'
import { runProgram } from '../support/program.js'

describe('a misspelt command of ours', () => {
  it.each([
    ['staus', 'status'],
    ['vualt', 'vault'],
    ['sever', 'server'],
    ['docter', 'doctor'],
  ])('understudy %s is asked about: %s', async (typed, meant) => {
    const { status, stdout, stderr } = await runProgram([typed])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(`Did you mean ${meant}?`)
  })
})
