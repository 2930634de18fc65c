/** What stands in an answer. */
export type Json = Readonly<Record<string, unknown>>

/** One request of the public HTTP API. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `/v1/`, as people write it. */
  readonly path: string
  /** Below `/_understudy/v1/` instead: what no other server has. */
  readonly isOwn?: true
  readonly query?: Readonly<Record<string, string>>
  /** JSON as text: numbers stay as they were written. */
  readonly body?: string
}

export const get = (path: string, query?: Call['query']): Call => ({ method: 'GET', path, ...(query && { query }) })

/** A list of keys. */
export const list = (path: string): Call => get(path, { list: 'true' })

/**
 * The address below the root of an API. Throws for a name that a browser would take for a folder above, which would make it
 * another request than the one that is meant.
 */
export const addressOf = ({ path, isOwn, query = {} }: Call): string => {
  const parts = path.split('/')
  if (parts.some((part) => part === '.' || part === '..')) throw new Error(`there is no path with "." or "..": ${path}`)
  const search = new URLSearchParams(query).toString()
  return `${isOwn ? '/_understudy/v1/' : '/v1/'}${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

/** A part of an answer that is an object itself; empty where it is not there. */
export const partOf = (json: Json, name: string): Json => {
  const part = json[name]
  return typeof part === 'object' && part !== null ? (part as Json) : {}
}

export const textOf = (json: Json, name: string): string => {
  const value = json[name]
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const listOf = (json: Json, name: string): readonly unknown[] => {
  const value = json[name]
  return Array.isArray(value) ? value : []
}

/** The keys of the answer to a list. */
export const keysOf = (json: Json): readonly string[] => listOf(partOf(json, 'data'), 'keys').map(String)
