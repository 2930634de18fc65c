import { NOT_PRINTABLE } from '../../base/printable.js'
import { invalid } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'

/** The canonical path with its leading slash, and the query as sent. */
export interface Target {
  readonly path: string
  readonly query: string
  /** The redirect target, if the path has empty or dot segments. */
  readonly location?: string
}

/** Matches an escape, a byte that is not printable ASCII, an empty segment or a dot segment. */
const UNUSUAL = /[^\x20-\x24\x26-\x7e]|\/\/|\/\.{1,2}(?:\/|$)/
const ABSOLUTE = /^https?:\/\/[^/?]*/i
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * Decodes the path once; all later checks and routing use the result. Empty segments, including those from escaped slashes,
 * and dot segments produce a redirect `location` without them. Throws 400 for escaped dot segments, bad escapes, invalid
 * UTF-8 and unprintable characters.
 */
export const parseTarget = (url: string): Target => {
  const target = originForm(url)
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  if (!UNUSUAL.test(path)) return { path, query }
  const cleaned = cleanPath(path)
  const decoded = canonicalPath(cleaned)
  const location = decoded.includes('//') ? escapePath(cleanPath(decoded)) : cleaned
  return location === path || location === '*' || location === ''
    ? { path: decoded, query }
    : { path: decoded, query, location: mark < 0 ? location : `${location}?${query}` }
}

/** Cleans a path like Go's `ServeMux`: removes empty and dot segments, and keeps a trailing slash. */
const cleanPath = (path: string): string => {
  if (!path.startsWith('/')) return path
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const cleaned = `/${segments.join('/')}`
  return path.endsWith('/') && cleaned !== '/' ? `${cleaned}/` : cleaned
}

/** Characters that Go leaves unescaped in a path, in addition to those of `encodeURIComponent`. */
const UNESCAPED = /%(?:2[46BC]|3[ABD]|40)/g

const escapePath = (path: string): string =>
  encodeURI(path)
    .replace(/[?#!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(UNESCAPED, decodeURIComponent)

/**
 * Returns the redirect to the canonical path. As in Go, only GET and HEAD responses have an HTML content type, and only GET
 * has a body.
 */
export const renderMoved = (verb: string, location: string): Rendered => ({
  status: 307,
  contentType: verb === 'GET' || verb === 'HEAD' ? 'text/html; charset=utf-8' : 'application/json',
  body: verb === 'GET' ? `<a href="${escapeHtml(location)}">Temporary Redirect</a>.\n\n` : '',
  headers: { Location: location },
})

const HTML: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&#34;', "'": '&#39;' }

const escapeHtml = (text: string): string => text.replace(/[<>&"']/g, (found) => HTML[found] ?? found)

/** Reduces a target to origin form: path and query. */
export const originForm = (url: string): string => (url.startsWith('/') ? url : url.replace(ABSOLUTE, ''))

const canonicalPath = (path: string): string => {
  const decoded = decode(path)
  if (DOT_SEGMENT.test(decoded)) throw invalid('relative paths not supported')
  if (NOT_PRINTABLE.test(decoded)) throw invalid('the path contains characters that cannot be printed')
  return decoded
}

/** Decodes a path. Node passes bytes beyond ASCII on as Latin-1; like escaped bytes, they are decoded as UTF-8. */
const decode = (path: string): string => {
  const escaped = path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)
  try {
    return decodeURIComponent(escaped)
  } catch {
    throw invalid('the path contains an invalid escape or is not UTF-8')
  }
}
