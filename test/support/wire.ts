import { send } from '../golden/replay.mjs'

/** An answer as it came over the wire. */
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
}

/** What a client of a certain kind sends with each request. */
export type Send = (
  method: string,
  target: string,
  body?: string | undefined,
  headers?: Readonly<Record<string, string>>,
) => Promise<WireAnswer>

/** Sends requests byte for byte: nothing is added but the length of a body. A target without a slash is below `/v1/`. */
export const wire =
  (address: string, always: Readonly<Record<string, string>> = {}): Send =>
  async (method, target, body, headers = {}) => {
    const full = target.startsWith('/') ? target : `/v1/${target}`
    const answer = await send(address, { method, target: full, headers: { ...always, ...headers }, body })
    return answer as WireAnswer
  }

/** Requests with a token, bodies as JSON. */
export const as = (address: string, token: string, headers: Readonly<Record<string, string>> = {}) => {
  const raw = wire(address, { ...(token === '' ? {} : { 'X-Vault-Token': token }), ...headers })
  return (method: string, target: string, body?: unknown, more: Readonly<Record<string, string>> = {}) =>
    raw(method, target, body === undefined ? undefined : JSON.stringify(body), more)
}

/** Status and errors of an answer, for one comparison. */
export const refusalOf = ({ status, json }: WireAnswer): [number, unknown] => [status, json?.errors]

/** The error texts of the contract that stand without a response of a backend. */
export const wrapped = (...texts: readonly string[]): string =>
  `${texts.length} error${texts.length > 1 ? 's' : ''} occurred:\n\t* ${texts.join('\n\t* ')}\n\n`

export const DENIED = wrapped('permission denied')
export const INVALID_TOKEN = wrapped('permission denied', 'invalid token')
export const UNSUPPORTED_PATH = wrapped('unsupported path')
export const UNSUPPORTED_OPERATION = wrapped('unsupported operation')
