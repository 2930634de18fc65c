import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { setUpAppRole, requestsOf } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { blockBytes } from '../machine.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
/** Few enough logins to fit into one log file of the engine. */
const LOGINS = 2000
/**
 * Enough logins for several flushes and compactions of the engine, which write blocks as well. Compactions rewrite more
 * if the server has more data, so this number is the same on every machine, and the server has no other data.
 */
const LOGINS_TO_BLOCKS = 100_000
const ATTEMPTS = 5
const KB = 1000

/**
 * Figures 18a and 18b: the bytes that a login for a service token writes. The growth of the log file of the engine
 * shows the bytes written to the engine. The block device gets whole blocks.
 */
export const measureLoginBytes = async (bench: Bench): Promise<void> => {
  const server = await bench.server('logins')
  const { 'AppRole login, service': login } = requestsOf(server, await setUpAppRole(server))
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = newestLog(server.dataDirectory)
    const logins = await logIn(bench, login, LOGINS)
    const after = newestLog(server.dataDirectory)
    // After a change of the log file, the growth of the former file is unknown.
    if (after.file !== before.file) continue
    bench.add('18a', (after.bytes - before.bytes) / logins / KB)
    break
  }
  const before = blockBytes(server.pid)
  const logins = await logIn(bench, login, bench.isQuick ? LOGINS : LOGINS_TO_BLOCKS)
  const after = blockBytes(server.pid)
  // A file system in memory writes no blocks.
  if (after > before) bench.add('18b', (after - before) / logins / KB)
}

const logIn = async ({ generator }: Bench, login: Work, answersMax: number): Promise<number> =>
  (await generator.load({ ...login, answersMax, warmupSeconds: 0 }, CONNECTIONS, 600)).answersInAll

/** Returns the current log file of the engine. */
const newestLog = (directory: string): { file: string; bytes: number } => {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => /^\d{6}\.log$/.test(path.basename(name)))
    .map((name) => path.join(directory, name))
    .sort((a, b) => path.basename(a).localeCompare(path.basename(b)))
  const file = files.at(-1)
  if (file === undefined) throw new Error(`no log of the engine below ${directory}`)
  return { file, bytes: statSync(file).size }
}
