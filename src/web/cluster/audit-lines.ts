import { type Json, listOf, parseJson, partOf, textOf } from '../parts/api.js'

/** An audit entry, with the fields that the page shows. */
export type AuditLine = ReturnType<typeof toAuditLine>

/** Returns the audit entries in a response, newest first. */
export const auditLinesOf = (response: Json): readonly AuditLine[] =>
  listOf(response, 'lines')
    .map((line, index) => toAuditLine(line as Json, index))
    .reverse()

/** `index`: the position of the entry in the response, which is unique and increases with time. */
const toAuditLine = (line: Json, index: number) => {
  const text = textOf(line, 'text')
  // A truncated text is not JSON. The fields of such an entry are empty.
  const json = partOf({ line: parseJson(text) }, 'line')
  const request = partOf(json, 'request')
  const atMs = Date.parse(textOf(json, 'time'))
  return {
    index,
    device: textOf(line, 'device'),
    /** In milliseconds since the epoch; undefined if the line has no time. */
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    /** `request` or `response`. */
    type: textOf(json, 'type'),
    operation: textOf(request, 'operation'),
    path: textOf(partOf(request, 'namespace'), 'path') + textOf(request, 'path'),
    user: textOf(partOf(json, 'auth'), 'display_name'),
    error: textOf(json, 'error'),
    /** The original text. */
    text,
  }
}

/** Returns the entries that contain a text, ignoring case. */
export const findLines = (lines: readonly AuditLine[], wanted: string): readonly AuditLine[] => {
  const text = wanted.trim().toLowerCase()
  return lines.filter((line) => line.text.toLowerCase().includes(text))
}
