import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256InTurns } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import { syncDirectory, writeFileDurably } from './durable-file.js'
import { findKind, readBehind } from './regular-file.js'

/**
 * The digests of a database's files, written when it is closed in order and taken away before it is opened again. LevelDB
 * serves what it finds: of a log with a wrong bit it drops everything behind it, and a key with one is another key. After a
 * crash there is no seal, since a torn end of the log is then nothing strange.
 */
const SEAL = 'files.sha256'

/** Files without data: LevelDB's own log and lock, the seal itself, and the rest of one that was not finished. */
const UNSEALED: ReadonlySet<string> = new Set(['LOG', 'LOG.old', 'LOCK', SEAL, `${SEAL}.tmp`])

/** Lines of digest and name, as `sha256sum` writes them. Rejects where something is no file: nothing vouches for that. */
export const sealFiles = async (directory: string): Promise<void> => {
  const lines: string[] = []
  for (const name of (await readdir(directory)).sort()) {
    // A table has 2 MiB, a log 16, and a large value hardly more: one at a time costs no memory worth speaking of.
    if (UNSEALED.has(name)) continue
    const bytes = await readBehind(join(directory, name))
    if (!bytes) throw new Error(`${name} cannot be sealed`)
    lines.push(`${await hexOf(bytes)}  ${name}\n`)
  }
  await writeFileDurably(join(directory, SEAL), lines.join(''))
}

const hexOf = async (bytes: Buffer): Promise<string> => (await sha256InTurns(bytes)).toString('hex')

/**
 * False when there is no seal. Fails with LogicalError `internal`, and leaves everything as it is, when a file is not as it
 * was when it was sealed.
 */
export const checkSeal = async (directory: string): Promise<boolean> => {
  const text = await readFile(join(directory, SEAL), 'utf8').catch(() => undefined)
  if (text === undefined) return false
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const name = line.slice(line.indexOf('  ') + 2)
    const bytes = await readBehind(join(directory, name))
    if (bytes && line === `${await hexOf(bytes)}  ${name}`) continue
    const kind = bytes ? undefined : findKind(join(directory, name))
    const found = kind === 'missing' ? 'is missing that was there' : `is ${kind ? `${kind} and ` : ''}not as it was`
    throw new LogicalError(
      'internal',
      `the data is damaged: ${join(directory, name)} ${found} when the server stopped. Put it back, or let a secondary take ` +
        'its place; to go on with what is left, use "understudy storage adopt --force"',
    )
  }
  return true
}

/** To be done before anything is written, and durably: a seal that comes back would no longer fit. */
export const breakSeal = async (directory: string): Promise<void> => {
  await rm(join(directory, SEAL), { force: true })
  await syncDirectory(directory)
}
