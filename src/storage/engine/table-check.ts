import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nextTurn } from '../../base/turn.js'
import { Cursor, type Handle } from './level-cursor.js'
import { isChecksumRight } from './level-checksum.js'
import { readLiveTables } from './manifest.js'

/**
 * Verifies the checksums of LevelDB tables. LevelDB writes a checksum after every block of a table but does not verify
 * it on reads. A wrong bit in a key can hide that key or many keys after it. Tables never change after they are
 * written, so they can be verified without LevelDB, even while the database is open.
 */

const FOOTER_BYTES = 48
const MAGIC = 0xdb4775248b80fb57n
/** Bytes after each block: the compression type (1 byte), and the checksum of the block and the type (4 bytes). */
const TRAILER_BYTES = 5

/**
 * Resolves to the names of damaged tables in a directory. Ignores tables that the manifest does not name: a process
 * that is killed during a compaction leaves such a table, and LevelDB removes it on the next open. If the manifest
 * cannot be read, checks all tables.
 */
export const findDamagedTables = async (directory: string): Promise<string[]> => {
  const damaged: string[] = []
  const live = await readLiveTables(directory)
  const names = await readdir(directory).catch(() => [])
  for (const name of names.sort()) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1]
    if (number === undefined) continue
    if (live && !live.has(Number(number))) continue
    // If the read fails, a compaction has removed the table.
    const bytes = await readFile(join(directory, name)).catch(() => undefined)
    if (bytes && !(await isTableSound(bytes))) damaged.push(name)
  }
  return damaged
}

const isTableSound = async (table: Buffer): Promise<boolean> => {
  if (table.length < FOOTER_BYTES) return false
  const footer = table.subarray(table.length - FOOTER_BYTES)
  if (footer.readBigUInt64LE(FOOTER_BYTES - 8) !== MAGIC) return false
  const at = new Cursor(footer)
  const meta = at.handle()
  const index = at.handle()
  const isSound = (handle: Handle | undefined): handle is Handle => handle !== undefined && isBlockSound(table, handle)
  if (!isSound(meta) || !isSound(index)) return false
  const handles = [...handlesOf(table, meta), ...handlesOf(table, index)]
  await nextTurn()
  let checked = 0
  for (const handle of handles) {
    if (!isSound(handle)) return false
    checked += handle.size
    if (checked < TURN_BYTES) continue
    checked = 0
    await nextTurn()
  }
  return true
}

/** Number of verified bytes after which the check yields to the event loop. */
const TURN_BYTES = 512 * 1024

const isBlockSound = (table: Buffer, { offset, size }: Handle): boolean => {
  const end = offset + size + TRAILER_BYTES
  if (end > table.length) return false
  return isChecksumRight(table.readUInt32LE(end - 4), table.subarray(offset, end - 4))
}

/**
 * Yields the block handles of an index block. Yields undefined if the index block is invalid. An entry consists of the
 * length that its key shares with the previous key, the lengths of key and value, the rest of the key, and the value.
 */
function* handlesOf(table: Buffer, { offset, size }: Handle): Generator<Handle | undefined> {
  const block = table.subarray(offset, offset + size)
  const restarts = block.length < 4 ? 0 : block.readUInt32LE(block.length - 4)
  const end = block.length - 4 - 4 * restarts
  const at = new Cursor(block)
  while (at.position < end) {
    at.varint()
    const keyBytes = at.varint()
    const valueBytes = at.varint()
    if (keyBytes === undefined || valueBytes === undefined) return yield undefined
    at.position += keyBytes
    const next = at.position + valueBytes
    yield at.handle()
    at.position = next
  }
}
