import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isChecksumRight } from './level-checksum.js'
import { Cursor } from './level-cursor.js'

/**
 * Reader of LevelDB's manifest, a log of edits. Each edit adds and removes tables of the database
 * (https://github.com/google/leveldb/blob/main/doc/log_format.md and doc/impl.md).
 */

const BLOCK_BYTES = 32 * 1024
/** Header of a record fragment: checksum, length and type. */
const HEADER_BYTES = 7
const PIECE = { full: 1, first: 2, middle: 3, last: 4 } as const

/** Field numbers of an edit. */
const FIELD = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  previousLogNumber: 9,
} as const

/**
 * Resolves to the numbers of the live tables, or to undefined if the manifest is unreadable. LevelDB cannot open such a
 * database either. An incomplete last record is not damage, because a killed process can leave one.
 */
export const readLiveTables = async (directory: string): Promise<ReadonlySet<number> | undefined> => {
  const current = await readFile(join(directory, 'CURRENT'), 'utf8').catch(() => '')
  const manifest = await readFile(join(directory, current.trimEnd())).catch(() => undefined)
  if (manifest === undefined) return undefined
  const tables = new Set<number>()
  for (const record of recordsOf(manifest)) {
    if (record === undefined || !applyEdit(tables, record)) return undefined
  }
  return tables
}

/** Yields the complete records of a log. Yields undefined for a damaged record and then ends. */
function* recordsOf(log: Buffer): Generator<Buffer | undefined> {
  let pieces: Buffer[] = []
  for (let at = 0; at + HEADER_BYTES <= log.length; ) {
    const leftInBlock = BLOCK_BYTES - (at % BLOCK_BYTES)
    if (leftInBlock < HEADER_BYTES) {
      at += leftInBlock
      continue
    }
    const end = at + HEADER_BYTES + log.readUInt16LE(at + 4)
    if (end > log.length) return
    if (!isChecksumRight(log.readUInt32LE(at), log.subarray(at + 6, end))) return yield undefined
    const type = log.readUInt8(at + 6)
    if (type === PIECE.full || type === PIECE.first) pieces = []
    pieces.push(log.subarray(at + HEADER_BYTES, end))
    if (type === PIECE.full || type === PIECE.last) yield Buffer.concat(pieces)
    at = end
  }
}

/** Applies an edit to the set of tables. Returns false if the bytes are not a valid edit. */
const applyEdit = (tables: Set<number>, edit: Buffer): boolean => {
  const at = new Cursor(edit)
  while (!at.isAtEnd) {
    if (!applyField(tables, at)) return false
  }
  return true
}

const applyField = (tables: Set<number>, at: Cursor): boolean => {
  switch (at.varint()) {
    case FIELD.comparator:
      return at.skipBytes() !== undefined
    case FIELD.logNumber:
    case FIELD.nextFileNumber:
    case FIELD.lastSequence:
    case FIELD.previousLogNumber:
      return at.varint() !== undefined
    case FIELD.compactPointer:
      return at.varint() !== undefined && at.skipBytes() !== undefined
    case FIELD.deletedFile: {
      const [level, number] = [at.varint(), at.varint()]
      if (level === undefined || number === undefined) return false
      tables.delete(number)
      return true
    }
    case FIELD.newFile: {
      const [level, number, size] = [at.varint(), at.varint(), at.varint()]
      if (level === undefined || number === undefined || size === undefined) return false
      tables.add(number)
      return at.skipBytes() !== undefined && at.skipBytes() !== undefined
    }
    default:
      return false
  }
}
