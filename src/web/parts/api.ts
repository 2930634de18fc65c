export type Json = Readonly<Record<string, unknown>>

/** One request of the public HTTP API. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below `/v1/`, without URL encoding. */
  readonly path: string
  /** True for a path below `/_understudy/v1/`, which only Understudy has. */
  readonly isOwn?: true
  readonly query?: Readonly<Record<string, string>>
  /** JSON as text, so that numbers stay as written. */
  readonly body?: string
}

/** The signed-in user. Kept only in the memory of the page. */
export interface Session {
  readonly token: string
  /** Empty for the root namespace. */
  readonly namespace: string
  readonly name: string
  readonly policies: readonly string[]
  /** True if the sign-in of this page created the token, false if the user entered it. */
  readonly isRevokedAtSignOut: boolean
}

/** Sends a request, with or without a token. Rejects with an Error whose message can be shown to the user. */
export type Ask = (call: Call, as?: Pick<Session, 'token' | 'namespace'>) => Promise<Json>

export const get = (path: string, query?: Call['query']): Call => ({ method: 'GET', path, ...(query && { query }) })

export const list = (path: string): Call => get(path, { list: 'true' })

/**
 * Returns the address below the root of an API. Throws for a name that a browser would normalize as a parent directory,
 * because that would change the request.
 */
export const addressOf = ({ path, isOwn, query = {} }: Call): string => {
  const parts = path.split('/')
  if (parts.some((part) => part === '.' || part === '..')) throw new Error(`a path cannot contain "." or "..": ${path}`)
  const search = new URLSearchParams(query).toString()
  return `${isOwn ? '/_understudy/v1/' : '/v1/'}${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

/** Returns the object in a field of a response; an empty object if the field is missing. */
export const partOf = (json: Json, name: string): Json => {
  const part = json[name]
  return typeof part === 'object' && part !== null ? (part as Json) : {}
}

/** Returns a field as text: JSON for an object, the items of a list separated by commas, '' for a missing field. */
export const textOf = (json: Json, name: string): string => printValue(json[name])

const printValue = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(printValue).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const listOf = (json: Json, name: string): readonly unknown[] => {
  const value = json[name]
  return Array.isArray(value) ? value : []
}

export const keysOf = (json: Json): readonly string[] => listOf(partOf(json, 'data'), 'keys').map(String)

/** Disables the browser cache. The type declarations of `fetch` in Node.js do not have this option. */
const NOT_CACHED: object = { cache: 'no-store' }

/**
 * Returns a function that sends requests to the API with the path prefix `root` on the server of this page.
 * `unreachableText`: the error text if the server does not respond.
 */
export const apiAt =
  (root: string, unreachableText = 'the server does not respond'): Ask =>
  async (call, as) => {
    const response = await globalThis
      .fetch(root + addressOf(call), {
        method: call.method,
        headers: headersOf(call, as),
        body: call.body ?? null,
        redirect: 'error',
        ...NOT_CACHED,
      })
      .catch(() => {
        throw new Error(unreachableText)
      })
    const text = await response.text()
    const json = parseJson(text)
    if (response.ok || (call.method === 'GET' && isResult(json))) return json ?? {}
    throw new Error(reasonOf(json, text, response.status))
  }

/**
 * Returns true if a response with an error status is a result. For example, a deleted version has the status 404 and
 * data, and a list without entries has the status 404 and an empty list of errors.
 */
const isResult = (json: Json | undefined): boolean =>
  json !== undefined && (!Array.isArray(json.errors) || json.errors.length === 0)

const headersOf = ({ body }: Call, as: Pick<Session, 'token' | 'namespace'> | undefined): Record<string, string> => ({
  'X-Vault-Request': 'true',
  // Leaves the request out of the request counts of a server.
  'X-Understudy-Observer': 'true',
  ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  ...(as?.token ? { 'X-Vault-Token': as.token } : {}),
  ...(as?.namespace ? { 'X-Vault-Namespace': as.namespace } : {}),
})

const reasonOf = (json: Json | undefined, text: string, status: number): string => {
  const errors = json ? listOf(json, 'errors').map(String).join('; ') : text.trim()
  return errors || `the server returned the status ${status} without a reason`
}

/** A function for `JSON.parse`. `context.source` is the original text of a number; not all browsers pass it. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/** Keeps the original text of a number that would be rounded, so that a user can edit stored data and write it back. */
const keepNumbers: Reviver = (_, value, context) =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER && rawJSON && context?.source !== undefined
    ? rawJSON(context.source)
    : value

/** Parses JSON without rounding numbers. Returns undefined if the text is not JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text, keepNumbers as (key: string, value: unknown) => unknown) as Json
  } catch {
    return undefined
  }
}
