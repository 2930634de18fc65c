import { attempt } from '../../base/attempt.js'
import { NOT_PRINTABLE } from '../../base/printable.js'
import { invalid } from '../../logical/errors.js'
import type { Rendered } from '../../logical/incoming.js'
import type { JsonObject } from '../../logical/json.js'

/** The canonical path with its leading slash, and the query as the client sent it. */
export interface Target {
  readonly path: string
  readonly query: string
  /** The target of a redirect, if the path has empty or dot segments. */
  readonly location?: string
}

/** Matches an escape, a byte that is not printable ASCII, an empty segment or a dot segment. */
const UNUSUAL = /[^\x20-\x24\x26-\x7e]|\/\/|\/\.{1,2}(?:\/|$)/
const ABSOLUTE = /^https?:\/\/[^/?]*/i
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * Splits a request target, and decodes its path. If the path has empty segments (including escaped slashes) or dot
 * segments, sets `location` to the path without these segments. Throws LogicalError 400 for escaped dot segments,
 * invalid escapes, invalid UTF-8 and unprintable characters.
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
 * Returns the redirect to the canonical path. As in Go, only the responses to GET and HEAD have an HTML content type,
 * and only the response to GET has a body.
 */
export const renderMoved = (verb: string, location: string): Rendered => ({
  status: 307,
  contentType: verb === 'GET' || verb === 'HEAD' ? 'text/html; charset=utf-8' : 'application/json',
  body: verb === 'GET' ? `<a href="${escapeHtml(location)}">Temporary Redirect</a>.\n\n` : '',
  headers: { Location: location },
})

const HTML: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&#34;', "'": '&#39;' }

const escapeHtml = (text: string): string => text.replace(/[<>&"']/g, (found) => HTML[found] ?? found)

/** Returns a target in origin form: only path and query. */
export const originForm = (url: string): string => (url.startsWith('/') ? url : url.replace(ABSOLUTE, ''))

const canonicalPath = (path: string): string => {
  const decoded = decode(path)
  if (DOT_SEGMENT.test(decoded)) throw invalid('relative paths not supported')
  if (NOT_PRINTABLE.test(decoded)) throw invalid('the path contains unprintable characters')
  return decoded
}

/**
 * Decodes escaped bytes and bytes beyond ASCII as UTF-8. Node passes bytes beyond ASCII as Latin-1 characters. Throws
 * LogicalError 400 for invalid escapes and invalid UTF-8.
 */
const decode = (path: string): string => {
  const escaped = path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)
  const decoded = attempt(() => decodeURIComponent(escaped))
  if (decoded === undefined) throw invalid('the path contains an invalid escape or is not UTF-8')
  return decoded
}

/** Path prefixes of the API and of the Understudy endpoints. */
export const API = '/v1/'
export const LAB_API = '/_understudy/v1/'

/** The parameter that requests help for a path. It is never a field. */
const RESERVED = 'help'

/** Parses the parameters of a query into a null-prototype object. A repeated parameter becomes a list. */
export const parseQuery = (query: string): JsonObject => {
  const data: JsonObject = Object.create(null)
  for (const [name, values] of parsePairs(query)) {
    if (name !== RESERVED) data[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return data
}

/**
 * Parses the fields of a form. Joins the values of a repeated field with commas. Throws LogicalError 400 for more than
 * `valuesMax` parameters.
 */
export const parseForm = (form: string, valuesMax: number): JsonObject => {
  if (countOf(form, '&') >= valuesMax) throw invalid(`error parsing the form: more than ${valuesMax} parameters`)
  const data: JsonObject = Object.create(null)
  for (const [name, values] of parsePairs(form)) data[name] = values.join(',')
  return data
}

/** Returns the first value of a parameter; undefined if it is absent. */
export const findParameter = (query: string, name: string): string | undefined => parsePairs(query).get(name)?.[0]

const countOf = (text: string, mark: string): number => {
  let count = 0
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) count++
  return count
}

const parsePairs = (text: string): Map<string, string[]> => {
  const pairs = new Map<string, string[]>()
  if (text === '') return pairs
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decodePart(equals < 0 ? part : part.slice(0, equals))
    const value = equals < 0 ? '' : decodePart(part.slice(equals + 1))
    const values = pairs.get(name)
    if (values) values.push(value)
    else pairs.set(name, [value])
  }
  return pairs
}

const decodePart = (text: string): string => {
  if (!text.includes('%') && !text.includes('+')) return text
  const decoded = attempt(() => decodeURIComponent(text.replaceAll('+', ' ')))
  if (decoded === undefined) throw invalid('a parameter contains an invalid escape')
  return decoded
}
