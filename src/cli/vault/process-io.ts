import { homedir } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { systemClock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { createSystemRandom } from '../../base/random.js'
import { localError, type VaultIo } from './model.js'

/** Creates the environment of the `vault` command line from this process. */
export const createProcessIo = (serve: VaultIo['serve']): VaultIo => {
  // A program that reads the output, such as `head`, may close the pipe early. This is not a failure.
  process.stdout.on('error', () => {})
  return {
    env: process.env,
    homeDirectory: process.env.HOME || homedir(),
    isStdoutTty: process.stdout.isTTY === true,
    clock: systemClock,
    random: createSystemRandom(),
    write: (data) => void process.stdout.write(data),
    complain: (text) => void process.stderr.write(`${text}\n`),
    readStdin,
    ask,
    serve,
  }
}

const readStdin = async (): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk))
    bytes += chunks.at(-1)?.length ?? 0
    if (bytes > LIMITS.bodyBytesMax)
      throw localError(`standard input is too large: the limit is ${LIMITS.bodyBytesMax} bytes`)
  }
  return Buffer.concat(chunks)
}

const ask = async (prompt: string): Promise<string> => {
  const isTerminal = process.stdin.isTTY === true
  process.stderr.write(prompt)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => reject(localError('The input ended before an answer was entered')))
      lines.once('SIGINT', () => reject(localError('Interrupted')))
    })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
