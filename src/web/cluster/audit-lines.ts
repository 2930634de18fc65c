import { type Json, listOf, parseJson, partOf, textOf } from '../parts/api.js'

/** The readable part of an audit line. */
export type AuditLine = ReturnType<typeof read>

/** Returns the lines, newest first. */
export const auditLinesOf = (answer: Json): readonly AuditLine[] =>
  listOf(answer, 'lines')
    .map((line, place) => read(line as Json, place))
    .reverse()

/** `place`: the index of the line in the response. */
const read = (line: Json, place: number) => {
  const text = textOf(line, 'text')
  // The text may be truncated.
  const json = partOf({ line: parseJson(text) }, 'line')
  const request = partOf(json, 'request')
  const atMs = Date.parse(textOf(json, 'time'))
  return {
    place,
    device: textOf(line, 'device'),
    /** In milliseconds since the epoch; undefined if the line has no time. */
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    /** `request` or `response`. */
    type: textOf(json, 'type'),
    operation: textOf(request, 'operation'),
    path: textOf(partOf(request, 'namespace'), 'path') + textOf(request, 'path'),
    who: textOf(partOf(json, 'auth'), 'display_name'),
    error: textOf(json, 'error'),
    /** The original text. */
    text,
  }
}

/** Returns the lines that contain a text, ignoring case. */
export const findLines = (lines: readonly AuditLine[], wanted: string): readonly AuditLine[] => {
  const text = wanted.trim().toLowerCase()
  return lines.filter((line) => line.text.toLowerCase().includes(text))
}
