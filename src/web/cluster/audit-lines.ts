import { type Json, listOf, parseJson, partOf, textOf } from '../parts/api.js'

/** The readable part of an audit line. */
export interface AuditLine {
  /** Its index in the response. */
  readonly place: number
  readonly device: string
  /** In milliseconds since the epoch; undefined if the line has no time. */
  readonly atMs: number | undefined
  /** `request` or `response`. */
  readonly type: string
  readonly operation: string
  readonly path: string
  readonly who: string
  readonly error: string
  /** The original text. */
  readonly text: string
}

/** Returns the lines, newest first. */
export const auditLinesOf = (answer: Json): readonly AuditLine[] =>
  listOf(answer, 'lines')
    .map((line, place) => read(line as Json, place))
    .reverse()

const read = (line: Json, place: number): AuditLine => {
  const text = textOf(line, 'text')
  // It may be truncated.
  const json = partOf({ line: parseJson(text) }, 'line')
  const request = partOf(json, 'request')
  const atMs = Date.parse(textOf(json, 'time'))
  return {
    place,
    device: textOf(line, 'device'),
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    type: textOf(json, 'type'),
    operation: textOf(request, 'operation'),
    path: textOf(partOf(request, 'namespace'), 'path') + textOf(request, 'path'),
    who: textOf(partOf(json, 'auth'), 'display_name'),
    error: textOf(json, 'error'),
    text,
  }
}

/** Returns the lines that contain a text, ignoring case. */
export const findLines = (lines: readonly AuditLine[], wanted: string): readonly AuditLine[] => {
  const text = wanted.trim().toLowerCase()
  return lines.filter((line) => line.text.toLowerCase().includes(text))
}
