import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nextTurn } from '../../base/turn.js'
import { Cursor, type Handle } from './level-cursor.js'
import { isChecksumRight } from './level-checksum.js'
import { readLiveTables } from './manifest.js'

/**
 * LevelDB writes a checksum behind every block of a table and does not look at it when it reads: a wrong bit in a key makes
 * the key, or many after it, unfindable. A table is never changed once it is written, so all of it can be checked from
 * outside, also while it is in use.
 */
const FOOTER_BYTES = 48
const MAGIC = 0xdb4775248b80fb57n
/** Behind each block: how it is compressed, and the checksum over both. */
const TRAILER_BYTES = 5

/**
 * Names of the tables in a directory that are not as they were written. Who is killed amid a compaction leaves a table
 * that was not finished; it belongs to nothing, and LevelDB takes it away when it opens. Where it cannot be read which
 * tables belong to the database, all have to be sound.
 */
export const findDamagedTables = async (directory: string): Promise<string[]> => {
  const damaged: string[] = []
  const live = await readLiveTables(directory)
  const names = await readdir(directory).catch(() => [])
  for (const name of names.sort()) {
    const number = /^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1]
    if (number === undefined) continue
    if (live && !live.has(Number(number))) continue
    // One that is gone by now was replaced.
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

/** Bytes that are checked before others get their turn. */
const TURN_BYTES = 512 * 1024

const isBlockSound = (table: Buffer, { offset, size }: Handle): boolean => {
  const end = offset + size + TRAILER_BYTES
  if (end > table.length) return false
  return isChecksumRight(table.readUInt32LE(end - 4), table.subarray(offset, end - 4))
}

/** The places that a sound index block names; undefined where one makes no sense. Keys are stored by what they do not share. */
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
