import type http from 'node:http'
import { attempt } from '../../base/attempt.js'
import type { Clock } from '../../base/clock.js'
import { LabError } from '../model/lab-error.js'
import { type EventDraft, type LabEvent, parseEvent, timesOf } from './event.js'
import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'

/** Events kept in memory for readers that reconnect. The files contain more. */
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
  /** Visible clock skew of a cluster, in milliseconds. */
  readonly skewMsOf?: (cluster: string) => number
  /** Maximum size of the current file in bytes. A file of this size replaces the older file. */
  readonly fileBytesMax?: number
}

const FILE_BYTES_MAX = 4 * 1024 * 1024

/** The events of a lab: bounded in memory and on disk, and sent to listeners. Numbering continues after a daemon restart. */
export class EventLog {
  readonly #options: EventLogOptions
  readonly #listeners = new Set<(event: LoggedEvent) => void>()
  #kept: LoggedEvent[] = []
  #keptCharacters = 0
  #lastId = 0
  #fileBytes: number
  /** The file may end in a partial line, after a crash of a lab daemon or with a full disk. */
  #isTorn: boolean

  constructor(options: EventLogOptions) {
    const { directory } = options
    this.#options = options
    for (const event of readLastEvents(directory)) this.#keep({ id: event.id, line: JSON.stringify(event) })
    this.#fileBytes = statSync(fileIn(directory), { throwIfNoEntry: false })?.size ?? 0
    this.#isTorn = this.#fileBytes > 0
  }

  /** Appends an event. Throws a usage error if it is too large. */
  append(draft: EventDraft): LabEvent {
    const { lab, clock, skewMsOf } = this.#options
    const { cluster, kind, details, command } = draft
    const times = timesOf(clock.now(), cluster === undefined ? 0 : (skewMsOf?.(cluster) ?? 0))
    const event: LabEvent = { id: this.#lastId + 1, ...times, lab, cluster, kind, details, command }
    const line = JSON.stringify(event)
    if (line.length > EVENT_CHARACTERS_MAX) throw new LabError('usage', 'the event is too large')
    const logged = { id: event.id, line }
    this.#keep(logged)
    // Written before it is sent, so that a successor of a crashed lab daemon never reuses a number.
    this.#write(line)
    for (const listener of [...this.#listeners]) listener(logged)
    return event
  }

  /** Returns the events in memory with a higher number. */
  after(id: number): readonly LoggedEvent[] {
    return this.#kept.filter((event) => event.id > id)
  }

  /** Calls `listener` for each new event until the returned function is called. */
  listen(listener: (event: LoggedEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Appends a line, which survives the end of this process. If the disk is full or missing, the line is lost. */
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

/** Unsent bytes after which a slow reader is disconnected. It reconnects with the last event number that it received. */
const BEHIND_BYTES_MAX = 1024 * 1024

/** Readers that receive each event immediately as one line of JSON, until they disconnect. */
export class EventStreams {
  readonly #log: EventLog
  readonly #open = new Set<http.ServerResponse>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Sends events after this number, then new ones. Throws a conflict if there are too many readers. */
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

/** Contains at least the most recent events of a file. */
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
