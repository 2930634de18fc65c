import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { confirmErasure } from '../../../src/cli/terminal/confirm.js'

/** Asks about the erasure of data with this input. Returns the texts of the command. */
const ask = async (input: string | undefined, { isTTY = true, isAgreed = false } = {}) => {
  const texts: string[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const stderr = Object.assign(new PassThrough(), { isTTY })
  stdin.end(input)
  const output = { complain: (text: string) => void texts.push(text) }
  await confirmErasure(output, isAgreed, undefined, { stdin, stderr })('the data of B is erased')
  const question: unknown = stderr.read()
  return question === null ? texts : [...texts, String(question)]
}

const WARNING = 'WARNING: the data of B is erased'

describe('a command that erases data', () => {
  it.each(['y\n', 'YES\n', 'y'])('the answer %j on a terminal confirms the erasure', async (answer) => {
    expect(await ask(answer)).toEqual([WARNING, 'Continue? (y/N) '])
  })

  it.each(['n\n', '\n', 'understudy down\n', undefined])('the answer %j on a terminal stops it', async (answer) => {
    await expect(ask(answer)).rejects.toMatchObject({
      code: 'interrupted',
      message: expect.stringContaining('nothing was changed'),
    })
  })

  it('the command only warns without a terminal and with --yes', async () => {
    expect(await ask(undefined, { isTTY: false })).toEqual([WARNING])
    expect(await ask(undefined, { isAgreed: true })).toEqual([WARNING])
  })

  it('a signal ends the question', async () => {
    const reason = new Error('interrupted')
    const terminal = Object.assign(new PassThrough(), { isTTY: true })
    const aborting = new AbortController()
    const asked = confirmErasure({ complain: () => undefined }, false, aborting.signal, {
      stdin: terminal,
      stderr: Object.assign(new PassThrough(), { isTTY: true }),
    })('the data of B is erased')
    aborting.abort(reason)
    await expect(asked).rejects.toBe(reason)
  })
})
