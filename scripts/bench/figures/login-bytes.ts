import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { setUpAppRole, worksOf } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { blockBytes } from '../machine.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
/** So few that they fit into one log file of the engine. */
const LOGINS = 2000
/**
 * So many that the engine has written its memory down several times, which costs blocks as well. The more it holds, the more of
 * that is written again with what is new: the count is the same on every machine, and the server has nothing else.
 */
const LOGINS_TO_BLOCKS = 100_000
const ATTEMPTS = 5
const KB = 1000

/**
 * Figures 18a and 18b: what a login for a service token writes. Everything that is put into the engine goes through its log
 * file, so that grows by as much; what reaches the disk has whole blocks instead.
 */
export const measureLoginBytes = async (bench: Bench): Promise<void> => {
  const server = await bench.server('logins')
  const { 'AppRole login, service': login } = worksOf(server, await setUpAppRole(server))
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = newestLog(server.dataDirectory)
    const logins = await logIn(bench, login, LOGINS)
    const after = newestLog(server.dataDirectory)
    // With a new file nobody knows how far the one before had come.
    if (after.file !== before.file) continue
    bench.add('18a', (after.bytes - before.bytes) / logins / KB)
    break
  }
  const before = blockBytes(server.pid)
  const logins = await logIn(bench, login, bench.isQuick ? LOGINS : LOGINS_TO_BLOCKS)
  const after = blockBytes(server.pid)
  // A directory in memory has no blocks.
  if (after > before) bench.add('18b', (after - before) / logins / KB)
}

const logIn = async ({ generator }: Bench, login: Work, answersMax: number): Promise<number> =>
  (await generator.load({ ...login, answersMax, warmupSeconds: 0 }, CONNECTIONS, 600)).answersInAll

/** The log file that the engine writes to. */
const newestLog = (directory: string): { file: string; bytes: number } => {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => /^\d{6}\.log$/.test(path.basename(name)))
    .map((name) => path.join(directory, name))
    .sort((a, b) => path.basename(a).localeCompare(path.basename(b)))
  const file = files.at(-1)
  if (file === undefined) throw new Error(`no log of the engine below ${directory}`)
  return { file, bytes: statSync(file).size }
}
