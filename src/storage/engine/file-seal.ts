import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256InTurns } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory, writeFileDurably } from './durable-file.js'
import { findKind, readFollowingLinks } from './regular-file.js'

/**
 * Name of the seal: a file with the digests of all database files, written on a clean close and removed on the next
 * open. The seal exists because LevelDB misses damage: it drops all log records after a wrong bit, and reads a key with
 * a wrong bit as another key. After a crash, there is no seal, because the log may end with an incomplete record.
 */
const SEAL = 'files.sha256'

/** Files without data: LevelDB's own log and lock, the seal, and an unfinished seal. */
const UNSEALED: ReadonlySet<string> = new Set(['LOG', 'LOG.old', 'LOCK', SEAL, `${SEAL}.tmp`])

/**
 * Writes the seal: one line per file with digest and name, in `sha256sum` format. Rejects if an entry of the directory
 * cannot be read as a file.
 */
export const sealFiles = async (directory: string): Promise<void> => {
  const lines: string[] = []
  for (const name of (await readdir(directory)).sort()) {
    // Reading whole files one by one needs little memory: a table has about 2 MiB, a log 16 MiB, and few values are
    // larger.
    if (UNSEALED.has(name)) continue
    const bytes = await readFollowingLinks(join(directory, name))
    if (!bytes) throw new Error(`cannot seal ${name}: it cannot be read as a file`)
    lines.push(`${await hexOf(bytes)}  ${name}\n`)
  }
  await writeFileDurably(join(directory, SEAL), lines.join(''))
}

const hexOf = async (bytes: Buffer): Promise<string> => (await sha256InTurns(bytes)).toString('hex')

/**
 * Verifies all files against the seal. Resolves to false if there is no seal. Rejects with `LogicalError` `internal`,
 * and changes nothing, if a file differs from its digest.
 */
export const checkSeal = async (directory: string): Promise<boolean> => {
  const text = await readFile(join(directory, SEAL), 'utf8').catch(() => undefined)
  if (text === undefined) return false
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const name = line.slice(line.indexOf('  ') + 2)
    const bytes = await readFollowingLinks(join(directory, name))
    if (bytes && line === `${await hexOf(bytes)}  ${name}`) continue
    const kind = bytes ? undefined : findKind(join(directory, name))
    const found = kind === 'missing' ? 'is missing' : `${kind ? `is ${kind} and ` : ''}has changed`
    throw new LogicalError(
      'internal',
      `the data is damaged: ${join(directory, name)} ${found} since the server stopped. Restore the file, or ` +
        'promote a secondary in its place; to continue with the remaining data, use "understudy storage adopt --force"',
    )
  }
  return true
}

/**
 * Removes the seal durably. Must be called before the first write. Otherwise, a crash could restore a seal that does
 * not match the changed files.
 */
export const breakSeal = async (directory: string): Promise<void> => {
  await rm(join(directory, SEAL), { force: true })
  await syncDirectory(directory)
}
