import { expect } from 'vitest'
import { send } from '../golden/replay.mjs'

/** A response as received. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: Json | undefined
}

export interface Json {
  readonly [key: string]: unknown
  readonly data: Json
  readonly auth: Json
  readonly wrap_info: Json
  readonly errors: readonly string[]
  readonly keys: readonly string[]
  readonly keys_base64: readonly string[]
}

/** Sends a request with the headers of one client. */
export type Send = (
  method: string,
  target: string,
  body?: string | undefined,
  headers?: Readonly<Record<string, string>>,
) => Promise<WireAnswer>

/**
 * Returns a function that sends requests byte for byte, plus the length of the body. Targets without a leading slash
 * are below `/v1/`.
 */
export const wire =
  (address: string, always: Readonly<Record<string, string>> = {}): Send =>
  async (method, target, body, headers = {}) => {
    const full = target.startsWith('/') ? target : `/v1/${target}`
    const answer = await send(address, { method, target: full, headers: { ...always, ...headers }, body })
    return answer as WireAnswer
  }

/** Returns a function that sends requests with a token and JSON bodies. */
export const as = (address: string, token: string, headers: Readonly<Record<string, string>> = {}) => {
  const raw = wire(address, { ...(token === '' ? {} : { 'X-Vault-Token': token }), ...headers })
  return (method: string, target: string, body?: unknown, more: Readonly<Record<string, string>> = {}) =>
    raw(method, target, body === undefined ? undefined : JSON.stringify(body), more)
}

/** Repeats a request while the server changes its role, as the Go client does. */
export const retried = async (ask: () => Promise<WireAnswer>): Promise<WireAnswer> => {
  for (;;) {
    const answer = await ask().catch(() => undefined)
    if (answer && answer.status < 500) return answer
    await new Promise(setImmediate)
  }
}

const part = (answer: WireAnswer, name: 'data' | 'auth' | 'wrap_info'): Json => {
  expect(answer.headers['content-type'], answer.text).toBe('application/json')
  const found = answer.json?.[name]
  if (!found) throw new Error(`an answer without ${name}: ${answer.status} ${answer.text}`)
  return found
}

/**
 * Each function returns a part of a response. It throws an error if the part is missing, or if the media type differs
 * from the text that clients compare exactly.
 */
export const dataOf = (answer: WireAnswer): Json => part(answer, 'data')
export const authOf = (answer: WireAnswer): Json => part(answer, 'auth')
export const wrapInfoOf = (answer: WireAnswer): Json => part(answer, 'wrap_info')

/** Returns status and errors of a response. */
export const refusalOf = ({ status, json }: WireAnswer): [number, unknown] => [status, json?.errors]

/** Returns an error text of the API contract. */
export const wrapped = (...texts: readonly string[]): string =>
  `${texts.length} error${texts.length > 1 ? 's' : ''} occurred:\n\t* ${texts.join('\n\t* ')}\n\n`

export const DENIED = wrapped('permission denied')
export const INVALID_TOKEN = wrapped('permission denied', 'invalid token')
export const UNSUPPORTED_PATH = wrapped('unsupported path')
export const UNSUPPORTED_OPERATION = wrapped('unsupported operation')
