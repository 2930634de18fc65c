import { invalid } from '../logical/errors.js'

/** The canonical path, with its leading slash, and the query as it was sent. */
export interface Target {
  readonly path: string
  readonly query: string
}

/** An escape, a byte that is not printable ASCII, an empty segment or a dot segment. */
const UNUSUAL = /[^\x20-\x24\x26-\x7e]|\/\/|\/\.{1,2}(?:\/|$)/
const ABSOLUTE = /^https?:\/\/[^/?]*/i
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/
/** Control, format, unassigned and private characters, and every separator but the blank. */
const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

/**
 * The one path that everything after judges and routes by: decoded once, `//` collapsed. Fails with 400 for dot segments,
 * bad escapes, bytes that are no UTF-8 and characters that cannot be printed.
 */
export const parseTarget = (url: string): Target => {
  const target = originForm(url)
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  return {
    path: UNUSUAL.test(path) ? canonicalPath(path) : path,
    query: mark < 0 ? '' : target.slice(mark + 1),
  }
}

/** A target as most clients send it: a path, and a query. */
export const originForm = (url: string): string => (url.startsWith('/') ? url : url.replace(ABSOLUTE, ''))

const canonicalPath = (path: string): string => {
  const decoded = decode(path).replace(/\/{2,}/g, '/')
  if (DOT_SEGMENT.test(decoded)) throw invalid('relative paths not supported')
  if (NOT_PRINTABLE.test(decoded)) throw invalid('the path contains characters that cannot be printed')
  return decoded
}

/** Node hands bytes beyond ASCII on as Latin-1; they are UTF-8 like those that came escaped. */
const decode = (path: string): string => {
  const escaped = path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)
  try {
    return decodeURIComponent(escaped)
  } catch {
    throw invalid('the path contains an invalid escape or is not UTF-8')
  }
}
