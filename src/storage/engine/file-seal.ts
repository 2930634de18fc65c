import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256InTurns } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory, writeFileDurably } from './durable-file.js'
import { findKind, readBehind } from './regular-file.js'

/**
 * Digests of a database's files, written on a clean close and removed before the next open. LevelDB does not detect
 * damage itself: a wrong bit in the log makes it drop all later records, and a wrong bit in a key makes another key.
 * After a crash, there is no seal, because the log may then end with an incomplete record.
 */
const SEAL = 'files.sha256'

/** Files without data: LevelDB's own log and lock, the seal, and an unfinished seal. */
const UNSEALED: ReadonlySet<string> = new Set(['LOG', 'LOG.old', 'LOCK', SEAL, `${SEAL}.tmp`])

/**
 * Writes a digest and a name per line, in `sha256sum` format. Rejects if an entry is not a regular file, because its
 * content cannot be verified.
 */
export const sealFiles = async (directory: string): Promise<void> => {
  const lines: string[] = []
  for (const name of (await readdir(directory)).sort()) {
    // A table has 2 MiB, a log 16 MiB, and a large value is seldom bigger. Reading one file at a time therefore needs
    // little memory.
    if (UNSEALED.has(name)) continue
    const bytes = await readBehind(join(directory, name))
    if (!bytes) throw new Error(`${name} cannot be sealed`)
    lines.push(`${await hexOf(bytes)}  ${name}\n`)
  }
  await writeFileDurably(join(directory, SEAL), lines.join(''))
}

const hexOf = async (bytes: Buffer): Promise<string> => (await sha256InTurns(bytes)).toString('hex')

/**
 * Verifies the seal. Resolves to false if there is none. Throws `LogicalError` `internal`, and changes nothing, if a
 * file differs from its digest.
 */
export const checkSeal = async (directory: string): Promise<boolean> => {
  const text = await readFile(join(directory, SEAL), 'utf8').catch(() => undefined)
  if (text === undefined) return false
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const name = line.slice(line.indexOf('  ') + 2)
    const bytes = await readBehind(join(directory, name))
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
 * Removes the seal durably. Must be called before the first write, because the files no longer match a seal that
 * reappears after a crash.
 */
export const breakSeal = async (directory: string): Promise<void> => {
  await rm(join(directory, SEAL), { force: true })
  await syncDirectory(directory)
}
