import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { LabRecord } from '../cluster.js'

export interface LogLine {
  readonly cluster: string
  /** Milliseconds since the epoch: its own time, or that of the line before it where it has none. */
  readonly atMs: number
  readonly text: string
}

const TIME = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)|"(?:@timestamp|time)":\s*(?:"([^"]+)"|(\d+))/

/** The lines of some servers' logs, merged by their times; lines of one server keep their order. */
export const mergeLogs = (lab: LabRecord, clusters: readonly string[], sinceMs = 0): LogLine[] =>
  lab.clusters
    .filter(({ name }) => clusters.length === 0 || clusters.includes(name))
    .flatMap(({ name, logFile }) => readLines(name, logFile))
    .filter(({ atMs }) => atMs >= sinceMs)
    .sort((one, other) => one.atMs - other.atMs)

/** Copies the logs of all servers, and of the keeper, into a directory; returns the files. */
export const exportLogs = (lab: LabRecord, directory: string): string[] => {
  mkdirSync(directory, { recursive: true })
  const files = [...lab.clusters.map(({ name, logFile }) => ({ name, logFile })), { ...lab.keeper, name: 'keeper' }]
  return files
    .filter(({ logFile }) => existsSync(logFile))
    .map(({ name, logFile }) => {
      const copy = path.join(directory, `${name}.log`)
      copyFileSync(logFile, copy)
      return copy
    })
}

const readLines = (cluster: string, file: string): LogLine[] => {
  if (!existsSync(file)) return []
  let atMs = 0
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => {
      atMs = timeOf(text) ?? atMs
      return { cluster, atMs, text }
    })
}

const timeOf = (text: string): number | undefined => {
  const [, plain, quoted, number] = TIME.exec(text) ?? []
  const ms = number === undefined ? Date.parse(plain ?? quoted ?? '') : Number(number)
  return Number.isNaN(ms) ? undefined : ms
}
