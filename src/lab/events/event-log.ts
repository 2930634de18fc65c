import type http from 'node:http'
import { attempt } from '../../base/attempt.js'
import type { Clock } from '../../base/clock.js'
import { LabError } from '../model/lab-error.js'
import { type EventDraft, type LabEvent, parseEvent, timesOf } from './event.js'
import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'

/** Maximum number of events in memory, for readers that reconnect. The files contain more events. */
const KEPT_EVENTS_MAX = 1000
const KEPT_CHARACTERS_MAX = 1024 * 1024
const EVENT_CHARACTERS_MAX = 16 * 1024

interface LoggedEvent {
  readonly id: number
  readonly line: string
}

interface EventLogOptions {
  readonly lab: string
  /** The directory of the event files. */
  readonly directory: string
  readonly clock: Clock
  /** Returns the clock skew that visible faults of a cluster cause, in milliseconds. */
  readonly skewMsOf?: (cluster: string) => number
  /**
   * Maximum size of the current file, in bytes. A file of this size becomes the older file, and replaces the previous
   * one.
   */
  readonly fileBytesMax?: number
}

const FILE_BYTES_MAX = 4 * 1024 * 1024

/**
 * Stores the events of a lab, with limits in memory and on disk, and sends them to listeners. IDs increase across
 * restarts.
 */
export class EventLog {
  readonly #options: EventLogOptions
  readonly #listeners = new Set<(event: LoggedEvent) => void>()
  #kept: LoggedEvent[] = []
  #keptCharacters = 0
  #lastId = 0
  #fileBytes: number
  /** Whether the file may end in a partial line, after a crash of a lab daemon or a failed write. */
  #isTorn: boolean

  constructor(options: EventLogOptions) {
    const { directory } = options
    this.#options = options
    for (const event of readLastEvents(directory)) this.#keep({ id: event.id, line: JSON.stringify(event) })
    this.#fileBytes = statSync(fileIn(directory), { throwIfNoEntry: false })?.size ?? 0
    this.#isTorn = this.#fileBytes > 0
  }

  /** Appends an event. Throws LabError `usage` if the event is too large. */
  append(draft: EventDraft): LabEvent {
    const { lab, clock, skewMsOf } = this.#options
    const { cluster, kind, details, command } = draft
    const times = timesOf(clock.now(), cluster === undefined ? 0 : (skewMsOf?.(cluster) ?? 0))
    const event: LabEvent = { id: this.#lastId + 1, ...times, lab, cluster, kind, details, command }
    const line = JSON.stringify(event)
    if (line.length > EVENT_CHARACTERS_MAX)
      throw new LabError('usage', `the event has ${line.length} characters, but the maximum is ${EVENT_CHARACTERS_MAX}`)
    const logged = { id: event.id, line }
    this.#keep(logged)
    // Writes the event before it is sent, so that after a crash the next lab daemon does not reuse its ID.
    this.#write(line)
    for (const listener of [...this.#listeners]) listener(logged)
    return event
  }

  /** Returns the events in memory with an ID greater than `id`. */
  after(id: number): readonly LoggedEvent[] {
    return this.#kept.filter((event) => event.id > id)
  }

  get listenerCount(): number {
    return this.#listeners.size
  }

  /** Calls `listener` for each new event until the caller calls the returned function. */
  listen(listener: (event: LoggedEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Appends a line to the file at once, so that the line survives a crash. If the write fails, the line is lost. */
  #write(line: string): void {
    const { directory, fileBytesMax = FILE_BYTES_MAX } = this.#options
    const text = `${this.#isTorn ? '\n' : ''}${line}\n`
    try {
      if (this.#fileBytes >= fileBytesMax) {
        renameSync(fileIn(directory), olderIn(directory))
        this.#fileBytes = 0
      }
      appendFileSync(fileIn(directory), text, { mode: 0o600 })
      this.#fileBytes += Buffer.byteLength(text)
      this.#isTorn = false
    } catch {
      this.#isTorn = true
    }
  }

  #keep(event: LoggedEvent): void {
    this.#lastId = Math.max(this.#lastId, event.id)
    this.#kept.push(event)
    this.#keptCharacters += event.line.length
    while (this.#kept.length > KEPT_EVENTS_MAX || this.#keptCharacters > KEPT_CHARACTERS_MAX)
      this.#keptCharacters -= this.#kept.shift()?.line.length ?? 0
  }
}

const STREAMS_MAX = 32

/**
 * Number of unsent bytes at which a slow reader is disconnected. The reader reconnects with the ID of its last event.
 */
const BEHIND_BYTES_MAX = 1024 * 1024

/** Sends each event to the connected readers immediately, as one line of JSON. */
export class EventStreams {
  readonly #log: EventLog
  readonly #open = new Set<http.ServerResponse>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /**
   * Sends the events in memory with a higher ID than `after`, then new events. Throws LabError `conflict` at the limit.
   */
  add(response: http.ServerResponse, after: number): void {
    if (this.#open.size >= STREAMS_MAX)
      throw new LabError('conflict', `the maximum of ${STREAMS_MAX} readers of events is reached`)
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.flushHeaders()
    const send = ({ line }: LoggedEvent) => {
      response.write(`${line}\n`)
      if (response.writableLength > BEHIND_BYTES_MAX) response.destroy()
    }
    const stop = this.#log.listen(send)
    this.#open.add(response)
    response.on('error', () => undefined)
    response.on('close', () => {
      stop()
      this.#open.delete(response)
    })
    for (const event of this.#log.after(after)) send(event)
  }

  close(): void {
    for (const response of this.#open) response.destroy()
  }
}

/** Number of bytes at the end of a file that contain at least its most recent events. */
const TAIL_BYTES = 256 * 1024

const fileIn = (directory: string): string => path.join(directory, 'events.jsonl')
const olderIn = (directory: string): string => path.join(directory, 'events.older.jsonl')

/** Reads all events from the files of a lab, oldest first. Skips damaged lines. */
export const readEvents = (directory: string): LabEvent[] =>
  [olderIn(directory), fileIn(directory)].flatMap((file) => readLines(file))

const readLastEvents = (directory: string): LabEvent[] => {
  const last = readLines(fileIn(directory), TAIL_BYTES)
  return last.length > 0 ? last : readEvents(directory)
}

const readLines = (file: string, bytesMax = Number.POSITIVE_INFINITY): LabEvent[] =>
  attempt(() => {
    const lines = readFileSync(file).subarray(-bytesMax).toString('utf8').split('\n')
    return lines.flatMap((line) => parseEvent(line) ?? [])
  }) ?? []
