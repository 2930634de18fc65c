import { RawJson, RawNumber } from './json.js'

/**
 * Prints a value like `JSON.stringify`, but prints the text of `RawNumber` and `RawJson` unchanged. Prints one line, or
 * indents each level by `indent` spaces.
 */
export const printJson = (value: unknown, indent = 0): string => {
  if (value instanceof RawJson || value instanceof RawNumber) return value.text
  return holdsRaw(value) ? printByHand(value, indent, '') : JSON.stringify(value, undefined, indent)
}

/** Returns a string unchanged, an empty string for undefined, and any other value as JSON. */
export const textOfJson = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : printJson(value)

/**
 * Returns the elements of a list as texts, such as the errors of a response. Returns an empty list for any other value.
 */
export const textsOfJson = (value: unknown): string[] => (Array.isArray(value) ? value.map(textOfJson) : [])

/**
 * Prints a value like `printJson`, but in pieces. Does not copy the bytes of `RawJson`, which may be the value itself
 * or one of its members.
 */
export const printPieces = (value: unknown): readonly (string | Buffer)[] => {
  if (value instanceof RawJson) return [value.source]
  if (!holdsBytes(value)) return [printJson(value)]
  const pieces: (string | Buffer)[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    pieces.push(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(key)}:`)
    pieces.push(member instanceof RawJson ? member.source : printJson(member))
  }
  return [...pieces, '}']
}

/** Returns whether `printPieces` returns pieces of bytes for this value. */
export const holdsBytes = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof RawJson) return typeof value.source !== 'string'
  if (Array.isArray(value)) return false
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    if (member instanceof RawJson && typeof member.source !== 'string') return true
  }
  return false
}

const holdsRaw = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof RawNumber || value instanceof RawJson) return true
  if (Array.isArray(value)) return value.some(holdsRaw)
  for (const key in value) {
    if (holdsRaw((value as Record<string, unknown>)[key])) return true
  }
  return false
}

const printByHand = (value: unknown, indent: number, margin: string): string => {
  if (value instanceof RawNumber || value instanceof RawJson) return value.text
  const inner = margin + ' '.repeat(indent)
  if (Array.isArray(value)) {
    return enclose(
      value.map((item) => printByHand(item ?? null, indent, inner)),
      '[]',
      indent,
      margin,
    )
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value)
  const colon = indent > 0 ? ': ' : ':'
  const members: string[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}${colon}${printByHand(member, indent, inner)}`)
  }
  return enclose(members, '{}', indent, margin)
}

const enclose = (parts: readonly string[], brackets: '[]' | '{}', indent: number, margin: string): string => {
  const [open, close] = brackets
  if (indent === 0 || parts.length === 0) return `${open}${parts.join(',')}${close}`
  const inner = `\n${margin}${' '.repeat(indent)}`
  return `${open}${inner}${parts.join(`,${inner}`)}\n${margin}${close}`
}
