/** The types of the `vault` command line: its environment, its errors, and the server's responses. */
import { attempt } from '../../base/attempt.js'
import type { Clock } from '../../base/clock.js'
import { parseExactJson } from '../../base/exact-json.js'
import { RawNumber } from '../../base/json.js'
import { textsOfJson } from '../../base/json-print.js'
import { LIMITS } from '../../base/limits.js'
import { messageOf } from '../../base/printable.js'
import type { Random } from '../../base/random.js'

/** The environment of the command line. Tests replace it. */
export interface VaultIo {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The directory that contains `.vault-token`. */
  readonly homeDirectory: string
  readonly isStdoutTty: boolean
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Random
  /** Writes data to standard output without a line end. */
  write(data: string | Uint8Array): void
  /** Writes a line to standard error. */
  complain(text: string): void
  /**
   * Reads standard input to its end. Must be called only once. Rejects with a local error if the input is too large.
   */
  readStdin(): Promise<Buffer>
  /**
   * Prints a prompt, then reads a line from standard input, without echo if standard input is a terminal. Rejects with
   * a local error if the input ends first.
   */
  ask(prompt: string): Promise<string>
  /** Runs the command `server` with these arguments. Resolves to its exit code. */
  serve(args: readonly string[]): Promise<number>
}

/** Exit codes of Vault. */
export const VAULT_EXIT = { ok: 0, local: 1, remote: 2 } as const

/** Thrown to end a command. The text is printed on standard error, and `status` becomes the exit code. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly status: number
  /** The errors in the server's response. Empty if there was no response. */
  readonly serverErrors: readonly string[]

  constructor(status: number, text: string, options: ErrorOptions & Partial<Pick<CliError, 'serverErrors'>> = {}) {
    super(text, options)
    this.status = status
    this.serverErrors = options.serverErrors ?? []
  }
}

/** Creates an error that no response of the server caused, for example for a wrong argument or an unreadable file. */
export const localError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.local, text, { cause })

export const remoteError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.remote, text, { cause })

/**
 * Calls `act`, for example to read a file, and returns its result. If `act` throws, throws a local error whose text
 * begins with `what`.
 */
export const locally = <T>(what: string, act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw localError(`${what}: ${messageOf(error)}`, error)
  }
}

export type JsonMap = { readonly [key: string]: unknown }

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** Returns a copy of a JSON document in which the keys of every object are sorted. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}

/** Responses may be nested more deeply than requests, because the envelope of a response adds levels. */
const ANSWER_DEPTH_MAX = LIMITS.jsonDepthMax + 10

/** A response with Vault's envelope. A field that the response does not have is undefined, or has an empty value. */
export interface Secret {
  readonly requestId: string
  readonly leaseId: string
  readonly leaseDuration: unknown
  readonly isRenewable: boolean
  readonly data: JsonMap | undefined
  readonly warnings: readonly string[]
  readonly auth: JsonMap | undefined
  readonly wrapInfo: JsonMap | undefined
  readonly mountType: string
  /** The response body as received. */
  readonly bytes: Buffer
}

/**
 * Parses a response body. If it has no envelope, as the body of sys/seal-status, the whole body becomes `data`. Returns
 * undefined for an empty body and for a body that is not a JSON object.
 */
export const parseSecret = (bytes: Buffer): Secret | undefined => {
  const body = parseBody(bytes)
  return body && secretOf(body, bytes)
}

export const secretOf = (body: JsonMap, bytes: Buffer): Secret => {
  const secret: Secret = {
    requestId: textOf(body.request_id),
    leaseId: textOf(body.lease_id),
    leaseDuration: body.lease_duration ?? 0,
    isRenewable: body.renewable === true,
    data: isMap(body.data) ? body.data : undefined,
    warnings: textsOfJson(body.warnings),
    auth: isMap(body.auth) ? body.auth : undefined,
    wrapInfo: isMap(body.wrap_info) ? body.wrap_info : undefined,
    mountType: textOf(body.mount_type),
    bytes,
  }
  return isEnvelope(secret) ? secret : { ...secret, data: body }
}

export const parseBody = (bytes: Buffer): JsonMap | undefined => {
  if (bytes.length === 0) return undefined
  const body = attempt(() => parseExactJson(bytes.toString('utf8'), ANSWER_DEPTH_MAX))
  return isMap(body) ? body : undefined
}

const isEnvelope = ({ requestId, leaseId, data, warnings, auth, wrapInfo }: Secret): boolean =>
  requestId !== '' || leaseId !== '' || warnings.length > 0 || [data, auth, wrapInfo].some((part) => part !== undefined)

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
