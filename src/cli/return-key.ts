import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/**
 * Waits for the return key. A terminal that lines are read from hands Ctrl-C over as a key: it interrupts as anywhere
 * else, and so does the end of the input.
 */
export const waitForReturn = async (
  prompt: string,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> => {
  const lines = createInterface({ input, output, terminal: true })
  const interrupt = () => process.kill(process.pid, 'SIGINT')
  lines.once('SIGINT', interrupt).once('close', interrupt)
  try {
    await lines.question(prompt, { signal })
  } catch (error) {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
    throw error
  } finally {
    lines.off('close', interrupt)
    lines.close()
  }
}
