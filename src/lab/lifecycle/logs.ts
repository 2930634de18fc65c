import { closeSync, copyFileSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { formatLine } from '../../base/log.js'
import { makeDirectory } from '../../base/make-directory.js'
import { type LabRecord, serversIn } from '../model/cluster.js'

/** A log file. `name`: the name of a server, `keeper` for the lab daemon, or `etcd`. */
interface LogSource {
  readonly name: string
  readonly logFile: string
}

export interface LogLine {
  readonly source: string
  /** Milliseconds since the epoch. A line without a time has the time of the previous line. */
  readonly atMs: number
  readonly text: string
}

/** The time of a line: at its start, or in the field `time` or `@timestamp` of a JSON line. */
const TIME = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)|"(?:@timestamp|time)":\s*(?:"([^"]+)"|(\d+))/

/**
 * Returns the logs of the named servers, or of all servers. `isDaemonWanted`: also the logs of the lab daemon and its
 * etcd.
 */
export const logSources = (
  { clusters, keeper, etcd }: LabRecord,
  names: readonly string[],
  isDaemonWanted: boolean,
): LogSource[] => [
  ...clusters.flatMap((cluster) =>
    serversIn(cluster).filter(({ name }) => names.length === 0 || names.includes(name) || names.includes(cluster.name)),
  ),
  ...(isDaemonWanted ? [{ name: 'keeper', logFile: keeper.logFile }] : []),
  ...(isDaemonWanted && etcd ? [{ name: 'etcd', logFile: etcd.logFile }] : []),
]

/** Copies the existing logs into a directory, and returns the paths of the copies. */
export const exportLogs = (sources: readonly LogSource[], directory: string): string[] => {
  makeDirectory(directory)
  return sources
    .filter(({ logFile }) => existsSync(logFile))
    .map(({ name, logFile }) => {
      const copy = path.join(directory, `${name}.log`)
      copyFileSync(logFile, copy)
      return copy
    })
}

/** Reads the new lines of logs since the previous call. Reads a replaced or truncated file from its start. */
export class LogReader {
  readonly #tails: readonly LogTail[]

  constructor(sources: readonly LogSource[]) {
    this.#tails = sources.map((source) => new LogTail(source))
  }

  /** Returns new complete lines, merged by time. Lines of one file keep their order. */
  read(): LogLine[] {
    return this.#tails.flatMap((tail) => tail.read()).sort((one, other) => one.atMs - other.atMs)
  }
}

class LogTail {
  readonly #source: LogSource
  #inode = 0
  #offset = 0
  #rest = Buffer.alloc(0)
  #atMs = 0

  constructor(source: LogSource) {
    this.#source = source
  }

  read(): LogLine[] {
    const file = openIfThere(this.#source.logFile)
    if (file === undefined) return []
    try {
      const { ino, size } = fstatSync(file)
      if (ino !== this.#inode || size < this.#offset) this.#begin(ino)
      return this.#take(readFrom(file, this.#offset, size))
    } finally {
      closeSync(file)
    }
  }

  #begin(inode: number): void {
    this.#inode = inode
    this.#offset = 0
    this.#rest = Buffer.alloc(0)
  }

  #take(bytes: Buffer): LogLine[] {
    this.#offset += bytes.length
    const all = Buffer.concat([this.#rest, bytes])
    const end = all.lastIndexOf('\n') + 1
    this.#rest = all.subarray(end)
    const texts = all.subarray(0, end).toString('utf8').split('\n')
    return texts
      .filter((text) => text !== '')
      .map((text) => {
        this.#atMs = timeOf(text) ?? this.#atMs
        return { source: this.#source.name, atMs: this.#atMs, text }
      })
  }
}

const openIfThere = (file: string): number | undefined => {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const readFrom = (file: number, offset: number, end: number): Buffer => {
  const bytes = Buffer.alloc(end - offset)
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset))
}

const timeOf = (text: string): number | undefined => {
  const [, plain, quoted, number] = TIME.exec(text) ?? []
  const ms = number === undefined ? Date.parse(plain ?? quoted ?? '') : Number(number)
  return Number.isNaN(ms) ? undefined : ms
}

/** Whether a line belongs to the request with this ID. */
export const isOfRequest = ({ text }: LogLine, id: string): boolean => fieldsOf(text)?.request_id === id

/**
 * Returns a line as JSON, with its source as the field `cluster` or `source`. A line that is not JSON, such as a start
 * banner, becomes the field `message`.
 */
export const toJsonLine = ({ source, text }: LogLine): string => {
  const from = source === 'keeper' ? { source } : { cluster: source }
  return JSON.stringify({ ...from, ...(fieldsOf(text) ?? { message: text }), ...from })
}

/** Formats a line as text: source, time, level, message and further fields. */
export const toTextLine = ({ source, text }: LogLine): string => {
  const fields = fieldsOf(text)
  return `${source} ${fields?.time === undefined ? text : formatLine(fields)}`
}

const fieldsOf = (text: string): Record<string, unknown> | undefined =>
  text.startsWith('{') ? attempt(() => JSON.parse(text) as Record<string, unknown>) : undefined
