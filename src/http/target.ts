import { NOT_PRINTABLE } from '../base/printable.js'
import { invalid } from '../logical/errors.js'
import type { Rendered } from '../logical/incoming.js'

/** The canonical path, with its leading slash, and the query as it was sent. */
export interface Target {
  readonly path: string
  readonly query: string
  /** Where the client is sent instead: the path has empty or dot segments. */
  readonly location?: string
}

/** An escape, a byte that is not printable ASCII, an empty segment or a dot segment. */
const UNUSUAL = /[^\x20-\x24\x26-\x7e]|\/\/|\/\.{1,2}(?:\/|$)/
const ABSOLUTE = /^https?:\/\/[^/?]*/i
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * The one path that everything after judges and routes by: decoded once. Empty segments, also of escaped slashes, and dot
 * segments lead to the location without them. Fails with 400 for escaped dot segments, bad escapes, bytes that are no UTF-8 and characters that cannot be printed.
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

/** As Go's `ServeMux` cleans a path: no empty and no dot segments, and a slash at the end stays. */
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

/** What Go leaves as it is in a path, besides what `encodeURIComponent` does. */
const UNESCAPED = /%(?:2[46BC]|3[ABD]|40)/g

const escapePath = (path: string): string =>
  encodeURI(path)
    .replace(/[?#!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(UNESCAPED, decodeURIComponent)

/** Returns the redirect to the canonical path. As with Go's server, only GET and HEAD tell of HTML, and only GET has a body. */
export const renderMoved = (verb: string, location: string): Rendered => ({
  status: 307,
  contentType: verb === 'GET' || verb === 'HEAD' ? 'text/html; charset=utf-8' : 'application/json',
  body: verb === 'GET' ? `<a href="${escapeHtml(location)}">Temporary Redirect</a>.\n\n` : '',
  headers: { Location: location },
})

const HTML: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&#34;', "'": '&#39;' }

const escapeHtml = (text: string): string => text.replace(/[<>&"']/g, (found) => HTML[found] ?? found)

/** A target as most clients send it: a path, and a query. */
export const originForm = (url: string): string => (url.startsWith('/') ? url : url.replace(ABSOLUTE, ''))

const canonicalPath = (path: string): string => {
  const decoded = decode(path)
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
