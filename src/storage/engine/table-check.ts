import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nextTurn } from '../../base/turn.js'
import { Cursor, type Handle } from './level-cursor.js'
import { isChecksumRight } from './level-checksum.js'
import { readLiveTables } from './manifest.js'

/**
 * LevelDB writes a checksum after every block of a table but does not verify it on reads. A wrong bit in a key can hide
 * that key or many after it. Tables never change after they are written, so they can be verified from outside, even
 * while in use.
 */
const FOOTER_BYTES = 48
const MAGIC = 0xdb4775248b80fb57n
/** After each block: the compression type, and the checksum over both. */
const TRAILER_BYTES = 5

/**
 * Returns the names of damaged tables in a directory. A process killed during a compaction leaves an unfinished table,
 * which belongs to no database and which LevelDB removes on open. If the manifest cannot be read, all tables are
 * checked.
 */
export const findDamagedTables = async (directory: string): Promise<string[]> => {
  const damaged: string[] = []
  const live = await readLiveTables(directory)
  const names = await readdir(directory).catch(() => [])
  for (const name of names.sort()) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1]
    if (number === undefined) continue
    if (live && !live.has(Number(number))) continue
    // If the read fails, a compaction has replaced the table.
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

/** Bytes to verify before yielding to the event loop. */
const TURN_BYTES = 512 * 1024

const isBlockSound = (table: Buffer, { offset, size }: Handle): boolean => {
  const end = offset + size + TRAILER_BYTES
  if (end > table.length) return false
  return isChecksumRight(table.readUInt32LE(end - 4), table.subarray(offset, end - 4))
}

/**
 * Returns the block handles of a valid index block; undefined for an invalid one. Keys are stored as differences to the
 * previous key.
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
