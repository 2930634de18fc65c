import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { callHttp } from '../../../src/base/http-call.js'
import { inStep, note, whileWaiting } from '../../../src/base/progress.js'
import { ProcessOutput } from '../../../src/cli/terminal/output.js'
import { reportProgress } from '../../../src/cli/terminal/progress.js'
import { ManualClock } from '../../support/manual-clock.js'

const ESC = '\u001b'
const PARTS = new RegExp(`${ESC}\\[(?:(\\d+)A|(0J))|\n|[^${ESC}\n]+`, 'g')

/** Returns the lines of a terminal after a text with the control sequences `up` and `clear down`. */
const linesOf = (text: string): string[] => {
  const lines = ['']
  let at = 0
  for (const [part, up, clear] of text.matchAll(PARTS)) {
    if (up !== undefined) at -= Number(up)
    else if (clear !== undefined) lines.splice(at, lines.length, '')
    else if (part === '\n') lines[++at] ??= ''
    else lines[at] += part
  }
  return lines
}

interface ReportOptions {
  readonly isTTY: boolean
  readonly isQuiet?: boolean
  readonly isVerbose?: boolean
}

/** Reports progress on a standard error that is a terminal or not. */
const report = ({ isTTY, isQuiet = false, isVerbose = false }: ReportOptions) => {
  const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY')
  Object.defineProperty(process.stderr, 'isTTY', { value: isTTY, configurable: true })
  let written = ''
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
  const clock = new ManualClock()
  const output = new ProcessOutput(() => clock.monotonic())
  output.isQuiet = isQuiet
  const reporting = reportProgress(output, clock, isVerbose)
  onTestFinished(() => {
    reporting[Symbol.dispose]()
    write.mockRestore()
    Object.defineProperty(process.stderr, 'isTTY', before ?? { value: undefined, configurable: true })
  })
  return { clock, output, shown: () => linesOf(written), written: () => written }
}

/** Begins a step that ends when `end` is called. */
const begin = (title: string, result: string) => {
  let end = (): void => undefined
  const ended = inStep(title, () => new Promise<void>((resolve) => (end = resolve)), result)
  return async () => {
    end()
    await ended
  }
}

it('progress on a terminal shows running steps with their time, and then the state and the time of each', async () => {
  const { clock, output, shown } = report({ isTTY: true })
  const endOne = begin('unseal A', 'A is unsealed')
  clock.advance(500)
  const endOther = begin('unseal B', 'B is unsealed')
  clock.advance(1000)
  const running = (time: string, title: string) =>
    expect.stringMatching(new RegExp(`^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ${time} s {2}${title}$`))
  expect(shown()).toEqual([running('1.5', 'unseal A'), running('1.0', 'unseal B'), ''])
  await endOther()
  const done = '✓ 1.0 s  B is unsealed'
  expect(shown()).toEqual([done, running('1.5', 'unseal A'), ''])
  output.complain('a warning')
  expect(shown()).toEqual([done, 'a warning', ''])
  await endOne()
  await expect(inStep('seal A', () => Promise.reject(new Error('no')), 'A is sealed')).rejects.toThrow('no')
  expect(shown()).toEqual([done, 'a warning', '✓ 1.5 s  A is unsealed', '✗ 0.0 s  seal A', ''])
})

it('progress on a terminal shows what a command waits for after a second, and erases it', async () => {
  const { clock, shown } = report({ isTTY: true })
  let end = (): void => undefined
  const waiting = whileWaiting('B to respond', (wait) => {
    wait.missing = 'no server listens\nat its address'
    return new Promise<void>((resolve) => (end = resolve))
  })
  clock.advance(900)
  expect(shown()).toEqual([''])
  clock.advance(100)
  expect(shown()).toEqual(['waiting for B to respond: no server listens', ''])
  end()
  await waiting
  clock.advance(100)
  expect(shown()).toEqual([''])
})

it('progress without a terminal is one line for each completed step and each note', async () => {
  const { clock, written } = report({ isTTY: false })
  const end = begin('unseal A', 'A is unsealed')
  clock.advance(500)
  expect(written()).toBe('')
  await end()
  note('B is not running')
  await inStep('step of a drill', async () => undefined, '')
  await expect(inStep('seal A', () => Promise.reject(new Error('no')), 'A is sealed')).rejects.toThrow('no')
  expect(written()).toBe('A is unsealed\nB is not running\n')
})

it.each([true, false])('quiet progress prints nothing (terminal: %s)', async (isTTY) => {
  const { clock, written } = report({ isTTY, isQuiet: true })
  const end = begin('unseal A', 'A is unsealed')
  clock.advance(5000)
  await end()
  note('B is not running')
  expect(written()).toBe('')
})

it('--verbose prints a call without a response, for example after a timeout', async () => {
  const { shown } = report({ isTTY: false, isVerbose: true })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(() => void server.close())
  const call = callHttp({ method: 'GET', url: `http://127.0.0.1:${port}/v1/sys/health?token=x`, timeoutMs: 1 })
  await expect(call).rejects.toThrow('no response within 1 ms')
  await expect.poll(shown).toEqual([`GET http://127.0.0.1:${port}/v1/sys/health: no response after 0 ms`, ''])
})
