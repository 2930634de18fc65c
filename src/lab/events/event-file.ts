import { appendFileSync, closeSync, fstatSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { type LabEvent, parseEvent } from './event.js'

/** A full file replaces the previous older file, which bounds the disk space of events. */
const FILE_BYTES_MAX = 4 * 1024 * 1024

/** Contains at least the most recent events of a file. */
const TAIL_BYTES = 256 * 1024

const fileIn = (directory: string): string => path.join(directory, 'events.jsonl')
const olderIn = (directory: string): string => path.join(directory, 'events.older.jsonl')

/** Reads all events from the files of a lab, oldest first. Skips damaged lines. */
export const readEvents = (directory: string): LabEvent[] =>
  [olderIn(directory), fileIn(directory)].flatMap((file) => parseLines(readAll(file)))

/** Reads the newest events of a lab. Reads only the end of the files if that is sufficient. */
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
 * The file to which events are appended as lines. Appended events survive the end of this process. If the disk is full or
 * missing, the affected lines are lost.
 */
export class EventFile {
  readonly #directory: string
  readonly #bytesMax: number
  #bytes: number
  /** The file may end in a partial line, after a crash of a lab daemon or with a full disk. */
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
