import { appendFileSync, closeSync, fstatSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { type LabEvent, parseEvent } from './event.js'

/** A full file becomes the older one, and what was the older one is forgotten: no lab fills a disk with what happened. */
const FILE_BYTES_MAX = 4 * 1024 * 1024

/** Enough for the last events of a file. */
const TAIL_BYTES = 256 * 1024

const fileIn = (directory: string): string => path.join(directory, 'events.jsonl')
const olderIn = (directory: string): string => path.join(directory, 'events.older.jsonl')

/** Everything that the files of a lab tell, oldest first. Lines that are damaged are left out. */
export const readEvents = (directory: string): LabEvent[] =>
  [olderIn(directory), fileIn(directory)].flatMap((file) => parseLines(readAll(file)))

/** The newest events of a lab's files, without reading all of them where that can be. */
export const readLastEvents = (directory: string): LabEvent[] => {
  const last = parseLines(readTail(fileIn(directory)))
  return last.length > 0 ? last : readEvents(directory)
}

const parseLines = (text: string): LabEvent[] => text.split('\n').flatMap((line) => parseEvent(line) ?? [])

const readAll = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const readTail = (file: string): string => {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch {
    return ''
  }
  try {
    const buffer = Buffer.alloc(TAIL_BYTES)
    const start = Math.max(0, fstatSync(handle).size - TAIL_BYTES)
    return buffer.toString('utf8', 0, readSync(handle, buffer, 0, TAIL_BYTES, start))
  } catch {
    return ''
  } finally {
    closeSync(handle)
  }
}

/**
 * The file that events are appended to, line by line. What was appended survives the end of this process. A disk that is full
 * or gone costs the lines that it did not take.
 */
export class EventFile {
  readonly #directory: string
  readonly #bytesMax: number
  #bytes: number
  /** The end of the file may be half a line: of a lab daemon that was killed, or of a disk that was full. */
  #isTorn = true

  constructor(directory: string, bytesMax = FILE_BYTES_MAX) {
    this.#directory = directory
    this.#bytesMax = bytesMax
    this.#bytes = statSync(fileIn(directory), { throwIfNoEntry: false })?.size ?? 0
    if (this.#bytes === 0) this.#isTorn = false
  }

  append(line: string): void {
    const text = `${this.#isTorn ? '\n' : ''}${line}\n`
    try {
      if (this.#bytes >= this.#bytesMax) this.#turnOver()
      appendFileSync(fileIn(this.#directory), text, { mode: 0o600 })
      this.#bytes += Buffer.byteLength(text)
      this.#isTorn = false
    } catch {
      this.#isTorn = true
    }
  }

  #turnOver(): void {
    renameSync(fileIn(this.#directory), olderIn(this.#directory))
    this.#bytes = 0
  }
}
