import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { withInterrupt } from '../../../src/cli/terminal/interrupt.js'
import { waitForEnter } from '../../../src/cli/commands/lab/drill-run.js'
import { Interrupted } from '../../../src/lab/model/lab-error.js'

const press = (keys: string | undefined) => {
  const terminal = { input: new PassThrough(), output: new PassThrough() }
  const pressed = withInterrupt(({ signal }) => waitForEnter('press Enter ', signal, terminal))
  terminal.input.end(keys)
  return pressed
}

describe('the return key', () => {
  it('the return key continues a paused command', async () => {
    await expect(press('\r')).resolves.toBeUndefined()
  })

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
    ['the end of the input', undefined],
  ])('%s interrupts the wait for the return key', async (_, keys) => {
    await expect(press(keys)).rejects.toBeInstanceOf(Interrupted)
  })
})
