import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Work } from '../load/generator.js'
import { blockBytes } from '../machine.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
/** So few that they fit into one log file of the engine. */
const LOGINS = 2000
const ATTEMPTS = 5
const KB = 1000

/**
 * Figures 18a and 18b: what a login for a service token writes. Everything that is put into the engine goes through its log
 * file, so that grows by as much; what reaches the disk has whole blocks instead.
 */
export const measureLoginBytes = async (bench: Bench, server: BenchServer, login: Work): Promise<void> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = { log: newestLog(server.dataDirectory), blocks: blockBytes(server.pid) }
    const work = { ...login, answersMax: LOGINS, warmupSeconds: 0 }
    const { answersInAll } = await bench.generator.load(work, CONNECTIONS, 600)
    const after = { log: newestLog(server.dataDirectory), blocks: blockBytes(server.pid) }
    // With a new file nobody knows how far the one before had come.
    if (after.log.file !== before.log.file) continue
    bench.add('18a', (after.log.bytes - before.log.bytes) / answersInAll / KB)
    // A directory in memory has no blocks.
    if (after.blocks > before.blocks) bench.add('18b', (after.blocks - before.blocks) / answersInAll / KB)
    return
  }
}

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
