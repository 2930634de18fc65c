import { addressOf, type Call, type Json } from './call.js'
import type { Ask, Session } from './session.js'

/**
 * Returns a function that calls an API below an address of this server. It rejects with an Error whose message can be
 * shown to the user.
 */
export const apiAt =
  (root: string): Ask =>
  async (call, as) => {
    const response = await window
      .fetch(root + addressOf(call), {
        method: call.method,
        headers: headersOf(call, as),
        body: call.body ?? null,
        cache: 'no-store',
        redirect: 'error',
      })
      .catch(() => {
        throw new Error('there is no answer')
      })
    const text = await response.text()
    const json = parse(text)
    if (response.ok || (call.method === 'GET' && isAnswer(json))) return json ?? {}
    throw new Error(reasonOf(json, text, response.status))
  }

/**
 * Returns true if an error status has data. Some states have their own status, for example a deleted version. A missing
 * path has an empty error list.
 */
const isAnswer = (json: Json | undefined): boolean =>
  json !== undefined && (!Array.isArray(json.errors) || json.errors.length === 0)

const headersOf = ({ body }: Call, as: Pick<Session, 'token' | 'namespace'> | undefined): Record<string, string> => ({
  'X-Vault-Request': 'true',
  ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  ...(as?.token ? { 'X-Vault-Token': as.token } : {}),
  ...(as?.namespace ? { 'X-Vault-Namespace': as.namespace } : {}),
})

const reasonOf = (json: Json | undefined, text: string, status: number): string => {
  const errors = Array.isArray(json?.errors) ? json.errors.map(String).join('; ') : json ? '' : text.trim()
  return errors || `it answers with status ${status}`
}

/** For a number, `source` is its original text, if the browser supports it. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

/** A number that would be rounded is kept as its original text, so that stored data can be edited and written back. */
const keepNumbers: Reviver = (_, value, context) =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER && rawJSON && context?.source !== undefined
    ? rawJSON(context.source)
    : value

const parse = (text: string): Json | undefined => {
  try {
    return JSON.parse(text, keepNumbers as (key: string, value: unknown) => unknown) as Json
  } catch {
    return undefined
  }
}
