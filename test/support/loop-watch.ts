import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const PROBE = fileURLToPath(new URL('loop-watch.cjs', import.meta.url))

/** Tells how long the turns of a server's event loop were. */
export interface LoopWatch extends Disposable {
  /** Processor time of the longest turn since it was asked last, in milliseconds; 0 when all were short. */
  readonly longestMs: () => number
}

/** Runs `start`, and watches the servers that it starts as processes. */
export const watchLoop = async <T>(start: () => Promise<T>): Promise<{ started: T; loop: LoopWatch }> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-loop-'))
  const file = path.join(directory, 'turns')
  writeFileSync(file, '')
  const before = process.env.NODE_OPTIONS
  process.env.NODE_OPTIONS = `${before ?? ''} --require=${PROBE}`
  process.env.LOOP_WATCH_FILE = file
  try {
    const started = await start()
    let read = 0
    const longestMs = () => {
      const turns = readFileSync(file, 'utf8').slice(0, -1).split('\n')
      const fresh = turns.slice(read).map(Number)
      read = turns.length
      return Math.max(0, ...fresh)
    }
    const remove = () => rmSync(directory, { recursive: true, force: true })
    return { started, loop: { longestMs, [Symbol.dispose]: remove } }
  } finally {
    delete process.env.LOOP_WATCH_FILE
    if (before === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = before
  }
}
