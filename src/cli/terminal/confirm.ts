import { createInterface } from 'node:readline'
import { LabError } from '../../lab/model/lab-error.js'
import type { Output } from './output.js'

/** The flag that skips the confirmation of commands that erase data. */
export const YES = ['--yes', 'erase data without asking for confirmation'] as const

interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

/**
 * Returns a function that warns of what a command erases. On a terminal, it asks for confirmation, unless `isAgreed`. A
 * script cannot answer, so it is not asked. Throws LabError `interrupted` if the operator does not agree.
 */
export const confirmErasure =
  (output: Pick<Output, 'complain'>, isAgreed: boolean, signal?: AbortSignal, { stdin, stderr }: Terminal = process) =>
  async (what: string): Promise<void> => {
    output.complain(`WARNING: ${what}`)
    if (isAgreed || !stdin.isTTY || !stderr.isTTY) return
    stderr.write('Continue? (y/N) ')
    const answer = await readLine(stdin, signal)
    signal?.throwIfAborted()
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new LabError('interrupted', 'not confirmed: nothing was changed')
  }

/** Reads one line; an empty text at the end of the input. In the line mode of the terminal, Ctrl-C is a signal. */
const readLine = async (input: NodeJS.ReadableStream, signal?: AbortSignal): Promise<string> => {
  const lines = createInterface({ input, terminal: false, ...(signal && { signal }) })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
  }
}
